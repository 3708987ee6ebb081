//! What the command prints: results on standard output, messages on standard error.
//!
//! A reader that closes the pipe has read enough: no message, and the exit code says how the work went, as if
//! everything had been read. Any other failure to write a result (a full disk) is an error of its own, [`exit::OS`]. A
//! message that cannot be written is dropped: there is nowhere left to say so, and the work goes on.

use super::{escape, exit};
use anstyle::AnsiColor;
use std::{
    ffi::OsString,
    fmt::Display,
    io::{self, ErrorKind, Write},
    path::Path,
    process::ExitCode,
    sync::OnceLock,
};

/// Whether errors are printed as JSON too. Set once, before anything is printed.
static ERRORS_AS_JSON: OnceLock<()> = OnceLock::new();

/// From now on an error is printed on standard output too, as JSON: the command was given --json.
pub fn errors_as_json() {
    ERRORS_AS_JSON.get_or_init(|| ());
}

/// The files of the command line, as they were typed.
static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// From now on messages name these files as they were typed, not with their folder resolved, as the library does.
pub fn files_as_typed(files: Vec<OsString>) {
    TYPED.get_or_init(|| files);
}

/// Returns what a message about an error says.
pub fn in_words(error: &dyn Display) -> String {
    as_typed(&error.to_string())
}

/// Returns the text with each file as it was typed.
fn as_typed(text: &str) -> String {
    let files = TYPED.get().map_or(&[][..], Vec::as_slice);
    files.iter().fold(text.to_owned(), |text, file| match (resolved(file), file.to_str()) {
        (Some(resolved), Some(typed)) if resolved != typed => replace_path(&text, &resolved, typed),
        _ => text,
    })
}

fn resolved(file: &OsString) -> Option<String> {
    let path = Path::new(file);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(path.file_name()?).to_str()?.to_owned())
}

