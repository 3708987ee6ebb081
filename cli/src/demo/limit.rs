//! Commands that are waited for, but not for ever.

use std::{
    fs::File,
    io::{self, Read, Seek},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a compiler may take, and an interpreter that is only asked for its version.
const LONGEST: Duration = Duration::from_secs(120);

/// Runs it, and gives what it printed. One that does not end is killed, and that is an error.
pub fn output(command: &mut Command) -> io::Result<Output> {
    output_within(LONGEST, command)
}

/// It prints into files: the end of a pipe would come only when all that it started have ended too.
fn output_within(limit: Duration, command: &mut Command) -> io::Result<Output> {
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let status = end_within(limit, &mut command.spawn()?)?;
    Ok(Output { status, stdout: written(stdout)?, stderr: written(stderr)? })
}

fn end_within(limit: Duration, child: &mut Child) -> io::Result<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > limit {
            child.kill()?;
            let why = format!("it has not ended after {limit:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn written(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> io::Result<Output> {
        output_within(Duration::from_secs(2), Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn what_it_prints_is_given_also_where_it_leaves_somebody_behind() {
        let output = shell("echo here; echo there >&2; sleep 4 & exit 3").unwrap();
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"here\n"[..], &b"there\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn one_that_does_not_end_is_an_error() {
        let why = shell("exec sleep 100").unwrap_err();
        assert_eq!(
            (why.kind(), why.to_string()),
            (io::ErrorKind::TimedOut, "it has not ended after 2s".into())
        );
    }
}
