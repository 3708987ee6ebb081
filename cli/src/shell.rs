//! A line for the shell.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

/// Returns the shell that runs it: $SHELL, or /bin/sh, as with flock(1).
fn program() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

/// Returns the command that runs `line`.
pub fn command(line: &OsStr) -> Vec<OsString> {
    vec![program(), "-c".into(), line.into()]
}

/// Returns what it is called in `turnlock status`: the first word, without its folder.
pub fn label(line: &OsStr) -> String {
    let line = line.to_string_lossy();
    let word =
        line.split(|letter: char| letter.is_whitespace() || letter == ';').find(|word| !word.is_empty());
    word.and_then(|word| Path::new(word).file_name())
        .map_or("sh".into(), |name| name.to_string_lossy().into_owned())
}
