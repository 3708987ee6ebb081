//! The terminal as a screen: full size, keys as they come, and as it was before when this ends, however it ends.

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::{
        event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
        terminal::is_raw_mode_enabled,
    },
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP},
    flag,
    low_level::emulate_default_handler,
};
use std::{
    io::{self, IsTerminal},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// The terminal, taken over. Dropped, it is as it was before.
pub struct Screen {
    terminal: DefaultTerminal,
    ending: Ending,
    /// The key that came together with Escape, and is yet to be returned.
    after_escape: Option<KeyEvent>,
}

/// Signals that ask this process to end: kept until it has put everything back.
pub struct Ending(Arc<AtomicUsize>);

impl Ending {
    /// From now on they are kept.
    pub fn listen() -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            flag::register_usize(number, signal.clone(), number.unsigned_abs() as usize)?;
        }
        Ok(Self(signal))
    }

    /// Returns the number of the last one, if there was one.
    pub fn signal(&self) -> Option<usize> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// Ends this process by the signal where no thread has heard of it for a while: crossterm does not come back from a
    /// terminal that is gone, and takes a whole processor for that.
    fn end_even_so(&self) {
        let signal = self.0.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(NOTICED_WITHIN);
                let number = signal.load(Ordering::Relaxed);
                if number != 0 {
                    std::thread::sleep(HEARD_WITHIN);
                    // If that fails, the default has been to end anyhow.
                    let _ = emulate_default_handler(number as i32);
                    std::process::exit(128 + number as i32);
                }
            }
        });
    }

    /// Waits so long for one.
    pub fn within(&self, time: Duration) -> Option<usize> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.signal() {
                Some(signal) => return Some(signal),
                None if left.is_zero() => return None,
                None => std::thread::sleep(left.min(NOTICED_WITHIN)),
            }
        }
    }
}

/// What came from outside.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed.
    Key(KeyEvent),
    /// The terminal has another size, or has to be drawn anew.
    Redraw,
    /// A signal asks this process to end.
    Signal(usize),
    /// Nothing, for as long as was asked for.
    Nothing,
}

/// How long a signal may go unnoticed.
const NOTICED_WITHIN: Duration = Duration::from_millis(100);

/// How long it takes at most, from a signal until the terminal is as it was.
const HEARD_WITHIN: Duration = Duration::from_secs(1);

/// Returns whether there is a terminal to be taken over: keys come from one, and what is drawn goes to one.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

impl Screen {
    /// Takes the terminal over. A panic gives it back too, before its message is printed.
    pub fn open() -> io::Result<Self> {
        let ending = Ending::listen()?;
        ending.end_even_so();
        Ok(Self { terminal: ratatui::try_init()?, ending, after_escape: None })
    }

    /// Draws everything.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(draw).map(|_| ())
    }

    /// Waits for something from outside, until `deadline`. Ctrl-Z stops this process, as in a terminal that no program
    /// has taken over.
    pub fn next(&mut self, deadline: Instant) -> io::Result<Input> {
        loop {
            if let Some(signal) = self.ending.signal() {
                return Ok(Input::Signal(signal));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if self.after_escape.is_none() && !event::poll(left.min(NOTICED_WITHIN))? {
                if left <= NOTICED_WITHIN {
                    return Ok(Input::Nothing);
                }
                continue;
            }
            match self.event()? {
                event::Event::Key(key) if is_control(&key, 'z') => {
                    self.suspend()?;
                    return Ok(Input::Redraw);
                }
                event::Event::Key(key) if is_control(&key, 'l') => {
                    self.terminal.clear()?;
                    return Ok(Input::Redraw);
                }
                event::Event::Key(key) if key.kind != KeyEventKind::Release => return Ok(Input::Key(key)),
                event::Event::Resize(..) => return Ok(Input::Redraw),
                _ => {}
            }
        }
    }

    /// Returns what came next. A terminal sends the same bytes for Escape with a key right after it as for Alt with that
    /// key. No screen has keys with Alt, so it is read as the two.
    fn event(&mut self) -> io::Result<event::Event> {
        if let Some(key) = self.after_escape.take() {
            return Ok(event::Event::Key(key));
        }
        match event::read()? {
            event::Event::Key(key) if key.modifiers.contains(KeyModifiers::ALT) => {
                self.after_escape = Some(KeyEvent { modifiers: key.modifiers - KeyModifiers::ALT, ..key });
                Ok(event::Event::Key(KeyCode::Esc.into()))
            }
            event => Ok(event),
        }
    }

    fn suspend(&mut self) -> io::Result<()> {
        ratatui::try_restore()?;
        emulate_default_handler(SIGTSTP)?;
        self.terminal = ratatui::try_init()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // After a panic it is given back already: once more, and what comes next would be written over the message. A
        // terminal that is gone cannot be given back.
        if is_raw_mode_enabled().unwrap_or(true) {
            let _ = ratatui::try_restore();
        }
    }
}

/// Returns whether the key is this letter with Ctrl.
pub fn is_control(key: &KeyEvent, letter: char) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Run by the test below, in a terminal of its own: takes it over and panics.
    #[test]
    fn panics_on_a_screen_if_told_to() {
        if std::env::var_os("TURNLOCK_TEST_PANICS").is_some() {
            let mut screen = Screen::open().unwrap();
            screen.draw(|frame| frame.render_widget("taken over", frame.area())).unwrap();
            panic!("in the middle of it");
        }
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_its_message() {
        let server = format!("turnlock-panic-{}", std::process::id());
        let tmux = |arguments: &[&str]| {
            let mut tmux = Command::new("tmux");
            tmux.args(["-L", &server, "-f", "/dev/null"]).args(arguments).env_remove("TMUX").output()
        };
        let myself = std::env::current_exe().unwrap();
        let command = format!(
            "echo before; TURNLOCK_TEST_PANICS=1 {} panics_on_a_screen_if_told_to --nocapture; stty -a; exec cat",
            myself.display()
        );
        match tmux(&["new-session", "-d", "-x", "120", "-y", "50", "sh", "-c", &command]) {
            Ok(output) if output.status.success() => {}
            why => return println!("left out: tmux is not installed, or does not start: {why:?}"),
        }
        let began = Instant::now();
        let text = loop {
            let captured = tmux(&["capture-pane", "-p"]).unwrap();
            let text = String::from_utf8_lossy(&captured.stdout).into_owned();
            if text.contains(" icanon") || began.elapsed() > Duration::from_secs(60) {
                break text;
            }
            std::thread::sleep(Duration::from_millis(30));
        };
        tmux(&["kill-server"]).unwrap();
        for what in ["before", "in the middle of it", " icanon", " echo "] {
            assert!(text.contains(what), "no {what:?}: {text}");
        }
    }
}
