//! `turnlock create`: a lock file of a given size, and for whom.

use super::{escape, exit, file, no_lock, print};
use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::ExitCode,
};
use turnlock::{DeathPolicy, Error, LockFile, LockFileOptions, Result as LibraryResult};

/// Create a lock file with room for so many participants and locks, and for a group
///
/// Conditions, events, barriers, onces and linked locks can be named in it at once: what is named is there before any program finds the file.
///
/// Not needed for a file of the usual size that only its owner uses: `turnlock run` and every program create what they
/// do not find. Never touches a file that is there: the size of a lock file is fixed when it is created.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the file was created
  64  the command line is wrong
  66  the path exists already, or the file cannot be created there
  71  standard output cannot be written to

EXAMPLES
  turnlock create --group www-data /run/app/app.lock      shared with a group, mode 660
  turnlock create --participants 4096 --locks 8 /dev/shm/app.lock
  turnlock create --event ready --barrier stage=4 /run/app/app.lock")]
pub struct Create {
    #[command(flatten)]
    creation: Creation,
    /// Never rely on membarrier, even while one process alone uses the file: for one that will also be used from a sandbox
    /// that refuses it, or whose second process is not to wait some milliseconds. Until the next boot
    #[arg(long)]
    full_fences: bool,
    #[command(flatten, next_help_heading = "Named in the file")]
    named: NamedAtOnce,
    /// Print what was created as JSON
    #[arg(long)]
    json: bool,
    /// The lock file (/dev/fd/N: the empty one that descriptor N is open on)
    file: PathBuf,
}

/// What is named in a lock file when it is created.
#[derive(Clone, Debug, Default, clap::Args)]
struct NamedAtOnce {
    /// A condition; may be said several times
    #[arg(long, value_name = "NAME")]
    condition: Vec<String>,
    /// An event, which is not set; may be said several times
    #[arg(long, value_name = "NAME")]
    event: Vec<String>,
    /// A barrier of N parties; may be said several times
    #[arg(long, value_name = "NAME=N", value_parser = barrier)]
    barrier: Vec<(String, u32)>,
    /// A once, which is not done; may be said several times
    #[arg(long, value_name = "NAME")]
    once: Vec<String>,
    /// A linked mutex, whose holders are of one host at a time: it is away until an agent brings it home; may be said several times
    #[arg(long, value_name = "NAME")]
    linked: Vec<String>,
    /// A linked rwlock, whose writers are of one host at a time, and its readers of several: it is away until an agent brings it home; may be said several
    /// times
    #[arg(long, value_name = "NAME")]
    linked_rwlock: Vec<String>,
    /// A linked semaphore of N permits, which are shared out among hosts: this one has none until an agent brings some; may be said several times
    #[arg(long, value_name = "NAME=N", value_parser = semaphore)]
    linked_semaphore: Vec<(String, u32)>,
}

impl NamedAtOnce {
    fn name_in(&self, file: &LockFile) -> LibraryResult<()> {
        for name in &self.condition {
            file.condition(name)?;
        }
        for name in &self.event {
            file.event(name)?;
        }
        for (name, parties) in &self.barrier {
            no_lock::check_room(file, *parties)?;
            file.barrier(name, *parties)?;
        }
        for name in &self.once {
            file.once(name)?;
        }
        for name in &self.linked {
            file.mutex_options().default_death_policy(DeathPolicy::Release).linked(true).open(name)?;
        }
        for name in &self.linked_rwlock {
            file.rwlock_options().default_death_policy(DeathPolicy::Release).linked(true).open(name)?;
        }
        for (name, permits) in &self.linked_semaphore {
            file.semaphore_options().permits(*permits).linked(true).open(name)?;
        }
        Ok(())
    }
}

