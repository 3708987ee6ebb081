//! A network of a test's own: stations in network namespaces, each with a cable to one switch. A direction between two stations is cut, or a
//! cable is pulled out.
//!
//! The test's thread has a network namespace too, and the switch is in it. So all of that goes with the test, however it ends.

use nix::{
    libc,
    sched::{CloneFlags, setns, unshare},
};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
    process::{Command, Stdio},
};
use support::{
    actor::{Actor, hear, say},
    limit, namespace,
};

/// Of Linux; `nix` has no name for it.
const NEW_TIME: CloneFlags = CloneFlags::from_bits_retain(libc::CLONE_NEWTIME);
/// How large a station's own file system in memory is, if it has one.
const MEMORY: u64 = 256 << 20;

/// Runs `act` on a thread whose network is its own. Where that cannot be it says so, and what to do, and returns `None`.
pub fn alone<R: Send>(act: impl FnOnce() -> R + Send) -> Option<R> {
    let done = support::elsewhere(|| {
        is_possible()?;
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| {
            format!("no network namespace of my own ({errno}): run it as root, or with `unshare --map-root-user --net`")
        })?;
        Ok(act())
    });
    // Past the test harness, which keeps what is printed by a test that goes well.
    done.map_err(|why: String| {
        drop(writeln!(io::stderr(), "LEFT OUT, since this machine does not allow it: {why}"))
    })
    .ok()
}

/// Returns what is missing, and how to get it.
fn is_possible() -> Result<(), String> {
    let programs = [
        ("etcd", "etcd-server"),
        ("etcdctl", "etcd-client"),
        ("ip", "iproute2"),
        ("bridge", "iproute2"),
        ("nsenter", "util-linux"),
        ("setpriv", "util-linux"),
    ];
    for (program, package) in programs {
        let mut command = Command::new(program);
        command.arg("--help").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        limit::status(&mut command)
            .map_err(|error| format!("{program}: {error} (Debian: apt-get install {package})"))?;
    }
    Ok(())
}

/// A machine at the switch: a process keeps its namespaces.
pub struct Station {
    keeper: Actor,
    number: usize,
    own: Own,
}

/// What a station has besides its network.
#[derive(Default)]
pub struct Own {
    /// A file system in memory, here.
    pub memory: Option<PathBuf>,
    /// Its `CLOCK_BOOTTIME` is ahead of this machine's by so many seconds; 0: it is the same.
    pub booted_earlier: u64,
}

/// The role: keeps a station's namespaces until it is dismissed. Words: as in [`Own`].
pub fn keeper(words: &[String]) {
    let made = make_namespaces(&words[0], words[1].parse().unwrap());
    say(made.as_ref().map_or_else(String::as_str, |()| "apart"));
    loop {
        hear();
    }
}

fn make_namespaces(memory: &str, booted_earlier: u64) -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| format!("a network namespace: {errno}"))?;
    if !memory.is_empty() {
        namespace::have_private_mounts()?;
        namespace::mount_memory(memory.as_ref(), MEMORY)?;
    }
    if booted_earlier > 0 {
        unshare(NEW_TIME).map_err(|errno| format!("a time namespace: {errno}"))?;
        fs::write("/proc/self/timens_offsets", format!("boottime {booted_earlier} 0"))
            .map_err(|error| format!("the clock of a time namespace: {error}"))?;
    }
    Ok(())
}

/// This process, which has one thread, gets the clock of the station that this one keeps.
pub fn enter_time(keeper: &str) {
    let namespace = File::open(format!("/proc/{keeper}/ns/time_for_children")).expect("the station is there");
    setns(namespace, NEW_TIME).expect("root may enter a time namespace");
}

impl Station {
    /// The number of the process that keeps it.
    pub fn pid(&self) -> u32 {
        self.keeper.pid()
    }

    pub fn address(&self) -> String {
        address(self.number)
    }

