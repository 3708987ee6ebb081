//! Text for a screen that does not break lines itself.

/// Returns the words of `text` in lines of at most `room` letters.
pub fn broken(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(word.into());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_kept_whole() {
        assert_eq!(super::broken("one two three verylongword", 8), ["one two", "three", "verylongword"]);
        assert_eq!(super::broken("", 8), [""]);
    }
}