/// Returns the name of a barrier, and how many parties it has.
fn barrier(text: &str) -> Result<(String, u32), String> {
    let wrong = || format!("{text:?} is not NAME=N, a barrier's name and how many parties it has, 1 to 4096");
    let (name, parties) = text.rsplit_once('=').ok_or_else(wrong)?;
    let parties = parties.parse().ok().filter(|parties| (1..=4096).contains(parties)).ok_or_else(wrong)?;
    Ok((name.into(), parties))
}

/// Returns the name of a semaphore, and how many permits it has.
fn semaphore(text: &str) -> Result<(String, u32), String> {
    let most = u32::MAX - 1;
    let wrong =
        || format!("{text:?} is not NAME=N, a semaphore's name and how many permits it has, 1 to {most}");
    let (name, permits) = text.rsplit_once('=').ok_or_else(wrong)?;
    let permits = permits.parse().ok().filter(|permits| (1..=most).contains(permits)).ok_or_else(wrong)?;
    Ok((name.into(), permits))
}

/// What a lock file is to be like if it is created now.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Creation {
    /// Room for so many participants at once (threads and processes), 1 to 4096; 128 if not said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    participants: Option<u32>,
    /// Room for so many named locks, 1 to 4096; 64 if not said
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    locks: Option<u32>,
    /// So many participants can take locks by messages, 0 to 16: those in the lowest slots. None if not said; with an --algorithm
    /// by messages, 16, or as many as there are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=16))]
    mailboxes: Option<u32>,
    /// Record what happens: the file keeps so many of the latest events, 64 to 16777216, rounded up to a power of two, of 32
    /// bytes each, for `turnlock trace` and `turnlock report`. Nothing is recorded if not said
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(64..=16_777_216))]
    record: Option<u32>,
    /// The permission bits, whatever the umask is, none for others; 600 if not said, 660 with --group
    #[arg(long, value_name = "OCTAL", value_parser = octal)]
    mode: Option<u32>,
    /// The group to share the file with, by name or number
    #[arg(long, value_name = "NAME|GID", value_parser = group)]
    group: Option<u32>,
}

impl Creation {
    /// With mailboxes, unless it was said how many.
    #[must_use]
    pub fn with_mailboxes(&self) -> Self {
        let all = self.participants.map_or(16, |participants| participants.min(16));
        Self { mailboxes: self.mailboxes.or(Some(all)), ..self.clone() }
    }

    /// Returns the options for a file that is opened, or created like this.
    pub fn options(&self) -> LockFileOptions {
        let mut options = LockFile::options();
        options.participants(self.participants.unwrap_or(0)).locks(self.locks.unwrap_or(0));
        options.mailboxes(self.mailboxes.unwrap_or(0)).recorded_events(self.record.unwrap_or(0));
        if let Some(mode) = self.mode {
            options.mode(mode);
        }
        if let Some(group) = self.group {
            options.group(group);
        }
        options
    }
}

/// What a lock file is, that was created or made larger.
#[derive(serde::Serialize)]
pub struct Created {
    path: String,
    participant_capacity: u32,
    lock_capacity: u32,
    mailbox_capacity: u32,
    recorded_events: u32,
    bytes: u64,
    mode: String,
    owner: u32,
    group: u32,
    fences: &'static str,
}

