//! An etcd of the bench's own: one member, on loopback.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
};
use support::{limit, until, until_some};

/// The engine.
pub struct Etcd {
    folder: tempfile::TempDir,
    /// For clients, for other members, and for what it counts.
    ports: [u16; 3],
    process: Mutex<Option<Child>>,
}

impl Etcd {
    /// One that answers, whose data is in this folder.
    pub fn begin(folder: &Path) -> Self {
        // Below those that the kernel gives to connections, which would take one while etcd is away.
        let from = 10_000 + (std::process::id() % 100 * 200) as u16;
        let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        let mut free = (from..from + 1_000).filter(is_free);
        let ports = [(); 3].map(|()| free.next().expect("three of a thousand ports are free"));
        let folder = tempfile::tempdir_in(folder).unwrap_or_else(|error| panic!("--data: {error}"));
        let etcd = Self { folder, ports, process: Mutex::new(None) };
        etcd.start();
        etcd
    }

    /// Starts it, with the data that it has, and waits until it answers.
    pub fn start(&self) {
        let [client, peer, metrics] = self.ports.map(|port| format!("http://127.0.0.1:{port}"));
        let log = File::options().create(true).append(true).open(self.folder.path().join("log")).unwrap();
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(self.folder.path().join("data")).args(["--name", "bench"]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("bench={peer}"), "--listen-metrics-urls", &metrics]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let install = "etcd cannot be started (Debian: apt-get install etcd-server etcd-client)";
        *self.process.lock().unwrap() = Some(child.unwrap_or_else(|error| panic!("{install}: {error}")));
        until("etcd answers", || {
            self.metrics().is_some_and(|metrics| metrics.contains("etcd_server_has_leader 1"))
        });
    }

    /// `kill -9`.
    pub fn kill(&self) {
        if let Some(mut child) = self.process.lock().unwrap().take() {
            child.kill().unwrap();
            limit::end_of(&mut child, "etcd");
        }
    }

    /// Where it is reached.
    pub fn endpoint(&self) -> String {
        format!("127.0.0.1:{}", self.ports[0])
    }

    /// How many messages it was sent so far, requests and parts of streams.
    pub fn requests(&self) -> u64 {
        self.requests_of_each().values().sum()
    }

    /// Likewise, of each kind.
    pub fn requests_of_each(&self) -> BTreeMap<String, u64> {
        let metrics = until_some("etcd says what it counts", || self.metrics());
        let lines = metrics
            .lines()
            .filter_map(|line| line.strip_prefix("grpc_server_msg_received_total{grpc_method=\""));
        let of_each = lines.filter_map(|line| {
            let (method, rest) = line.split_once('"')?;
            Some((method.to_owned(), rest.rsplit(' ').next()?.parse().ok()?))
        });
        of_each.collect()
    }

    fn metrics(&self) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports[2])).ok()?;
        stream.set_read_timeout(Some(limit::seconds(5))).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// etcdctl, at this etcd.
    pub fn ctl(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.endpoint()]).args(arguments);
        command
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        if let Some(child) = self.process.lock().unwrap().as_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
