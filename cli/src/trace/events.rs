//! The trace events, in the Trace Event Format that Chrome introduced and Perfetto imports.
//!
//! A slice is a B and an E event and not one X event: Perfetto turns a time into whole nanoseconds by itself, so a beginning
//! and an end that are the same stay the same, and what a duration is rounded to could make two slices overlap by one.

use super::{
    super::{
        recorded::Recorded,
        recorded_spans::{End, Kind, Span},
    },
    tracks::{self, NOT_A_THREAD, Slice, Tracks},
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write},
};
use turnlock::inspect::{Event, RecordedEvent};

/// The number of the process that stands for the first file.
const FILES: u64 = NOT_A_THREAD / 2;

/// A trace event.
#[derive(serde::Serialize)]
struct TraceEvent<'a> {
    name: &'a str,
    /// "wait", "hold", or what happened.
    cat: &'a str,
    /// B begins a slice, E ends it, i is a moment, C a counter, M says a name.
    ph: &'static str,
    /// Microseconds.
    ts: f64,
    pid: u64,
    tid: u64,
    /// Of a moment: it is one of the thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    /// Arrows lead from each slice with this to the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bind_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_in: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_out: Option<bool>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

impl Default for TraceEvent<'_> {
    fn default() -> Self {
        Self {
            name: "",
            cat: "",
            ph: "",
            ts: 0.0,
            pid: 0,
            tid: 0,
            s: None,
            bind_id: None,
            flow_in: None,
            flow_out: None,
            args: Value::Null,
        }
    }
}

