//! The explanation on a terminal: a picture, and a key to go on.

use super::picture::{Picture, Stop, Table};
use crate::{
    terminal::{Input, Screen, is_control},
    words_in_lines::broken,
};
use ratatui::{
    Frame,
    crossterm::event::{KeyCode, KeyEvent},
    layout::{Constraint, Layout},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph},
};
use std::time::{Duration, Instant};

const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const CHANGED: Style = Style::new().fg(Color::Black).bg(Color::Yellow).add_modifier(Modifier::BOLD);

/// The terminal, and everything that was shown.
pub struct Show {
    screen: Screen,
    pictures: Vec<Picture>,
    /// Which of them is on the screen.
    at: usize,
    /// So long each is shown, if it goes on by itself.
    pace: Duration,
    by_itself: bool,
}

/// The paces that + and - go through, in milliseconds.
const PACES: [u64; 7] = [100, 250, 500, 1000, 2000, 4000, 8000];

impl Show {
    /// On this terminal. `pace`: it goes on by itself, after so long.
    pub fn new(screen: Screen, pace: Option<Duration>) -> Self {
        let by_itself = pace.is_some();
        let pace = pace.unwrap_or(Duration::from_secs(2));
        Self { screen, pictures: Vec::new(), at: 0, pace, by_itself }
    }

    /// Shows a picture until it is time for the next one.
    pub fn show(&mut self, picture: &Picture) -> Result<(), Stop> {
        self.pictures.push(picture.clone());
        self.at = self.pictures.len() - 1;
        self.wait(false)
    }

    /// The last picture stays until a key is pressed, unless it all goes by itself.
    pub fn end(&mut self) -> Result<(), Stop> {
        if self.by_itself { Ok(()) } else { self.wait(true) }
    }

    fn wait(&mut self, ended: bool) -> Result<(), Stop> {
        let shown = Instant::now();
        loop {
            let (pictures, at, pace) = (&self.pictures, self.at, self.by_itself.then_some(self.pace));
            self.screen.draw(|frame| draw(frame, pictures, at, pace, ended)).map_err(Stop::Unprinted)?;
            let deadline =
                if self.by_itself { shown + self.pace } else { shown + Duration::from_secs(86_400) };
            match self.screen.next(deadline).map_err(Stop::Unprinted)? {
                Input::Key(key) if is_control(&key, 'c') => return Err(Stop::Quit(None)),
                Input::Key(key) => {
                    if self.key(&key)? {
                        return Ok(());
                    }
                }
                Input::Signal(signal) => return Err(Stop::Quit(Some(signal))),
                Input::Redraw => {}
                Input::Nothing if self.by_itself => return Ok(()),
                Input::Nothing => {}
            }
        }
    }

    /// `true`: go on to what has not been shown yet.
    fn key(&mut self, key: &KeyEvent) -> Result<bool, Stop> {
        let last = self.pictures.len() - 1;
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Err(Stop::Quit(None)),
            KeyCode::Char(' ' | 'n') | KeyCode::Enter | KeyCode::Right | KeyCode::Down => {
                if self.at == last {
                    return Ok(true);
                }
                self.at += 1;
            }
            KeyCode::Left | KeyCode::Up | KeyCode::Backspace | KeyCode::Char('b') => {
                self.at = self.at.saturating_sub(1);
                self.by_itself = false;
            }
            KeyCode::Char('a') => {
                self.by_itself = !self.by_itself;
                self.at = last;
            }
            KeyCode::Char('+') => self.change_pace(false),
            KeyCode::Char('-') => self.change_pace(true),
            _ => {}
        }
        Ok(false)
    }

    fn change_pace(&mut self, slower: bool) {
        let now = self.pace.as_millis() as u64;
        let next = match slower {
            true => PACES.iter().find(|other| **other > now),
            false => PACES.iter().rev().find(|other| **other < now),
        };
        self.pace = next.map_or(self.pace, |next| Duration::from_millis(*next));
    }
}

