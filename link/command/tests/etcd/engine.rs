//! An etcd of a test's own.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicU16, Ordering::Relaxed},
    },
    time::Duration,
};
use support::{limit, until, until_some};

/// One member, on loopback, with its data in a folder that ends with it.
pub struct Etcd {
    folder: tempfile::TempDir,
    ports: Ports,
    /// The ports of all members of its cluster, of which it is the one of this place.
    cluster: Vec<Ports>,
    place: usize,
    /// Its certificate and key, if it speaks TLS.
    tls: Option<(PathBuf, PathBuf)>,
    process: Mutex<Option<Child>>,
}

#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    peer: u16,
    metrics: u16,
}

/// Returns one that answers. `None`: etcd is not installed, which it says.
pub fn etcd() -> Option<Etcd> {
    etcd_with(|_| None)
}

/// Likewise, with what `tls` makes in its folder: its certificate and key.
pub fn etcd_with(tls: impl FnOnce(&Path) -> Option<(PathBuf, PathBuf)>) -> Option<Etcd> {
    is_installed().then(|| Etcd::begin(vec![Ports::free()], 0, tls)).inspect(Etcd::until_it_answers)
}

/// Returns a cluster of three.
pub fn cluster() -> Option<[Etcd; 3]> {
    if !is_installed() {
        return None;
    }
    let ports = vec![Ports::free(), Ports::free(), Ports::free()];
    let members = [0, 1, 2].map(|place| Etcd::begin(ports.clone(), place, |_| None));
    members.iter().for_each(Etcd::until_it_answers);
    Some(members)
}

fn is_installed() -> bool {
    let is_there = ["etcd", "etcdctl"].iter().all(|program| {
        limit::status(Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null())).is_ok()
    });
    if !is_there {
        // Past the harness, which keeps what is printed until a test fails.
        let what = "skipped, etcd is missing (Debian: apt-get install etcd-server etcd-client)";
        let _ = writeln!(std::io::stderr(), "{}: {what}", std::thread::current().name().unwrap_or("a test"));
        return false;
    }
    support::watchdog::a_test_begins();
    true
}

impl Ports {
    /// Below those that the kernel gives to connections.
    fn free() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let from = (std::process::id() % 100 * 200) as u16;
        let port = || {
            (0..1_000)
                .map(|_| 10_000 + (from + NEXT.fetch_add(1, Relaxed)) % 20_000)
                .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
                .expect("one of a thousand ports is free")
        };
        Self { client: port(), peer: port(), metrics: port() }
    }
}

impl Etcd {
    fn begin(
        cluster: Vec<Ports>,
        place: usize,
        tls: impl FnOnce(&Path) -> Option<(PathBuf, PathBuf)>,
    ) -> Self {
        // In memory: what a busy disk takes to write would be what the tests wait for.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let tls = tls(folder.path());
        let etcd = Self { folder, ports: cluster[place], cluster, place, tls, process: Mutex::new(None) };
        etcd.start();
        etcd
    }

    /// Starts it, and does not wait.
    pub fn start(&self) {
        let Ports { client, peer, metrics } = self.ports;
        let (client, peer) =
            (format!("{}://127.0.0.1:{client}", self.scheme()), format!("http://127.0.0.1:{peer}"));
        let all = self
            .cluster
            .iter()
            .enumerate()
            .map(|(at, ports)| format!("m{at}=http://127.0.0.1:{}", ports.peer));
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let mut command = Command::new("etcd");
        command
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .args(["--name", &format!("m{}", self.place)]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &all.collect::<Vec<_>>().join(",")]);
        command.arg("--listen-metrics-urls").arg(format!("http://127.0.0.1:{metrics}"));
        if let Some((certificate, key)) = &self.tls {
            command.arg("--cert-file").arg(certificate).arg("--key-file").arg(key);
        }
        let etcd = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        *self.process.lock().unwrap() = Some(etcd);
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Whether it is the leader of its cluster.
    pub fn is_leader(&self) -> bool {
        self.metrics().is_some_and(|metrics| metrics.contains("etcd_server_is_leader 1"))
    }

    /// Waits until it answers.
    pub fn until_it_answers(&self) {
        until("etcd answers", || {
            // Another process may have taken a port before it did.
            let ended = self.process.lock().unwrap().as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "etcd has ended ({ended:?}): see {}", self.folder.path().display());
            self.answers()
        });
    }

    /// Whether it knows of a leader.
    pub fn answers(&self) -> bool {
        self.metrics().is_some_and(|metrics| metrics.contains("etcd_server_has_leader 1"))
    }

    /// The folder of its data and its certificates.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where it is reached.
    pub fn endpoint(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme(), self.ports.client)
    }

    /// What it counts; `None` if it does not say within a moment.
    fn metrics(&self) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports.metrics)).ok()?;
        stream.set_read_timeout(Some(limit::seconds(5))).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// How many messages of each kind it was sent so far, requests and parts of streams.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        let metrics = until_some("etcd says what it counts", || self.metrics());
        let lines = metrics
            .lines()
            .filter_map(|line| line.strip_prefix("grpc_server_msg_received_total{grpc_method=\""));
        lines
            .map(|line| {
                let (method, rest) = line.split_once('"').unwrap();
                (method.to_owned(), rest.rsplit(' ').next().unwrap().parse().unwrap())
            })
            .collect()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.lock().unwrap().as_ref().unwrap().id() as i32), signal).unwrap();
    }

    /// `kill -9`.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap().take().unwrap();
        process.kill().unwrap();
        limit::end_of(&mut process, "etcd");
    }

    /// Starts it again, with the data that it has.
    pub fn restart(&self) {
        self.start();
        self.until_it_answers();
    }

    /// Runs etcdctl, and returns what it says.
    pub fn ctl(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("etcdctl");
        command.env("ETCDCTL_API", "3").env("ETCDCTL_ENDPOINTS", self.endpoint()).args(arguments);
        let output: Output = limit::output(&mut command).unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let mut process = self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(process) = process.as_mut() else { return };
        let _ = process.kill();
        // No panic here: one may be under way.
        let _ = limit::within(Duration::from_secs(20), || process.try_wait().ok().flatten());
    }
}