/// The trace of these files.
pub fn write(files: &[Recorded], to: &mut dyn Write) -> io::Result<()> {
    let mut trace = Trace { to, is_first: true };
    let about: Vec<Value> = files.iter().map(about).collect();
    write!(trace.to, r#"{{"displayTimeUnit":"ns","otherData":{{"files":"#)?;
    serde_json::to_writer(&mut trace.to, &about)?;
    write!(trace.to, r#"}},"traceEvents":["#)?;
    let tracks = tracks::of(files);
    trace.names(files, &tracks)?;
    trace.slices(files, &tracks)?;
    for (file, recorded) in files.iter().enumerate() {
        for event in &recorded.recording.events {
            trace.moment(recorded, event, tracks.of_participant[&(file, event.participant)])?;
        }
        trace.counters(recorded, FILES + file as u64)?;
    }
    writeln!(trace.to, "\n]}}")
}

/// Returns what was recorded, and when its clock began.
fn about(recorded: &Recorded) -> Value {
    let recording = &recorded.recording;
    json!({
        "file": recorded.path().to_string_lossy(),
        "of_this_boot": recorded.status.of_this_boot,
        "clock": "CLOCK_MONOTONIC",
        "clock_began_unix_nanoseconds": recording.now_unix.saturating_sub(recording.now).to_string(),
        "events": recording.events.len(),
        "events_recorded": recording.recorded,
        "events_forgotten": recorded.forgotten(),
        "events_unreadable": recording.unreadable,
    })
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// A trace that is being written.
struct Trace<'a> {
    to: &'a mut dyn Write,
    is_first: bool,
}

impl Trace<'_> {
    fn event(&mut self, event: &TraceEvent) -> io::Result<()> {
        let before = if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" };
        self.to.write_all(before.as_bytes())?;
        serde_json::to_writer(&mut self.to, event).map_err(io::Error::from)
    }

    fn name(&mut self, what: &str, (pid, tid): (u64, u64), name: &str) -> io::Result<()> {
        let args = json!({ "name": name });
        self.event(&TraceEvent {
            name: what,
            cat: "__metadata",
            ph: "M",
            pid,
            tid,
            args,
            ..Default::default()
        })
    }

    fn names(&mut self, files: &[Recorded], tracks: &Tracks) -> io::Result<()> {
        for (file, recorded) in files.iter().enumerate() {
            let number = FILES + file as u64;
            let name = recorded.path().file_name().unwrap_or(recorded.path().as_os_str());
            let name = format!("locks of {}", name.to_string_lossy());
            self.name("process_name", (number, number), &name)?;
        }
        for track in &tracks.all {
            if let Some(process) = &track.process {
                self.name("process_name", (track.pid, track.tid), process)?;
            }
            self.name("thread_name", (track.pid, track.tid), &track.thread)?;
        }
        Ok(())
    }

    fn slices(&mut self, files: &[Recorded], tracks: &Tracks) -> io::Result<()> {
        let arrows: Vec<HashMap<usize, Arrow>> = arrows(files);
        for track in &tracks.all {
            let place = (track.pid, track.tid);
            let mut open: Vec<Slice> = Vec::new();
            for slice in &track.slices {
                while let Some(inner) = open.pop_if(|inner| inner.to <= slice.from) {
                    self.end(files, inner, place)?;
                }
                self.begin(files, *slice, place, arrows[slice.file].get(&slice.span))?;
                open.push(*slice);
            }
            while let Some(inner) = open.pop() {
                self.end(files, inner, place)?;
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        files: &[Recorded],
        slice: Slice,
        (pid, tid): (u64, u64),
        arrow: Option<&Arrow>,
    ) -> io::Result<()> {
        let recorded = &files[slice.file];
        let span = &recorded.spans[slice.span];
        self.event(&TraceEvent {
            name: &title(recorded, span),
            cat: span.kind.name(),
            ph: "B",
            ts: microseconds(slice.from),
            pid,
            tid,
            bind_id: arrow.map(|arrow| format!("{:#x}", arrow.id)),
            flow_in: arrow.and_then(|arrow| arrow.from_before.then_some(true)),
            flow_out: arrow.and_then(|arrow| arrow.to_next.then_some(true)),
            args: arguments(files, recorded, span),
            ..Default::default()
        })
    }

    fn end(&mut self, files: &[Recorded], slice: Slice, (pid, tid): (u64, u64)) -> io::Result<()> {
        let recorded = &files[slice.file];
        let span = &recorded.spans[slice.span];
        let (name, ts) = (title(recorded, span), microseconds(slice.to));
        self.event(&TraceEvent {
            name: &name,
            cat: span.kind.name(),
            ph: "E",
            ts,
            pid,
            tid,
            ..Default::default()
        })
    }

    /// What takes no time.
    fn moment(
        &mut self,
        recorded: &Recorded,
        event: &RecordedEvent,
        (pid, tid): (u64, u64),
    ) -> io::Result<()> {
        use Event::{Acquired, Asked, AskedInGroup, Attached, Detached, Released, WaitBegan, Woken};
        // Slices show these.
        if matches!(
            event.event,
            Attached | Detached | Asked | AskedInGroup | Acquired | Released | WaitBegan | Woken
        ) {
            return Ok(());
        }
        let what = event.event.name().replace('_', " ");
        let Some(lock) = event.lock.map(|lock| recorded.lock(lock)) else { return Ok(()) };
        let mut args = Map::new();
        args.insert("lock".into(), lock.clone().into());
        if let Some(token) = event.fencing_token {
            args.insert("fencing_token".into(), token.to_string().into());
        }
        for (what, number) in [("count", event.count), ("generation", event.generation)] {
            if let Some(number) = number {
                args.insert(what.into(), number.into());
            }
        }
        if let Some(by) = event.by {
            args.insert("by".into(), recorded.who(by).into());
        }
        self.event(&TraceEvent {
            name: &format!("{what}: {lock}"),
            cat: event.event.name(),
            ph: "i",
            ts: microseconds(event.at),
            pid,
            tid,
            s: Some("t"),
            args: args.into(),
            ..Default::default()
        })
    }

    /// How many wait for each lock, and how many hold it.
    fn counters(&mut self, recorded: &Recorded, pid: u64) -> io::Result<()> {
        let (first, last) = (recorded.first(), recorded.last());
        // By lock: when, and by how much waiting and holding change.
        let mut changes: BTreeMap<usize, BTreeMap<u64, [i64; 2]>> = BTreeMap::new();
        for span in &recorded.spans {
            let (from, to) = span.drawn(first, last);
            let of_lock = changes.entry(span.lock).or_default();
            let which = usize::from(span.kind == Kind::Hold);
            of_lock.entry(from).or_default()[which] += 1;
            if span.end != End::UnderWay {
                of_lock.entry(to).or_default()[which] -= 1;
            }
        }
        for (lock, changes) in changes {
            let (name, mut now) = (recorded.lock(lock), [0; 2]);
            for (at, change) in changes {
                now = [now[0] + change[0], now[1] + change[1]];
                let args = json!({ "waiting": now[0], "holding": now[1] });
                let ts = microseconds(at);
                self.event(&TraceEvent {
                    name: &name,
                    cat: "lock",
                    ph: "C",
                    ts,
                    pid,
                    tid: pid,
                    args,
                    ..Default::default()
                })?;
            }
        }
        Ok(())
    }
}

fn title(recorded: &Recorded, span: &Span) -> String {
    let lock = recorded.lock(span.lock);
    match span.kind {
        Kind::Wait => format!("wait for {lock}"),
        Kind::Hold => lock,
    }
}

fn arguments(files: &[Recorded], recorded: &Recorded, span: &Span) -> Value {
    let mut args = Map::new();
    args.insert("lock".into(), recorded.lock(span.lock).into());
    if files.len() > 1 {
        args.insert("file".into(), recorded.path().to_string_lossy().into());
    }
    args.insert("by".into(), recorded.who(span.participant).into());
    args.insert("outcome".into(), recorded.outcome(span).into());
    args.insert("shared".into(), span.shared.into());
    // A string: it exceeds what a double can tell apart.
    if let Some(token) = span.fencing_token {
        args.insert("fencing_token".into(), token.to_string().into());
    }
    if let Some(group) = span.group {
        args.insert("group".into(), group.to_string().into());
    }
    if span.began.is_none() {
        args.insert("began".into(), "before the first event that is left".into());
    }
    args.into()
}

/// What leads from a hold to the next one, and to it from the one before.
struct Arrow {
    id: u64,
    from_before: bool,
    to_next: bool,
}

/// Returns those holds that were handed on: whose lock the next one had asked for before they ended. By file and span.
fn arrows(files: &[Recorded]) -> Vec<HashMap<usize, Arrow>> {
    let mut next = 0;
    let of_file = |recorded: &Recorded| {
        let mut holds: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, span) in recorded.spans.iter().enumerate().filter(|(_, span)| span.kind == Kind::Hold) {
            holds.entry(span.lock).or_default().push(at);
        }
        let mut arrows: HashMap<usize, Arrow> = HashMap::new();
        for mut holds in holds.into_values() {
            holds.sort_by_key(|at| recorded.spans[*at].began);
            for pair in holds.windows(2) {
                let [before, after] = [pair[0], pair[1]].map(|at| &recorded.spans[at]);
                let (Some(ended), Some(asked), Some(began)) = (before.ended, after.asked, after.began) else {
                    continue;
                };
                if !(asked < ended && ended <= began) {
                    continue;
                }
                let from = arrows.entry(pair[0]).or_insert_with(|| {
                    next += 1;
                    Arrow { id: next, from_before: false, to_next: true }
                });
                from.to_next = true;
                let id = from.id;
                arrows.insert(pair[1], Arrow { id, from_before: true, to_next: false });
            }
        }
        arrows
    };
    files.iter().map(of_file).collect()
}
