//! What others wrote (names, labels, programs, paths), made fit for a terminal.
//!
//! Every program that may open a lock file chooses names in it. A control character there could move the cursor, forge a line
//! or set the terminal's title; an invisible one could make a name look like another. Both are written as `\n` or `\u{1b}`.
//! What machines read (JSON, the environment of a command) is not escaped here.

use std::{fmt::Write, path::Path};

/// `text` in one line.
pub fn text(text: &str) -> String {
    escape(text, is_unfit)
}

/// `text` in as many lines as it has.
pub fn lines(text: &str) -> String {
    escape(text, |letter| letter != '\n' && is_unfit(letter))
}

/// Returns a path in one line; what is not UTF-8 in it becomes U+FFFD.
pub fn path(path: &Path) -> String {
    text(&path.to_string_lossy())
}

/// Returns one word of a command line, to be copied into a shell.
pub fn word(word: &str) -> String {
    let safe = |letter: char| letter.is_alphanumeric() || "_-./:,@%+=".contains(letter);
    if !word.is_empty() && word.chars().all(safe) {
        word.into()
    } else if word.chars().any(is_unfit) {
        // Bash, zsh and POSIX of 2024 know this way of writing; each byte by its number, so that the name is exact.
        let bytes = word.bytes().map(|byte| match byte {
            b' '..=b'~' if byte != b'\'' && byte != b'\\' => char::from(byte).to_string(),
            byte => format!("\\x{byte:02x}"),
        });
        format!("$'{}'", bytes.collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn escape(text: &str, unfit: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if unfit(letter) {
            let _ = write!(escaped, "{}", letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Control characters (C0, DEL, C1); and those that show nothing or reorder what stands beside them: Unicode's
/// bidirectional controls, zero-width characters, line and paragraph separators, tags.
fn is_unfit(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_hides_is_escaped_and_the_rest_is_left() {
        assert_eq!(text("a\u{1b}[2J\n\u{7f}\u{9b}"), "a\\u{1b}[2J\\n\\u{7f}\\u{9b}");
        assert_eq!(text("\u{202e}gpj.exe\u{200b}"), "\\u{202e}gpj.exe\\u{200b}");
        for plain in ["größer \"so\" \\ 'wie'", "日本語 🔒", "e\u{301}"] {
            assert_eq!(text(plain), plain);
        }
        assert_eq!(lines("a\n\tb"), "a\n\\tb");
    }

    #[test]
    fn a_shell_reads_the_word_as_it_was() {
        for plain in
            ["default", "two words", "it's", "", "$HOME `x` \\", "\u{1b}[2J\nit's \\ \u{202e}x", "größer"]
        {
            let script = format!("printf %s {}", word(plain));
            let printed = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(printed.stdout).unwrap(), plain, "{script}");
        }
    }
}
