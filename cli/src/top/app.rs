//! What the screen shows and what keys do to it. Draws nothing.

use super::{
    rows::{self, Row, Sort},
    source::Source,
};
use crate::{file, terminal::is_control};
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use std::{path::PathBuf, time::Duration};
use turnlock::inspect::LockRegisters;

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// All locks, and below them the one that is selected.
    List,
    /// One lock.
    Lock,
    /// One lock's registers.
    Registers,
    /// What the keys do, and what the columns mean.
    Help,
}

/// The screen's state.
pub struct App {
    /// The files.
    pub sources: Vec<Source>,
    /// The locks that are listed, in order.
    pub rows: Vec<Row>,
    /// The one of them that is selected.
    pub selected: Option<Row>,
    /// What is on the screen.
    pub page: Page,
    /// What was, before the help.
    back: Page,
    /// By which column the list is sorted.
    pub sort: Sort,
    /// Whether the other way round.
    pub reversed: bool,
    /// What a lock must have in it to be listed.
    pub filter: String,
    /// Whether keys go to the filter.
    pub typing: bool,
    /// The registers of the selected lock, if they are shown; or why they cannot be.
    pub registers: Option<Result<LockRegisters, String>>,
    /// From one drawing to the next.
    pub interval: Duration,
    /// Whether looking is suspended.
    pub paused: bool,
    /// How many lines of a page are above the screen.
    pub scroll: u16,
}

/// The times between two drawings that + and - go through.
const INTERVALS: [u64; 7] = [50, 100, 250, 500, 1000, 2000, 5000];

impl App {
    /// Returns a screen of these files.
    pub fn new(files: &[PathBuf], interval: Duration) -> Self {
        Self {
            sources: files.iter().map(|path| Source::new(path)).collect(),
            rows: Vec::new(),
            selected: None,
            page: Page::List,
            back: Page::List,
            sort: Sort::Waiting,
            reversed: false,
            filter: String::new(),
            typing: false,
            registers: None,
            interval,
            paused: false,
            scroll: 0,
        }
    }

    /// Looks at every file, unless that is suspended.
    pub fn look(&mut self) {
        if !self.paused {
            self.sources.iter_mut().for_each(Source::look);
            self.list();
            self.read_registers();
        }
    }

    fn read_registers(&mut self) {
        let row = self.selected.as_ref().filter(|_| self.page == Page::Registers);
        self.registers = row.map(|row| match file::registers(self.sources[row.file].path(), &row.lock) {
            Ok(registers) => {
                registers.ok_or_else(|| "it is no lock, and has no registers; or it was removed".into())
            }
            Err(error) => Err(error.to_string()),
        });
    }

    /// Lists the locks anew.
    fn list(&mut self) {
        self.rows = rows::rows(&self.sources, &self.filter, self.sort, self.reversed);
        if self.page == Page::List && self.at().is_none() {
            self.selected = self.rows.first().cloned();
        }
    }

    /// Returns where in the list the selected lock is.
    pub fn at(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        self.rows.iter().position(|row| row == selected)
    }

    /// A key was pressed. `false`: that was the end.
    pub fn key(&mut self, key: &KeyEvent) -> bool {
        if is_control(key, 'c') {
            return false;
        }
        if self.typing {
            self.type_filter(key.code);
            return true;
        }
        match (self.page, key.code) {
            (Page::Help, KeyCode::Char('q' | '?') | KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace) => {
                self.show(self.back);
            }
            (_, KeyCode::Char('q')) => return false,
            (page, KeyCode::Char('?') | KeyCode::F(1)) => {
                self.back = page;
                self.show(Page::Help);
            }
            (_, KeyCode::Char('p' | ' ')) => self.paused = !self.paused,
            (_, KeyCode::Char('+' | '=')) => self.change_interval(true),
            (_, KeyCode::Char('-')) => self.change_interval(false),
            (Page::List, code) => self.key_in_list(code),
            (_, code) => self.key_in_page(code),
        }
        true
    }

    fn key_in_list(&mut self, code: KeyCode) {
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::PageUp => self.select(-10),
            KeyCode::PageDown => self.select(10),
            KeyCode::Home | KeyCode::Char('g') => self.select(isize::MIN / 2),
            KeyCode::End | KeyCode::Char('G') => self.select(isize::MAX / 2),
            KeyCode::Enter | KeyCode::Right if self.at().is_some() => self.show(Page::Lock),
            KeyCode::Char('r') if self.at().is_some() => self.show(Page::Registers),
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('<' | ',') => self.sort = self.sort.beside(-1),
            KeyCode::Char('>' | '.') => self.sort = self.sort.beside(1),
            KeyCode::Char('R') => self.reversed = !self.reversed,
            _ => {}
        }
        self.list();
    }

    fn key_in_page(&mut self, code: KeyCode) {
        let scroll = |by: i32| self.scroll.saturating_add_signed(by as i16);
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.scroll = scroll(-1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll = scroll(1),
            KeyCode::PageUp => self.scroll = scroll(-10),
            KeyCode::PageDown => self.scroll = scroll(10),
            KeyCode::Home | KeyCode::Char('g') => self.scroll = 0,
            KeyCode::Char('r') if self.page == Page::Lock => self.show(Page::Registers),
            KeyCode::Char('r') if self.page == Page::Registers => self.show(Page::Lock),
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => {
                self.show(Page::List);
                self.list();
            }
            _ => {}
        }
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char(letter) => self.filter.push(letter),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            _ => {}
        }
        self.list();
    }

    fn show(&mut self, page: Page) {
        self.page = page;
        self.scroll = 0;
        self.read_registers();
    }

    fn select(&mut self, by: isize) {
        let Some(last) = self.rows.len().checked_sub(1) else { return };
        let at = self.at().unwrap_or(0).saturating_add_signed(by).min(last);
        self.selected = self.rows.get(at).cloned();
    }

    /// Looks more often, or less.
    fn change_interval(&mut self, less_often: bool) {
        let now = self.interval.as_millis() as u64;
        let next = match less_often {
            true => INTERVALS.iter().find(|other| **other > now),
            false => INTERVALS.iter().rev().find(|other| **other < now),
        };
        self.interval = next.map_or(self.interval, |next| Duration::from_millis(*next));
    }
}
