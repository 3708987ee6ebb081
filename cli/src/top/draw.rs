//! The screen: a line for each file, the list of locks or a page, the keys.

use super::{
    app::{App, Page},
    broken,
    columns::{Column, Columns},
    help_page, lock_page,
    measured::Measured,
    registers_page,
    rows::Sort,
    words::{self, BAD, FAINT, STRONG},
};
use crate::{describe, escape, spans};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row as TableRow, Table, TableState},
};
use turnlock::inspect::Life;

/// Draws everything.
pub fn draw(frame: &mut Frame, app: &mut App) {
    let files = app.sources.len().min(5) as u16;
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(files), Constraint::Min(3), Constraint::Length(1)])
            .areas(frame.area());
    frame.render_widget(Paragraph::new(file_lines(app, usize::from(files), usize::from(top.width))), top);
    match app.page {
        Page::List => list(frame, app, middle),
        Page::Help => page(frame, app, middle, " help ", help_page::lines(middle.width)),
        Page::Lock => {
            let lines = broken::lines(lock_page::lines(app), middle.width);
            page(frame, app, middle, &title(app, ""), lines);
        }
        Page::Registers => {
            let lines = registers_page::lines(app);
            page(frame, app, middle, &title(app, "registers of "), lines);
        }
    }
    frame.render_widget(Paragraph::new(keys(app)), bottom);
}

/// Returns a line about each file; where there are more than fit, the last one says how many.
fn file_lines(app: &App, room: usize, width: usize) -> Vec<Line<'static>> {
    let count = app.sources.len();
    let shown = if count > room { room - 1 } else { count };
    let mut lines: Vec<Line> = (0..shown).map(|file| file_line(app, file, width)).collect();
    if shown < count {
        let troubled = app.sources[shown..].iter().filter(|source| source.trouble.is_some()).count();
        let style = if troubled == 0 { FAINT } else { BAD };
        lines
            .push(Line::styled(format!(" and {} files more, {troubled} of them lost", count - shown), style));
    }
    lines
}

fn file_line(app: &App, file: usize, width: usize) -> Line<'static> {
    let source = &app.sources[file];
    let number = if app.sources.len() > 1 { format!(" {} ", file + 1) } else { " ".into() };
    let mut spans = vec![Span::styled(number, STRONG)];
    match (&source.trouble, source.status()) {
        (Some(trouble), seen) => {
            let what = if seen.is_some() { "LOST, shown as it last was: " } else { "LOST: " };
            spans.push(Span::styled(format!("{what}{}", escape::text(trouble)), BAD));
        }
        (None, Some(status)) => {
            let dead = status.participants.iter().filter(|one| one.life == Life::Dead).count();
            let path = its_end(&escape::path(source.path()), width.saturating_sub(BESIDE_A_PATH));
            spans.push(Span::styled(path, STRONG));
            let (taken, slots) = (status.participants.len(), status.participant_capacity);
            let (locks, room) = (status.locks.len(), status.lock_capacity);
            spans.push(Span::raw(format!("  {taken}/{slots} slots  {locks}/{room} locks")));
            if dead != 0 {
                spans.push(Span::styled(format!("  {dead} dead"), BAD));
            }
            match status.deadlocks.len() {
                0 => {}
                1 => spans.push(Span::styled("  DEADLOCK", BAD)),
                several => spans.push(Span::styled(format!("  {several} DEADLOCKS"), BAD)),
            }
            if source.is_replaced() {
                spans.push(Span::styled("  REPLACED: another file is here now", BAD));
            } else if !status.of_this_boot {
                spans.push(Span::styled("  from before the boot", BAD));
            }
        }
        (None, None) => spans.push(Span::raw(escape::path(source.path()))),
    }
    if file == 0 {
        let looks = format!("  every {} s", app.interval.as_secs_f64());
        spans.push(if app.paused { Span::styled("  PAUSED", BAD) } else { Span::styled(looks, FAINT) });
    }
    Line::from(spans)
}

/// So much else stands in the line of a file: numbers, deaths, the interval.
const BESIDE_A_PATH: usize = 54;

/// Returns a path, or its end if it has more letters than there is room for.
fn its_end(path: &str, room: usize) -> String {
    let letters = path.chars().count();
    match letters <= room.max(16) {
        true => path.into(),
        false => format!("…{}", path.chars().skip(letters + 1 - room.max(16)).collect::<String>()),
    }
}

fn title(app: &App, what: &str) -> String {
    let name = app.selected.as_ref().map(|row| escape::text(&row.lock)).unwrap_or_default();
    format!(" {what}{name} ")
}

/// A page of lines, scrolled as far as there is something to see.
fn page(frame: &mut Frame, app: &mut App, area: Rect, title: &str, lines: Vec<Line<'static>>) {
    let block = Block::new().borders(Borders::TOP).title(Span::styled(title.to_owned(), STRONG));
    let room = area.height.saturating_sub(1);
    let most = (lines.len() as u16).saturating_sub(room);
    app.scroll = app.scroll.min(most);
    let block = match most - app.scroll {
        0 => block,
        more => block.title_bottom(Line::from(format!(" {more} lines more: down ")).right_aligned()),
    };
    frame.render_widget(Paragraph::new(lines).block(block).scroll((app.scroll, 0)), area);
}

