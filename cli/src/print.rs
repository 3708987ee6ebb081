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
    process::ExitCode,
    sync::OnceLock,
};

/// Whether errors are printed as JSON too. Set once, before anything is printed.
static ERRORS_AS_JSON: OnceLock<()> = OnceLock::new();

/// From now on an error is printed on standard output too, as JSON: the command was given --json.
pub fn errors_as_json() {
    ERRORS_AS_JSON.get_or_init(|| ());
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
        error_as_json(code, text.lines().next().unwrap_or_default().trim_start_matches("error: "));
        return ExitCode::from(code);
    }
    printed(enough_read(error.print().and_then(|()| io::stdout().flush())), code)
}

/// Prints one line on standard error: "turnlock: ..." Control characters in it are escaped.
pub fn message(what: &dyn Display) {
    let _ = write(anstream::stderr().lock(), &format!("turnlock: {}\n", escape::text(&what.to_string())));
}

/// Says what went wrong, in one line, and gives the exit code.
pub fn fail(code: u8, error: &dyn Display) -> ExitCode {
    let text = error.to_string();
    failed(code, &text, &escape::text(&text))
}

/// Says what went wrong, in several lines, and gives the exit code.
pub fn fail_in_lines(code: u8, error: &str) -> ExitCode {
    failed(code, error, &escape::lines(error))
}

/// Says what went wrong, in one line, where the command goes on, and says in its JSON what that was.
pub fn complain(error: &dyn Display) {
    let bad = AnsiColor::Red.on_default().bold();
    let text = escape::text(&error.to_string());
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
