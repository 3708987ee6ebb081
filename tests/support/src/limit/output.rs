//! What a command prints, with a limit.

use super::{of_processes, within};
use std::{
    fs::File,
    io::{self, Read, Seek},
    process::{Command, Output, Stdio},
    time::Duration,
};

/// [`Command::output`], with a limit, and without waiting for those whom the command leaves behind.
pub fn output(command: &mut Command) -> io::Result<Output> {
    output_within(of_processes(), command)
}

/// [`output`], within so long.
pub fn output_within(limit: Duration, command: &mut Command) -> io::Result<Output> {
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.spawn()?;
    let status = within(limit, || child.try_wait().unwrap());
    let written = |mut file: File| {
        let mut bytes = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map(|_| bytes)
    };
    let (stdout, stderr) = (written(stdout)?, written(stderr)?);
    let Some(status) = status else {
        let _ = child.kill();
        let said = [&stdout, &stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        panic!("{command:?} has not ended after {limit:?}; it said: {}", said.concat());
    };
    Ok(Output { status, stdout, stderr })
}
