//! Lines that are broken between words, so that nothing at their ends is lost on a narrow screen.

use ratatui::text::{Line, Span};

/// What a line that goes on begins with.
const INDENT: &str = "     ";

/// Returns the lines, each in as many as it takes with so many columns. A word that has more keeps a line of its own.
pub fn lines(whole: Vec<Line<'static>>, columns: u16) -> Vec<Line<'static>> {
    whole.into_iter().flat_map(|line| broken(line, usize::from(columns))).collect()
}

fn broken(line: Line<'static>, columns: usize) -> Vec<Line<'static>> {
    if line.width() <= columns {
        return vec![line];
    }
    let (mut done, mut begun, style) = (Vec::new(), Vec::<Span>::new(), line.style);
    for span in line.spans {
        for word in span.content.split_inclusive(' ') {
            let word = Span::styled(word.to_owned(), span.style);
            let so_far: usize = begun.iter().map(Span::width).sum();
            let room = columns.saturating_sub(so_far);
            let has_words = begun.iter().any(|span| !span.content.trim().is_empty());
            if has_words && Span::raw(word.content.trim_end()).width() > room {
                done.push(Line::from(std::mem::replace(&mut begun, vec![Span::raw(INDENT)])).style(style));
            }
            begun.push(word);
        }
    }
    done.push(Line::from(begun).style(style));
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Style;

    #[test]
    fn words_are_kept_whole_and_keep_their_styles() {
        let bold = Style::new().bold();
        let line = Line::from(vec![Span::raw(" ● "), Span::styled("held by sleep (pid 4711)", bold)]);
        let whole = lines(vec![line.clone()], 80);
        assert!(matches!(&whole[..], [one] if *one == line));
        let narrow = lines(vec![line], 20);
        let texts: Vec<String> = narrow.iter().map(Line::to_string).collect();
        assert_eq!(texts, [" ● held by sleep ", "     (pid 4711)"]);
        assert_eq!(narrow[1].spans[1].style, bold);
        let word = lines(vec![Line::raw("one verylongword two")], 6);
        assert_eq!(
            word.iter().map(Line::to_string).collect::<Vec<_>>(),
            ["one ", "     verylongword ", "     two"]
        );
    }
}
