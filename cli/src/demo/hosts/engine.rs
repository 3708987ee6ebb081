//! An etcd of the demo's own: one member, on loopback, with its data in the demo's folder.

use super::process::{Guard, Process};
use std::{
    env,
    fs::{self, File},
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    time::Duration,
};

/// How long it may take for an answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The engine.
pub struct Engine {
    program: PathBuf,
    folder: PathBuf,
    /// For clients, and for other members, of which there are none.
    ports: [u16; 2],
    process: Option<Process>,
}

impl Engine {
    /// One that is not started yet, on ports that are free.
    pub fn new(program: &Path, folder: &Path) -> Result<Self, String> {
        // Below those that the kernel gives to connections, which would take one while etcd is away; from others in each process, and not those of
        // this project's tests, which run many.
        let from = (process::id() % 100 * 20) as u16;
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let mut free = (0..2_000).map(|next| 30_000 + (from + next) % 2_000).filter(is_free);
        let (Some(client), Some(peer)) = (free.next(), free.next()) else {
            return Err("there are no two free ports on 127.0.0.1".into());
        };
        let ports = [client, peer];
        Ok(Self { program: program.into(), folder: folder.join("etcd"), ports, process: None })
    }

    /// Returns where it is reached.
    pub fn endpoint(&self) -> String {
        format!("127.0.0.1:{}", self.ports[0])
    }

    /// Starts it, with the data that it has, and does not wait.
    pub fn start(&mut self, guard: &mut Guard) -> Result<(), String> {
        let problem = |error| format!("{}: {error}", self.log().display());
        fs::create_dir_all(&self.folder).map_err(problem)?;
        let log = File::options().create(true).append(true).open(self.log()).map_err(problem)?;
        let [client, peer] = self.ports.map(|port| format!("http://127.0.0.1:{port}"));
        let mut command = Command::new(&self.program);
        // What the environment says is of another one.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD_")) {
            command.env_remove(name);
        }
        command.arg("--data-dir").arg(self.folder.join("data")).args(["--name", "demo"]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("demo={peer}")]);
        command.stdin(Stdio::null()).stdout(log.try_clone().map_err(problem)?).stderr(log);
        self.process = Some(Process::start(&mut command, guard)?);
        Ok(())
    }

    /// Returns whether it answers.
    ///
    /// # Errors
    /// It has ended: what it said last.
    pub fn answers(&self) -> Result<bool, String> {
        if let Some(how) = self.process.as_ref().and_then(Process::end) {
            let said = fs::read_to_string(self.log()).unwrap_or_default();
            let last = said.lines().last().unwrap_or("it said nothing");
            return Err(format!("etcd ended ({how}): {last}"));
        }
        Ok(self.health().is_some_and(|said| said.contains("\"health\":\"true\"")))
    }

    fn health(&self) -> Option<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports[0])).ok()?;
        stream.set_read_timeout(Some(ANSWER)).ok()?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").ok()?;
        let mut said = String::new();
        stream.read_to_string(&mut said).ok()?;
        Some(said)
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.process = None;
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }
}
