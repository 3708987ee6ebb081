//! Where a command writes what it makes: standard output, or a file that is named.

use super::{escape, exit, file, print};
use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Seek, Write},
    path::Path,
    process::ExitCode,
};

/// Has `write` write into the file called `to`, or to standard output, and gives the exit code. A lock file is never written
/// over, by whatever name. A reader that closes the pipe has read enough.
pub fn write(to: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> ExitCode {
    let Some(path) = to else {
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

/// Empty, to be written to. A lock file is left as it is.
fn open(path: &Path) -> io::Result<File> {
    // What is no regular file, a pipe or a terminal, may not be there to be read.
    if !path.is_file() {
        return File::create(path);
    }
    let mut file = File::options().read(true).write(true).open(path)?;
    if file::begins_as_a_lock_file(&mut file) {
        return Err(io::Error::other("that is a lock file, which nothing else is written to"));
    }
    file.set_len(0)?;
    file.rewind()?;
    Ok(file)
}
