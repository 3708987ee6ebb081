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
    sync::Mutex,
    time::Duration,
};
use support::{limit, until, until_some};

/// One member, on loopback, with its data in a folder that ends with it.
pub struct Etcd {
    folder: tempfile::TempDir,
    client: u16,
    peer: u16,
    metrics: u16,
    /// Its certificate and key, if it speaks TLS.
    tls: Option<(PathBuf, PathBuf)>,
    process: Mutex<Child>,
}

/// Returns one that answers. `None`: etcd is not installed, which it says.
pub fn etcd() -> Option<Etcd> {
    etcd_with(|_| None)
}

/// Likewise, with what `tls` makes in its folder: its certificate and key.
pub fn etcd_with(tls: impl FnOnce(&Path) -> Option<(PathBuf, PathBuf)>) -> Option<Etcd> {
    let is_there = ["etcd", "etcdctl"].iter().all(|program| {
        Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    });
    if !is_there {
        // Past the harness, which keeps what is printed until a test fails.
        let what = "skipped, etcd is missing (Debian: apt-get install etcd-server etcd-client)";
        let _ = writeln!(std::io::stderr(), "{}: {what}", std::thread::current().name().unwrap_or("a test"));
        return None;
    }
    support::watchdog::a_test_begins();
    // In memory: what a busy disk takes to write would be what the tests wait for.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let tls = tls(folder.path());
    Some(Etcd::begin(folder, tls))
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Etcd {
    fn begin(folder: tempfile::TempDir, tls: Option<(PathBuf, PathBuf)>) -> Self {
        let [client, peer, metrics] = [(); 3].map(|()| free_port());
        let process = Mutex::new(start(folder.path(), [client, peer, metrics], tls.as_ref()));
        let etcd = Self { folder, client, peer, metrics, tls, process };
        etcd.until_it_answers();
        etcd
    }

    fn until_it_answers(&self) {
        until("etcd answers", || {
            // Another process may have taken a port before it did.
            let ended = self.process.lock().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "etcd has ended ({ended:?}): see {}", self.folder.path().display());
            self.metrics().is_some_and(|metrics| metrics.contains("etcd_server_has_leader 1"))
        });
    }

    /// The folder of its data and its certificates.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where it is reached.
    pub fn endpoint(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.client)
    }

    /// What it counts; `None` if it does not say within a moment.
    fn metrics(&self) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.metrics)).ok()?;
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
        kill(Pid::from_raw(self.process.lock().unwrap().id() as i32), signal).unwrap();
    }

    /// `kill -9`.
    pub fn kill(&self) {
        let mut process = self.process.lock().unwrap();
        process.kill().unwrap();
        limit::end_of(&mut process, "etcd");
    }

    /// Starts it again, with the data that it has.
    pub fn restart(&self) {
        *self.process.lock().unwrap() =
            start(self.folder.path(), [self.client, self.peer, self.metrics], self.tls.as_ref());
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
        let _ = process.kill();
        // No panic here: one may be under way.
        let _ = limit::within(Duration::from_secs(20), || process.try_wait().ok().flatten());
    }
}

fn start(folder: &Path, [client, peer, metrics]: [u16; 3], tls: Option<&(PathBuf, PathBuf)>) -> Child {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let (client, peer) = (format!("{scheme}://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new("etcd");
    command.arg("--data-dir").arg(folder.join("data"));
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
    command.arg("--initial-cluster").arg(format!("default={peer}"));
    command.arg("--listen-metrics-urls").arg(format!("http://127.0.0.1:{metrics}"));
    if let Some((certificate, key)) = tls {
        command.arg("--cert-file").arg(certificate).arg("--key-file").arg(key);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}
