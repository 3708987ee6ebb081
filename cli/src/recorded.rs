//! A lock file's recording, with what else is to be known of the file, in words where people read it.

use super::{
    escape, exit, file,
    recorded_spans::{self, End, Span},
};
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};
use turnlock::inspect::{FileStatus, Life, RecordedEvent, Recording};

/// What stands for the slot of a thread that had none ([`turnlock::inspect::RecordedParticipant::slot`]).
const NO_SLOT: usize = 65_535;

/// A recording, and what it comes to.
pub struct Recorded {
    /// The file as it is now.
    pub status: FileStatus,
    /// Its latest events.
    pub recording: Recording,
    /// Who waited, and who held.
    pub spans: Vec<Span>,
    /// Participants that are dead and not removed yet.
    dead: HashSet<usize>,
}

impl Recorded {
    /// Reads it. Else the exit code, and why not.
    pub fn read(path: &Path) -> Result<Self, (u8, String)> {
        let of = |error: turnlock::Error| (exit::NO_FILE, error.to_string());
        let status = file::snapshot(path).map_err(of)?;
        let Some(recording) = file::recording(path).map_err(of)? else {
            return Err((exit::FAILED, has_none(path)));
        };
        let mut spans = recorded_spans::of(&recording);
        if !status.of_this_boot {
            // What went on then is over, and its end was not recorded.
            let open = spans.iter_mut().filter(|span| span.end == End::UnderWay);
            open.for_each(|span| span.end = End::Unknown);
        }
        let dead = status.participants.iter().filter(|one| one.life == Life::Dead);
        let dead: HashSet<_> = dead.map(|one| (one.slot, Some((one.pid, one.thread)))).collect();
        let numbered = recording.participants.iter().enumerate();
        let dead =
            numbered.filter(|(_, one)| dead.contains(&(one.slot, one.process))).map(|(at, _)| at).collect();
        Ok(Self { status, recording, spans, dead })
    }

    /// Returns when its first event was, or now (`CLOCK_MONOTONIC`, nanoseconds).
    pub fn first(&self) -> u64 {
        let now = self.recording.now;
        match self.recording.events.iter().map(|event| event.at).min() {
            // Before the boot, another clock counted, of which now is no time.
            Some(earliest) if !self.status.of_this_boot => earliest,
            Some(earliest) => earliest.min(now),
            None => now,
        }
    }

    /// Returns when its last event was, or now: some may have come while it was read.
    pub fn last(&self) -> u64 {
        let now = self.recording.now;
        match self.recording.events.iter().map(|event| event.at).max() {
            Some(latest) if !self.status.of_this_boot => latest,
            Some(latest) => latest.max(now),
            None => now,
        }
    }

    /// Returns how many events the file has forgotten, since the machine was started.
    pub fn forgotten(&self) -> u64 {
        self.recording.recorded.saturating_sub(u64::from(self.recording.capacity))
    }

    /// Returns what a participant is called.
    pub fn name(&self, participant: usize) -> String {
        let one = &self.recording.participants[participant];
        match (one.name.as_str(), one.process) {
            ("", None) if one.slot == NO_SLOT => "a thread without a slot".into(),
            ("", None) => format!("slot {}, gone", one.slot),
            ("", Some((pid, _))) => format!("process {pid}"),
            (name, _) => name.into(),
        }
    }

    /// Returns what a participant is called, in few letters; with its process, or its thread, where others are called the same.
    pub fn short_name(&self, participant: usize) -> String {
        let name = self.name(participant);
        let others = self.recording.participants.iter().filter(|one| one.name == name);
        let mut processes: Vec<(u32, u32)> = others.filter_map(|one| one.process).collect();
        processes.sort_unstable();
        processes.dedup();
        match self.recording.participants[participant].process {
            Some((pid, thread)) if processes.iter().any(|other| *other != (pid, thread)) => {
                let is_one_process = processes.iter().all(|(other, _)| *other == pid);
                format!("{name} {}", if is_one_process { thread } else { pid })
            }
            _ => name,
        }
    }

    /// Returns what a participant is called, and its process: "make (pid 4711)".
    pub fn who(&self, participant: usize) -> String {
        let one = &self.recording.participants[participant];
        let name = self.name(participant);
        match one.process {
            _ if one.name.is_empty() => name,
            Some((pid, thread)) => format!("{name} {}", super::describe::process(pid, thread)),
            None => name,
        }
    }

    /// Returns what a lock is called.
    pub fn lock(&self, lock: usize) -> String {
        let one = &self.recording.locks[lock];
        one.name.clone().unwrap_or_else(|| format!("number {}, removed", one.region))
    }

    /// Returns what happened, in words.
    pub fn what(&self, event: &RecordedEvent) -> String {
        let mut details = Vec::new();
        if event.shared {
            details.push("shared".into());
        }
        details.extend(event.group.map(|group| format!("group {group}")));
        details.extend(event.unlocks.map(|lock| format!("unlocks {}", self.lock(lock))));
        details.extend(event.generation.map(|generation| format!("generation {generation}")));
        details.extend(event.count.map(|count| match event.generation {
            None => format!("{count} notified"),
            Some(_) => format!("{count} arrived"),
        }));
        let name = event.event.name().replace('_', " ");
        if details.is_empty() { name } else { format!("{name} ({})", details.join(", ")) }
    }

    /// Returns how a wait or a hold ended, in a word or two.
    pub fn outcome(&self, span: &Span) -> &'static str {
        match span.end {
            End::UnderWay if self.dead.contains(&span.participant) => "dead, and not found yet",
            end => end.name(),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &PathBuf {
        &self.status.path
    }
}

/// Why there is nothing to be seen, and what to do.
fn has_none(path: &Path) -> String {
    let shown = escape::path(path);
    let file = super::describe::quoted(path);
    let how = match file::descriptor(path) {
        true => "`turnlock grow --record 100000` gives the file one by its path".into(),
        false => format!("`turnlock grow --record 100000 {file}` gives it one, while no process uses it"),
    };
    format!(
        "{shown} keeps no recording of what happens: {how}; or create it by `turnlock create --record 100000`"
    )
}