/// Returns the text with a path replaced wherever it is not a part of a longer one.
fn replace_path(text: &str, path: &str, by: &str) -> String {
    let is_of_path = |letter: char| letter.is_alphanumeric() || "/-_~".contains(letter);
    let (mut replaced, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(path) {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        let goes_on = after.starts_with(is_of_path)
            || (after.starts_with('.') && after[1..].starts_with(char::is_alphanumeric));
        let is_whole = !goes_on && !before.ends_with(|letter| is_of_path(letter) || letter == '.');
        replaced += &text[from..at];
        replaced += if is_whole { by } else { path };
        from = at + path.len();
    }
    replaced + &text[from..]
}

/// Writes a part of what a demo tells: on standard output, or on standard error where that has the JSON of the verdict. The demo goes on when
/// its output is closed, and its exit code is the verdict. So an error is dropped, unlike that of writing the verdict itself.
pub fn story(text: &str, is_beside_json: bool) {
    let _ = if is_beside_json {
        write(anstream::stderr().lock(), text)
    } else {
        write(anstream::stdout().lock(), text)
    };
}

/// Prints a result, with colours if standard output is a terminal.
pub fn result(text: &str) -> io::Result<()> {
    enough_read(write(anstream::stdout().lock(), text))
}

/// Prints a part of a result that goes on. `false`: its reader has closed it.
pub fn line(text: &str) -> io::Result<bool> {
    match write(anstream::stdout().lock(), text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}

/// Prints a result and gives the exit code: `code`, or that of a failure to print.
pub fn and_end(text: &str, code: u8) -> ExitCode {
    printed(result(text), code)
}

/// Prints a result for machines and gives the exit code.
pub fn json(value: &impl serde::Serialize) -> ExitCode {
    json_and_end(value, 0)
}

/// Prints a result for machines and gives the exit code: `code`, or that of a failure to print.
pub fn json_and_end(value: &impl serde::Serialize, code: u8) -> ExitCode {
    match serde_json::to_string_pretty(value) {
        Ok(text) => and_end(&format!("{text}\n"), code),
        Err(error) => fail(exit::FAILED, &error),
    }
}

/// Prints one of several results for machines, in a line. `Some`: the reader has closed it, and this is the exit code.
pub fn json_line(value: &impl serde::Serialize) -> Option<ExitCode> {
    match serde_json::to_string(value) {
        Ok(text) => one_of_many(&format!("{text}\n")),
        Err(error) => Some(fail(exit::FAILED, &error)),
    }
}

/// Prints one of several results. `Some`: the reader has closed it, and this is the exit code.
pub fn one_of_many(text: &str) -> Option<ExitCode> {
    match write(anstream::stdout().lock(), text) {
        Ok(()) => None,
        written => Some(printed(enough_read(written), 0)),
    }
}

/// Prints what is wrong with a command line, or the help that was asked for, and gives the exit code.
pub fn usage(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() { exit::USAGE } else { 0 };
    if error.use_stderr() {
        // The message quotes what was typed: without colours, if something in it has to be escaped.
        let fit =
            |argument: OsString| argument.to_str().is_some_and(|argument| escape::text(argument) == argument);
        let text = error.render().to_string();
        let _ = if std::env::args_os().all(fit) {
            error.print()
        } else {
            write(io::stderr().lock(), &escape::lines(&text))
        };
        // Without the usage and the hint.
        let what: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
        error_as_json(code, what.join(" ").trim_start_matches("error: "));
        return ExitCode::from(code);
    }
    printed(enough_read(error.print().and_then(|()| io::stdout().flush())), code)
}

/// Prints one line on standard error: "turnlock: ..." Control characters in it are escaped.
pub fn message(what: &dyn Display) {
    let text = escape::text(&as_typed(&what.to_string()));
    let _ = write(anstream::stderr().lock(), &format!("turnlock: {text}\n"));
}

/// Says what went wrong, in one line, and gives the exit code.
pub fn fail(code: u8, error: &dyn Display) -> ExitCode {
    let text = as_typed(&error.to_string());
    failed(code, &text, &escape::text(&text))
}

/// Says what went wrong, in several lines, and gives the exit code.
pub fn fail_in_lines(code: u8, error: &str) -> ExitCode {
    let text = as_typed(error);
    failed(code, &text, &escape::lines(&text))
}

/// Says what went wrong, in one line, where the command goes on, and says in its JSON what that was.
pub fn complain(error: &dyn Display) {
    let bad = AnsiColor::Red.on_default().bold();
    let text = escape::text(&as_typed(&error.to_string()));
    let _ = write(anstream::stderr().lock(), &format!("{bad}turnlock:{bad:#} {text}\n"));
}

fn failed(code: u8, text: &str, escaped: &str) -> ExitCode {
    let bad = AnsiColor::Red.on_default().bold();
    let _ = write(anstream::stderr().lock(), &format!("{bad}turnlock:{bad:#} {escaped}\n"));
    error_as_json(code, text);
    ExitCode::from(code)
}

/// Prints an error for machines, in a line, if the command was given --json.
fn error_as_json(code: u8, text: &str) {
    if ERRORS_AS_JSON.get().is_some() {
        let error = serde_json::json!({"error": text, "exit_code": code});
        let _ = write(io::stdout().lock(), &format!("{error}\n"));
    }
}

/// Writes all of it, past every buffer, so that an error is seen here and not lost at the end of the process.
fn write(mut to: impl Write, text: &str) -> io::Result<()> {
    to.write_all(text.as_bytes())?;
    to.flush()
}

fn enough_read(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn printed(written: io::Result<()>, code: u8) -> ExitCode {
    match written {
        Ok(()) => ExitCode::from(code),
        Err(error) => fail(exit::OS, &format!("cannot write to standard output: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_replaced_where_it_is_whole() {
        let text = "/a/b.lock: in use; /a/b.lock.new, /a/b.lock-2 and (/a/b.lock). See /a/b.lock.";
        let replaced = "b.lock: in use; /a/b.lock.new, /a/b.lock-2 and (b.lock). See b.lock.";
        assert_eq!(replace_path(text, "/a/b.lock", "b.lock"), replaced);
        assert_eq!(replace_path("nothing", "/a", "b"), "nothing");
        assert_eq!(replace_path("/run/a/a: gone", "/a", "a"), "/run/a/a: gone");
    }
}
