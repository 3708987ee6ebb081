//! Three members of etcd and three hosts at one switch, and what their programs wrote down.

use crate::{
    cables::{Station, Switch},
    check::{self, Seen},
    clock::WrongClock,
    history::History,
    host::{Agency, Host},
    member::{MEMBERS, Member},
    program::now,
    register::Register,
};
use nix::sys::signal::Signal;
use std::{fs, process::Command, thread, time::Duration};
use support::{limit, watchdog};

/// How many hosts there are.
pub const HOSTS: usize = 3;
/// How many programs each has.
const PROGRAMS: usize = 2;
/// How often is looked whether an agent has ended.
const LOOK: Duration = Duration::from_millis(20);

pub struct World {
    pub members: Vec<Member>,
    pub hosts: Vec<Host>,
    switch: Switch,
    folder: tempfile::TempDir,
    is_leased: bool,
    /// How many programs were started.
    numbers: u64,
    /// The cables that are out, and the directions that are cut, by the numbers of the stations.
    out: Vec<usize>,
    cuts: Vec<(usize, usize)>,
    pub clock: Option<WrongClock>,
}

impl World {
    /// One whose agents have begun, and no program yet.
    ///
    /// # Errors
    /// It cannot be here.
    pub fn begin(is_leased: bool, agencies: [Agency; HOSTS]) -> Result<Self, String> {
        let switch = Switch::new(MEMBERS + HOSTS)?;
        let members =
            (0..MEMBERS).map(|place| Member::begin(&switch, place, &[])).collect::<Result<Vec<_>, _>>()?;
        let answers = || members.iter().all(Member::answers);
        support::until("the members have a leader", answers);
        let hosts = agencies.into_iter().enumerate();
        let hosts =
            hosts.map(|(place, agency)| Host::begin(&switch, place, agency)).collect::<Result<_, _>>()?;
        let folder = tempfile::tempdir().unwrap();
        Register::create(&folder.path().join("register"));
        let (out, cuts) = (Vec::new(), Vec::new());
        Ok(Self { members, hosts, switch, folder, is_leased, numbers: 0, out, cuts, clock: None })
    }

    /// Has each host have its programs again.
    pub fn start_programs(&mut self) {
        (0..HOSTS).for_each(|host| self.start_programs_at(host));
    }

    /// Has this host have them.
    pub fn start_programs_at(&mut self, host: usize) {
        let host = &mut self.hosts[host];
        while host.programs.len() < PROGRAMS {
            self.numbers += 1;
            host.start_program(self.folder.path(), self.numbers, self.is_leased);
        }
    }

    /// A station, by its number: members first.
    fn station(&self, number: usize) -> &Station {
        match number.checked_sub(MEMBERS) {
            None => &self.members[number].station,
            Some(host) => &self.hosts[host].station,
        }
    }

    /// What `from` sends to `to` is lost, until [`World::heal`].
    pub fn cut(&mut self, from: usize, to: usize) {
        self.switch.cut(self.station(from), self.station(to));
        self.cuts.push((from, to));
    }

    /// The cable of a station is out, until [`World::heal`].
    pub fn pull(&mut self, number: usize) {
        self.switch.pull(self.station(number));
        self.out.push(number);
    }

    /// The member that says that it is the leader; another one if none does.
    pub fn leader(&self) -> usize {
        self.members.iter().position(Member::is_leader).unwrap_or(0)
    }

    /// Ends all that [`crate::faults`] has begun.
    pub fn heal(&mut self) {
        self.clock = None;
        for (from, to) in std::mem::take(&mut self.cuts) {
            self.switch.heal(self.station(from), self.station(to));
        }
        for number in std::mem::take(&mut self.out) {
            self.switch.plug(self.station(number));
        }
        for member in &mut self.members {
            member.empty_disk();
            if member.is_stopped {
                member.signal(Signal::SIGCONT);
            }
            if !member.is_running() {
                member.start();
            }
        }
        self.hosts.iter_mut().for_each(Host::resume_agent);
        self.start_programs();
    }

