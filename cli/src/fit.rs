//! Lines that fit the screen.

use textwrap::{Options, WordSplitter, WrapAlgorithm};

/// The width of a page that goes elsewhere than to a terminal.
const USUAL: usize = 80;
/// No narrower: what is left beside the indentation could not be read.
const LEAST: usize = 40;
/// No wider, for the eye's sake.
const MOST: usize = 120;

/// Returns how many columns a line may have: those of the terminal, if standard output is one.
pub fn columns() -> usize {
    match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((terminal_size::Width(width), _)) => usize::from(width).clamp(LEAST, MOST),
        None => USUAL,
    }
}

/// `text`, which begins with `first`, in lines of so many columns; those after the first begin with `rest`. Words stay
/// whole, so that a path or a command can be copied. Ends with a newline.
pub fn fit(text: &str, first: &str, rest: &str, columns: usize) -> String {
    let options = Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(text, options) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_take_no_columns_and_words_stay_whole() {
        let bad = anstyle::Style::new().bold();
        let text = format!("{bad}one{bad:#} two {}", "x".repeat(30));
        let lines = fit(&text, "- ", "    ", 12);
        assert_eq!(lines, format!("- {bad}one{bad:#} two\n    {}\n", "x".repeat(30)));
        assert_eq!(fit("well-known words", "", "  ", 10), "well-known\n  words\n");
    }
}
