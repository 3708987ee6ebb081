//! A member of the etcd cluster, at a station of its own, with its data in a file system of its own that can be filled.

use crate::cables::{Own, Station, Switch};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::Child,
};
use support::limit;

/// How many there are. They are the first stations.
pub const MEMBERS: usize = 3;

pub struct Member {
    pub station: Station,
    folder: tempfile::TempDir,
    place: usize,
    options: Vec<&'static str>,
    process: Option<Child>,
    pub is_stopped: bool,
}

impl Member {
    /// Starts the one of this place, with these options, and does not wait.
    pub fn begin(switch: &Switch, place: usize, options: &[&'static str]) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let memory = folder.path().join("disk");
        fs::create_dir(&memory).unwrap();
        let station = switch.station(place, Own { memory: Some(memory), booted_earlier: 0 })?;
        let mut member =
            Self { station, folder, place, options: options.into(), process: None, is_stopped: false };
        member.start();
        Ok(member)
    }

    /// Starts it, with the data that it has, and does not wait.
    pub fn start(&mut self) {
        let at = |place: usize, port: u16| format!("http://10.77.0.{}:{port}", place + 1);
        let (client, peer) = (at(self.place, 2379), at(self.place, 2380));
        let all = (0..MEMBERS).map(|place| format!("m{place}={}", at(place, 2380))).collect::<Vec<_>>();
        let log = File::options().create(true).append(true).open(self.log()).unwrap();
        let mut command = self.station.command("etcd");
        command.arg("--data-dir").arg(self.folder.path().join("disk/data"));
        command.args(["--name", &format!("m{}", self.place)]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &all.join(",")]).args(&self.options);
        self.process = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Whether its process runs, stopped or not.
    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().unwrap().is_none())
    }

    /// Whether it says that it is the leader.
    pub fn is_leader(&self) -> bool {
        self.metrics().is_some_and(|metrics| metrics.contains("etcd_server_is_leader 1"))
    }

    /// Whether it knows of a leader.
    pub fn answers(&self) -> bool {
        self.metrics().is_some_and(|metrics| metrics.contains("etcd_server_has_leader 1"))
    }

    /// How many reads of keys it was asked for.
    pub fn reads(&self) -> u64 {
        const STARTED: &str = "grpc_server_started_total{grpc_method=\"Range\"";
        let metrics = self.metrics().unwrap_or_default();
        let count =
            metrics.lines().find(|line| line.starts_with(STARTED)).and_then(|line| line.rsplit(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// What it counts; `None` if it does not say within a moment.
    fn metrics(&self) -> Option<String> {
        let address = format!("{}:2379", self.station.address()).parse().unwrap();
        let moment = limit::seconds(1);
        let mut stream = TcpStream::connect_timeout(&address, moment).ok()?;
        stream.set_read_timeout(Some(moment)).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    pub fn signal(&mut self, signal: Signal) {
        if let Some(process) = self.process.as_ref().filter(|_| !self.has_ended()) {
            kill(Pid::from_raw(process.id() as i32), signal).unwrap();
            self.is_stopped = signal == Signal::SIGSTOP;
        }
    }

    fn has_ended(&self) -> bool {
        self.process.is_none()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            limit::end_of(&mut process, "etcd");
        }
        self.is_stopped = false;
    }

    /// Takes what room its disk has.
    pub fn fill_disk(&self) {
        let mut fill = File::create(self.station.memory().join("fill")).unwrap();
        for block in [1 << 20, 1 << 12, 1] {
            let zeros = vec![0; block];
            while fill.write_all(&zeros).is_ok() {}
        }
    }

    /// Gives it back, if it was taken.
    pub fn empty_disk(&self) -> bool {
        fs::remove_file(self.station.memory().join("fill")).is_ok()
    }

    /// The last lines that it logged.
    pub fn last_words(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = limit::within(limit::of_processes(), || process.try_wait().ok().flatten());
        }
    }
}
