//! What is no lock file of turnlock's: locked by the kernel, as flock(1) does.

use super::{Flock, Job, Target, is_lock_file, say};
use crate::{
    escape, exit,
    failed::{Failed, Failure},
    signals::{self, Ended, Signals},
};
use std::{
    ffi::OsString,
    io::ErrorKind,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Command, ExitCode},
    time::{Duration, Instant},
};
use turnlock::kernel_lock::{self, Change, KernelLock, PARTICIPANTS_BYTES};

/// What flock(1) has beside the codes of [`exit`].
const BAD_DESCRIPTOR: u8 = 65;
const CANNOT_CREATE: u8 = 73;

/// Does it.
pub fn flock(flock: &Flock, job: &Job) -> Result<ExitCode, Failed> {
    let (lock, change) = (lock_of(flock, &job.target), change_of(flock));
    let began = Instant::now();
    let opened: Option<OwnedFd>;
    let (descriptor, name) = match &job.target {
        Target::Descriptor(fd) => {
            opened = None;
            (*fd, fd.to_string())
        }
        Target::Path(path) => {
            let name = escape::path(path);
            let to_write = lock != KernelLock::File && change == Change::Exclusive;
            let file = kernel_lock::open_or_create(path, to_write).map_err(|error| {
                say::failed(&format!("cannot open lock file {name}"), &error);
                Failed::Quietly(code_of_opening(&error))
            })?;
            let number = file.as_raw_fd();
            opened = Some(file);
            (number, name)
        }
    };
    let got = kernel_lock::change(descriptor, lock, change, flock.limit()).map_err(|error| {
        say::failed(&name, &error);
        let lacks = matches!(error.kind(), ErrorKind::OutOfMemory) || error.raw_os_error() == Some(NO_LOCKS);
        Failed::Quietly(if lacks { exit::OS } else { BAD_DESCRIPTOR })
    })?;
    if !got {
        if flock.verbose {
            say::not_taken(flock.limit().is_some_and(|limit| limit > Duration::ZERO));
        }
        return Err(Failed::Quietly(flock.conflict_exit_code));
    }
    // After: a participant that comes from here on finds that it is locked, or is no lock file.
    if lock == KernelLock::File
        && change != Change::Unlock
        && kernel_lock::has_participants(descriptor).unwrap_or(false)
    {
        let _ = kernel_lock::change(descriptor, lock, Change::Unlock, None);
        let why = format!(
            "{name} was a lock file of turnlock's, is in use, and was emptied: a shell does that by N>FILE, so open it \
             by N<>FILE"
        );
        return Err(Failure { code: exit::NO_FILE, why }.into());
    }
    if flock.verbose && change != Change::Unlock {
        say::took(began.elapsed());
    }
    let Some(words) = &job.command else { return Ok(ExitCode::SUCCESS) };
    let ended = run(flock, words, descriptor);
    drop(opened);
    ended
}

/// `ENOLCK`: the kernel has no room for another lock.
const NO_LOCKS: i32 = 37;

fn lock_of(flock: &Flock, target: &Target) -> KernelLock {
    match flock.bytes() {
        None => KernelLock::File,
        Some((start, 0)) if start < PARTICIPANTS_BYTES && is_lock_file(target) => {
            KernelLock::Bytes { start, length: PARTICIPANTS_BYTES - start }
        }
        Some((start, length)) => KernelLock::Bytes { start, length },
    }
}

fn change_of(flock: &Flock) -> Change {
    match (flock.unlock, flock.shared) {
        (true, _) => Change::Unlock,
        (_, true) => Change::Shared,
        _ => Change::Exclusive,
    }
}

fn code_of_opening(error: &std::io::Error) -> u8 {
    match error.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::StorageFull => CANNOT_CREATE,
        // No memory, or no descriptor: of this process, or of the machine.
        ErrorKind::OutOfMemory => exit::OS,
        _ if matches!(error.raw_os_error(), Some(23 | 24)) => exit::OS,
        _ => exit::NO_FILE,
    }
}

/// Runs the command; it inherits the descriptor, unless that is to be closed.
pub fn run(flock: &Flock, words: &[OsString], descriptor: RawFd) -> Result<ExitCode, Failed> {
    let os = |what: &str, error: &std::io::Error| {
        say::failed(what, error);
        Failed::Quietly(exit::OS)
    };
    if flock.close {
        kernel_lock::let_inherit(descriptor, false).map_err(|error| os("closing the descriptor", &error))?;
    }
    if flock.verbose {
        say::executing(&words[0]);
    }
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let ended = if flock.no_fork {
        Err(command.exec())
    } else {
        let signals = Signals::keep().map_err(|error| os("listening for signals", &error))?;
        signals.run(&mut command)
    };
    match ended {
        Ok(Ended { by_interrupt: true, .. }) => Err(Failed::Signal(signals::INTERRUPT)),
        Ok(Ended { status: Ok(status), .. }) => {
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            Ok(ExitCode::from(u8::try_from(code).unwrap_or(exit::FAILED)))
        }
        Ok(Ended { status: Err(error), .. }) => Err(os("waiting for the command", &error)),
        Err(error) => {
            say::failed(&format!("failed to execute {}", words[0].to_string_lossy()), &error);
            let lacks = matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::WouldBlock);
            Err(Failed::Quietly(if lacks { exit::OS } else { exit::CANNOT_RUN }))
        }
    }
}
