//! Where a command writes what it makes: standard output, or a file that is named.

use super::{escape, exit, file, print};
use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Seek, Write},
    path::Path,
    process::ExitCode,
};

/// Has `write` write into the file called `to`, or to standard output, and gives the exit code. A lock file, or one in the
/// making, is never written to, by whatever name or descriptor. A reader that closes the pipe has read enough.
pub fn write(to: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> ExitCode {
    let Some(path) = to else {
        if is_lock_file(Path::new(STANDARD_OUTPUT)) {
            return print::fail(exit::OS, &format!("standard output: {IS_A_LOCK_FILE}"));
        }
        let mut output = BufWriter::new(io::stdout().lock());
        return match write(&mut output).and_then(|()| output.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                print::fail(exit::OS, &format!("cannot write to standard output: {error}"))
            }
            _ => ExitCode::SUCCESS,
        };
    };
    let written = open(path).and_then(|file| {
        let mut output = BufWriter::new(file);
        write(&mut output)?;
        output.flush()
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => print::fail(exit::OS, &format!("{}: {error}", escape::path(path))),
    }
}

/// What standard output is open on. The descriptor itself need not be one that can be read.
const STANDARD_OUTPUT: &str = "/proc/self/fd/1";
const IS_A_LOCK_FILE: &str =
    "that is a lock file, or becomes one, which nothing else is written to: name another file";

/// Returns whether it is a regular file that begins so. One that may not be read is taken for none.
fn is_lock_file(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok_and(|mut file| file::is_turnlocks(&mut file))
}

/// Empty, to be written to. A lock file is left as it is.
fn open(path: &Path) -> io::Result<File> {
    // What is no regular file, a pipe or a terminal, may not be there to be read.
    if !path.is_file() {
        return File::create(path);
    }
    let mut file = File::options().read(true).write(true).open(path)?;
    if file::is_turnlocks(&mut file) {
        return Err(io::Error::other(IS_A_LOCK_FILE));
    }
    file.set_len(0)?;
    file.rewind()?;
    Ok(file)
}