impl Create {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        match self.try_run().and_then(|()| Created::of(&self.file)) {
            Ok(created) if self.json => print::json(&created),
            Ok(created) => print::and_end(&created.in_words("created"), 0),
            Err(why) => print::fail(exit::NO_FILE, &why),
        }
    }

    /// Made whole under another name, and then given its own if nothing has it: whatever happens, a file that was there
    /// is left as it is, and no process finds one of another size.
    fn try_run(&self) -> Result<(), String> {
        let path = escape::path(&self.file);
        let exists = || {
            format!(
                "{path} exists already, and is left as it is: `turnlock status` shows what it is; while no process \
                 uses it, `turnlock grow` makes it larger, and `turnlock rm` deletes it"
            )
        };
        let mut options = self.creation.options();
        options.full_fences(self.full_fences).label("turnlock create");
        if file::descriptor(&self.file) {
            // An empty one is what `turnlock create` begins with; what is not empty, the library refuses to make anew.
            return match self.file.metadata() {
                Ok(meta) if meta.len() > 0 => Err(exists()),
                _ => file::open(&options, &self.file)
                    .and_then(|file| self.named.name_in(&file))
                    .map_err(|error| error.to_string()),
            };
        }
        let name = self.file.file_name().ok_or_else(|| format!("the path {path} names no file"))?;
        if self.file.symlink_metadata().is_ok() {
            return Err(exists());
        }
        let folder = match self.file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            return Err(format!("{path}: there is no folder {}: create it first", escape::path(folder)));
        }
        let made = tempfile::Builder::new().prefix(".turnlock-").make_in(folder, |temporary| {
            options.open(temporary).and_then(|file| self.named.name_in(&file)).map_err(|error| {
                // There is no file of that name, as a rule; and people do not know it.
                let _ = std::fs::remove_file(temporary);
                let other = temporary.file_name().unwrap_or_default().to_string_lossy();
                let error = match error {
                    // How long a file may be is said with what to do about it.
                    Error::System { source, .. } if source.kind() != io::ErrorKind::FileTooLarge => {
                        format!("{path}: cannot create it: {source}")
                    }
                    error => error.to_string().replace(&*other, &name.to_string_lossy()),
                };
                io::Error::other(error)
            })
        });
        let made = made.map_err(|error| error.to_string())?;
        match made.persist_noclobber(&self.file) {
            Ok(()) => Ok(()),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
            Err(failed) => Err(format!("{path}: cannot give it its name: {}", failed.error)),
        }
    }
}

impl Created {
    /// Returns what the file at `path` is by now.
    pub fn of(path: &Path) -> Result<Self, String> {
        let status = file::snapshot(path).map_err(|error| error.to_string())?;
        let meta = match file::descriptor(path) {
            true => path.metadata(),
            false => status.path.symlink_metadata(),
        };
        let meta = meta.map_err(|error| error.to_string())?;
        Ok(Self {
            path: status.path.to_string_lossy().into_owned(),
            participant_capacity: status.participant_capacity,
            lock_capacity: status.lock_capacity,
            mailbox_capacity: status.mailbox_capacity,
            recorded_events: status.recorded_events,
            bytes: meta.len(),
            mode: format!("{:03o}", meta.mode() & 0o777),
            owner: meta.uid(),
            group: meta.gid(),
            fences: status.fences,
        })
    }

    /// In a sentence; `done`: what was done to it.
    pub fn in_words(&self, done: &str) -> String {
        let group = uzers::get_group_by_gid(self.group)
            .map_or(self.group.to_string(), |group| escape::text(&group.name().to_string_lossy()));
        format!(
            "{}: {done}, with room for {} participants and {} locks{}; {} bytes, mode {}, group {group}{}\n",
            escape::text(&self.path),
            self.participant_capacity,
            self.lock_capacity,
            match self.recorded_events {
                0 => String::new(),
                events => format!(", and a recording of the latest {events} events"),
            },
            self.bytes,
            self.mode,
            if self.fences == "full" { ", full fences" } else { "" }
        )
    }
}

fn octal(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).map_err(|_| "a mode is an octal number, such as 660")?;
    if mode & !0o770 != 0 || mode & 0o600 != 0o600 {
        return Err(
            "the owner must be able to read and write, and others nothing: 600, or 660 for a group".into()
        );
    }
    Ok(mode)
}

/// Returns a group's number. One that is a number is taken for that, as chown(1) does if no group has it for a name.
fn group(text: &str) -> Result<u32, String> {
    match uzers::get_group_by_name(text) {
        Some(group) => Ok(group.gid()),
        None => text.parse().map_err(|_| "there is no group of this name".into()),
    }
}