    /// A program that runs there, and ends when this thread does.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let mut has = |option: &str, kind: &str, is_own: bool| {
            if is_own {
                command.arg(format!("{option}=/proc/{}/ns/{kind}", self.pid()));
            }
        };
        has("--net", "net", true);
        has("--mount", "mnt", self.own.memory.is_some());
        has("--time", "time_for_children", self.has_own_clock());
        command.args(["setpriv", "--pdeathsig", "KILL", program]).stdin(Stdio::null());
        command
    }

    /// Whether its clock is another than this machine's.
    pub fn has_own_clock(&self) -> bool {
        self.own.booted_earlier > 0
    }

    /// Its own file system, as this process sees it.
    pub fn memory(&self) -> PathBuf {
        let inside = self.own.memory.as_ref().expect("a station that has one");
        PathBuf::from(format!("/proc/{}/root{}", self.pid(), inside.display()))
    }

    /// Has its keeper stay, which else ends after ten minutes.
    pub fn is_needed(&mut self) {
        self.keeper.tell("stay");
    }

    /// Runs `act` on a thread in its network.
    pub fn within<R: Send>(&self, act: impl FnOnce() -> R + Send) -> R {
        let path = format!("/proc/{}/ns/net", self.pid());
        support::elsewhere(|| {
            setns(File::open(path).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            act()
        })
    }

    fn ip(&self, words: &[&str]) -> Result<(), String> {
        run(&["nsenter", "--net", "--target", &self.pid().to_string(), "ip"], words)
    }
}

fn address(number: usize) -> String {
    format!("10.77.0.{}", number + 1)
}

fn hardware_address(number: usize) -> String {
    format!("02:00:00:00:00:{:02x}", number + 1)
}

/// One that no station has.
const NO_ONE: &str = "02:00:00:00:01:00";

/// The switch.
pub struct Switch {
    /// How many stations there will be.
    count: usize,
}

impl Switch {
    /// In the network of this thread.
    pub fn new(count: usize) -> Result<Self, String> {
        run(&["ip"], &["link", "set", "lo", "up"])?;
        run(&["ip"], &["link", "add", "switch", "type", "bridge"])?;
        run(&["ip"], &["address", "add", "10.77.0.250/24", "dev", "switch"])?;
        run(&["ip"], &["link", "set", "switch", "up"])?;
        Ok(Self { count })
    }

    /// Lays a cable to a new station. Stations are numbered from 0. Each knows the hardware addresses of all others for good, so that what
    /// goes from one to another depends on that alone.
    pub fn station(&self, number: usize, own: Own) -> Result<Station, String> {
        let folder = own.memory.as_ref().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        let mut keeper = Actor::start("keeper", &[&folder, &own.booted_earlier.to_string()]);
        let said = keeper.hear();
        if said != "apart" {
            return Err(said);
        }
        let station = Station { keeper, number, own };
        let (port, pid) = (format!("port{number}"), station.pid().to_string());
        let (address, hardware) = (format!("{}/24", address(number)), hardware_address(number));
        let pair = ["link", "add", &port, "type", "veth", "peer", "name", "eth0", "address", &hardware];
        run(&["ip"], &[&pair[..], &["netns", &pid]].concat())?;
        run(&["ip"], &["link", "set", &port, "master", "switch", "up"])?;
        station.ip(&["link", "set", "lo", "up"])?;
        station.ip(&["address", "add", &address, "dev", "eth0"])?;
        station.ip(&["link", "set", "eth0", "up"])?;
        for other in (0..self.count).filter(|other| *other != number) {
            station.knows(other, &hardware_address(other))?;
        }
        Ok(station)
    }

    /// What `from` sends to `to` is lost from now on, unnoticed by both.
    pub fn cut(&self, from: &Station, to: &Station) {
        from.knows(to.number, NO_ONE).unwrap();
    }

    /// It arrives again.
    pub fn heal(&self, from: &Station, to: &Station) {
        from.knows(to.number, &hardware_address(to.number)).unwrap();
    }

    /// Pulls the cable of a station out.
    pub fn pull(&self, station: &Station) {
        run(&["ip"], &["link", "set", &format!("port{}", station.number), "down"]).unwrap();
    }

    /// Puts it in again.
    pub fn plug(&self, station: &Station) {
        run(&["ip"], &["link", "set", &format!("port{}", station.number), "up"]).unwrap();
    }
}

impl Station {
    fn knows(&self, other: usize, hardware: &str) -> Result<(), String> {
        let entry = ["neighbour", "replace", &address(other), "lladdr", hardware, "dev", "eth0"];
        self.ip(&[&entry[..], &["nud", "permanent"]].concat())
    }
}

fn run(prefix: &[&str], words: &[&str]) -> Result<(), String> {
    let all = [prefix, words].concat();
    let done = limit::output(Command::new(all[0]).args(&all[1..]))
        .map_err(|error| format!("{}: {error}", all[0]))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(()) } else { Err(format!("{}: {}", all.join(" "), said.trim())) }
}