/// Draws a picture: the registers, what has just happened, and what happened before.
pub fn draw(frame: &mut Frame, pictures: &[Picture], at: usize, pace: Option<Duration>, ended: bool) {
    let picture = &pictures[at];
    let registers = register_lines(&picture.table);
    // What stands below does not go up and down.
    let most = pictures.iter().map(|picture| picture.table.rows.len() + picture.table.lines.len()).max();
    let [top, table, told, bottom] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(most.map_or(0, |most| most as u16) + 2),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Line::styled(format!(" {}", picture.chapter), STRONG), top);
    frame.render_widget(Paragraph::new(registers), table);
    let block = Block::new().borders(Borders::TOP).title(" what has just happened ");
    frame.render_widget(Paragraph::new(story(pictures, at, told.width)).block(block), told);
    frame.render_widget(keys(at, pictures.len(), pace, ended), bottom);
}

fn register_lines(table: &Table) -> Vec<Line<'static>> {
    let head =
        table.columns.iter().map(|(name, width)| Span::styled(format!("{name:<0$}", width + 1), FAINT));
    let mut lines = vec![Line::from_iter(std::iter::once(Span::raw(" ")).chain(head))];
    for row in &table.rows {
        let mut spans = vec![Span::raw(" ")];
        for (cell, (name, width)) in row.iter().zip(&table.columns) {
            let style = match &cell.text[..] {
                _ if cell.changed => CHANGED,
                "INSIDE" | "here" => STRONG.fg(Color::Green),
                text if text.starts_with("dead") => STRONG.fg(Color::Red),
                _ if matches!(*name, "process" | "participant") => STRONG,
                _ => Style::new(),
            };
            spans.push(Span::styled(format!("{:<width$}", cell.text), style));
            spans.push(Span::raw(" "));
        }
        lines.push(Line::from(spans));
    }
    for line in &table.lines {
        let mut spans = vec![Span::raw(" ")];
        for cell in line {
            spans.push(Span::styled(cell.text.clone(), if cell.changed { CHANGED } else { FAINT }));
            spans.push(Span::raw("  "));
        }
        lines.push(Line::from(spans));
    }
    lines
}

/// The latest first, and as much of what came before as there is room for.
fn story(pictures: &[Picture], at: usize, width: u16) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(4).max(20);
    let mut lines = Vec::new();
    for (back, picture) in pictures[..=at].iter().rev().take(30).enumerate() {
        let style = if back == 0 { Style::new() } else { FAINT };
        for sentence in &picture.sentences {
            for (at, line) in broken(sentence, room).into_iter().enumerate() {
                let mark = if at == 0 { " • " } else { "   " };
                lines.push(Line::styled(format!("{mark}{line}"), style));
            }
        }
        if back == 0 {
            lines.push(Line::raw(""));
        }
    }
    lines
}

fn keys(at: usize, count: usize, pace: Option<Duration>, ended: bool) -> Line<'static> {
    let key = |key: &'static str, what: &str| {
        [Span::styled(format!(" {key}"), STRONG), Span::raw(format!(" {what} "))]
    };
    let mut spans: Vec<Span> = Vec::new();
    match (pace, ended && at + 1 == count) {
        (_, true) => spans.extend(key("space", "end")),
        (None, _) => spans.extend(key("space", "go on")),
        (Some(pace), _) => spans.extend(key("+ -", &format!("every {} s", pace.as_secs_f64()))),
    }
    spans.extend(key("←", "back"));
    spans.extend(key("a", if pace.is_some() { "step by step" } else { "by itself" }));
    spans.extend(key("q", "quit"));
    let style = if at + 1 < count { STRONG.fg(Color::Yellow) } else { FAINT };
    spans.push(Span::styled(format!("  step {} of {count}", at + 1), style));
    Line::from(spans)
}