    /// Looks after the agents for so long.
    pub fn goes_on(&mut self, so_long: Duration) {
        let until = now() + so_long.as_nanos() as u64;
        while now() < until {
            self.tend();
            thread::sleep(LOOK);
        }
    }

    /// Waits until a program of each host has entered since this moment. Returns how long it took.
    pub fn until_each_host_is_in(&mut self) -> Duration {
        let since = now();
        let limit = limit::seconds(100).as_nanos() as u64;
        loop {
            let out: Vec<_> = self.hosts.iter().filter(|host| host.entered_last() <= since).collect();
            if out.is_empty() {
                watchdog::sign_of_life();
                self.members.iter_mut().for_each(|member| member.station.is_needed());
                self.hosts.iter_mut().for_each(|host| host.station.is_needed());
                return Duration::from_nanos(now() - since);
            }
            if now() > since + limit {
                let said: Vec<_> = out.iter().map(|host| format!("{}: {}", host.name, host.said())).collect();
                let words: Vec<_> = self.members.iter().map(Member::last_words).collect();
                panic!("no program of these hosts got in again: {said:#?}\nmembers: {words:#?}");
            }
            self.tend();
            thread::sleep(LOOK);
        }
    }

    /// Stops the agent of this host while its lock is home: it stays home then.
    pub fn stop_at_home(&mut self, host: usize) {
        support::until("the lock is home where the agent is stopped", || {
            self.goes_on(LOOK);
            self.hosts[host].signal_agent(Signal::SIGSTOP);
            // What was under way has ended by then.
            self.goes_on(Duration::from_millis(300));
            let since = now();
            self.goes_on(Duration::from_millis(100));
            let is_home = self.hosts[host].entered_last() > since;
            if !is_home {
                self.hosts[host].resume_agent();
            }
            is_home
        });
    }

    /// Waits until a program of another host than this one has entered since.
    pub fn until_another_is_in(&mut self, host: usize) {
        let since = now();
        support::until("another host has the lock too", || {
            self.goes_on(LOOK);
            self.hosts.iter().enumerate().any(|(at, other)| at != host && other.entered_last() > since)
        });
    }

    fn tend(&mut self) {
        for host in &mut self.hosts {
            host.tend().unwrap_or_else(|why| panic!("{why}"));
        }
    }

    /// Runs etcdctl at the first member that does it. Returns what it says, if one does.
    pub fn ctl(&self, arguments: &[&str]) -> Option<String> {
        self.members.iter().find_map(|member| {
            let endpoint = format!("{}:2379", member.station.address());
            // Not all of its commands have its limit.
            let mut command = Command::new("timeout");
            command.args(["--signal", "KILL", "5", "etcdctl"]);
            command.env("ETCDCTL_API", "3").env("ETCDCTL_ENDPOINTS", endpoint);
            command.args(["--command-timeout", "2s", "--dial-timeout", "1s"]).args(arguments);
            let output = limit::output(&mut command).unwrap();
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        })
    }

    /// Ends all leases before their time. Returns whether that was done.
    pub fn end_leases(&self) -> bool {
        let Some(said) = self.ctl(&["lease", "list"]) else { return false };
        // The first line says how many there are.
        let leases = said.lines().skip(1).map(str::trim).filter(|lease| !lease.is_empty());
        // One may have ended by itself.
        leases.filter(|lease| self.ctl(&["lease", "revoke", lease]).is_some()).count() > 0
    }

    /// What all programs wrote down, so far.
    pub fn history(&self) -> Result<History, String> {
        let mut history = History::default();
        for file in fs::read_dir(self.folder.path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if let Some((host, program)) = name.split_once('.') {
                history.add(host, program.parse().unwrap(), &fs::read_to_string(&path).unwrap())?;
            }
        }
        Ok(history)
    }

    /// Ends all programs. Returns whether what they wrote down can be.
    pub fn is_over(&mut self) -> (Result<Seen, String>, History) {
        self.hosts.iter_mut().for_each(Host::dismiss_programs);
        match self.history() {
            Ok(history) => (check::check(&history), history),
            Err(wrong) => (Err(wrong), History::default()),
        }
    }
}