fn list(frame: &mut Frame, app: &mut App, area: Rect) {
    // The selected lock below the list, where there is room for both.
    let below = if area.height >= 16 { (area.height / 2).min(area.height - 8) } else { 0 };
    let [upper, lower] = Layout::vertical([Constraint::Min(3), Constraint::Length(below)]).areas(area);
    table(frame, app, upper);
    if below != 0 && app.at().is_some() {
        let lines = broken::lines(lock_page::lines(app), lower.width);
        let block = Block::new().borders(Borders::TOP).title(Span::styled(title(app, ""), STRONG));
        let room = usize::from(below - 1);
        let block = match lines.len() > room {
            false => block,
            true => block.title_bottom(Line::from(" more: Enter ").right_aligned()),
        };
        frame.render_widget(Paragraph::new(lines).block(block), lower);
    }
}

fn table(frame: &mut Frame, app: &App, area: Rect) {
    let several = app.sources.len() > 1;
    let named = |name: &'static str, sort: Option<Sort>| {
        let arrow = if app.reversed { "↑" } else { "↓" };
        match sort == Some(app.sort) {
            true => Line::styled(format!("{name}{arrow}"), STRONG.add_modifier(Modifier::REVERSED)),
            false => Line::styled(name, STRONG),
        }
    };
    let header = |name, sort| Cell::from(named(name, sort));
    let number = |name, sort| Cell::from(named(name, sort).right_aligned());
    let mut head = vec![Cell::from("")];
    let mut widths = vec![Constraint::Length(1)];
    if several {
        head.push(Cell::from("F"));
        widths.push(Constraint::Length(2));
    }
    let longest = app.rows.iter().map(|row| escape::text(&row.lock).chars().count()).max().unwrap_or(0);
    let columns = Columns::of(usize::from(area.width), several, longest);
    for column in &columns.shown {
        let (name, sort, _) = column.head();
        head.push(if column.is_number() { number(name, sort) } else { header(name, sort) });
        widths.push(Constraint::Length(columns.width(*column) as u16));
    }
    let rows = app.rows.iter().filter_map(|row| {
        let lock = row.status(&app.sources)?;
        let measured = row.measured(&app.sources);
        let waited = |quantile| measured.and_then(|measured| measured.waited(quantile)).map(spans::short);
        let lost = app.sources[row.file].trouble.is_some();
        let mut cells = vec![Cell::from(words::mark(lock))];
        if several {
            cells.push(Cell::from((row.file + 1).to_string()));
        }
        cells.extend(columns.shown.iter().map(|column| match column {
            Column::Lock => Cell::from(describe::shortened(&escape::text(&lock.name), columns.lock)),
            Column::Kind => Cell::from(lock.kind),
            Column::HeldBy => Cell::from(words::held_by(lock, columns.held_by)),
            Column::Since => right(words::since(lock).into()),
            Column::Wait => right(words::wait(lock)),
            Column::Rate => right(words::rate(measured.and_then(Measured::rate)).into()),
            Column::Median => right(waited(0.5).unwrap_or_default().into()),
            Column::Tail => right(waited(0.99).unwrap_or_default().into()),
        }));
        Some(TableRow::new(cells).style(if lost { FAINT } else { Style::new() }))
    });
    let table = Table::new(rows, widths)
        .header(TableRow::new(head))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(app.at());
    frame.render_stateful_widget(table, area, &mut state);
    if app.rows.is_empty() && area.height > 2 {
        let why = match (app.filter.is_empty(), app.sources.iter().all(|source| source.status().is_none())) {
            (false, _) => "no lock fits the filter: Esc takes it away",
            (true, false) => "no locks yet",
            (true, true) => "",
        };
        let line = Rect { y: area.y + 1, height: 1, ..area };
        frame.render_widget(Paragraph::new(Line::styled(format!("  {why}"), FAINT)), line);
    }
}

/// Returns a cell for a number.
fn right(text: Span<'static>) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

fn keys(app: &App) -> Line<'static> {
    let key = |key: &'static str, what: &'static str| {
        [Span::styled(format!(" {key}"), STRONG), Span::raw(format!(" {what} "))]
    };
    if app.typing {
        return Line::from(vec![
            Span::styled(format!(" /{}", escape::text(&app.filter)), STRONG),
            Span::styled("_", Style::new().add_modifier(Modifier::SLOW_BLINK)),
            Span::styled("   Enter: keep  Esc: no filter", FAINT),
        ]);
    }
    let mut spans: Vec<Span> = match app.page {
        Page::List => [
            key("Enter", "open"),
            key("r", "registers"),
            key("/", "filter"),
            key("< > R", "sort"),
            key("p", "pause"),
        ]
        .concat(),
        Page::Lock => {
            [key("Esc", "list"), key("r", "registers"), key("↑ ↓", "scroll"), key("p", "pause")].concat()
        }
        Page::Registers => {
            [key("Esc", "list"), key("r", "lock"), key("↑ ↓", "scroll"), key("p", "pause")].concat()
        }
        Page::Help => [key("Esc", "back"), key("↑ ↓", "scroll")].concat(),
    };
    if app.page != Page::Help {
        spans.extend(key("?", "help"));
        spans.extend(key("q", "quit"));
    }
    if !app.filter.is_empty() && app.page == Page::List {
        spans.insert(0, Span::styled(format!(" filter: {} ", escape::text(&app.filter)), BAD));
    }
    Line::from(spans)
}
