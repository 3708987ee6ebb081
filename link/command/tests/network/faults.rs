//! What is done to the hosts, to the members and to the network, until [`World::heal`].

use crate::{
    clock::{self, WrongClock},
    member::MEMBERS,
    world::{HOSTS, World},
};
use nix::sys::signal::Signal;
use support::Dice;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing goes from a host to any member, nor back.
    HostCutOff,
    /// What a host sends is lost.
    HostMute,
    /// What a host is sent is lost.
    HostDeaf,
    /// The cable of a host is out.
    HostUnplugged,
    /// Nothing goes from the leader to the other members, nor back; the hosts reach it.
    LeaderCutOff,
    /// What the leader sends to the other members is lost.
    LeaderMute,
    /// What the leader is sent by the other members is lost.
    LeaderDeaf,
    /// The cable of the leader is out.
    LeaderUnplugged,
    LeaderKilled,
    LeaderStopped,
    LeaderDiskFull,
    MemberUnplugged,
    MemberKilled,
    MemberStopped,
    MemberDiskFull,
    /// All members are killed.
    MembersKilled,
    /// Revisions are compacted up to the present one.
    Compacted,
    /// All leases are ended before their time.
    LeasesEnded,
    AgentStopped,
    AgentKilled,
    ProgramKilled,
    /// `CLOCK_REALTIME` of all is set forward.
    ClockAhead,
    /// It is set back.
    ClockBehind,
}

impl Fault {
    pub const ALL: [Self; 23] = [
        Self::HostCutOff,
        Self::HostMute,
        Self::HostDeaf,
        Self::HostUnplugged,
        Self::LeaderCutOff,
        Self::LeaderMute,
        Self::LeaderDeaf,
        Self::LeaderUnplugged,
        Self::LeaderKilled,
        Self::LeaderStopped,
        Self::LeaderDiskFull,
        Self::MemberUnplugged,
        Self::MemberKilled,
        Self::MemberStopped,
        Self::MemberDiskFull,
        Self::MembersKilled,
        Self::Compacted,
        Self::LeasesEnded,
        Self::AgentStopped,
        Self::AgentKilled,
        Self::ProgramKilled,
        Self::ClockAhead,
        Self::ClockBehind,
    ];

    /// Whether it happens to no one but those that the test started, or was asked for.
    pub fn is_allowed(self) -> bool {
        !matches!(self, Self::ClockAhead | Self::ClockBehind) || clock::may_be_set()
    }

    /// Begins it. Returns whether it came about.
    pub fn begins(self, world: &mut World, dice: &mut Dice) -> bool {
        let host = dice.roll(HOSTS as u64) as usize;
        let (member, leader) = (dice.roll(MEMBERS as u64) as usize, world.leader());
        let cut = |world: &mut World, from: &[usize], to: &[usize]| {
            for (from, to) in from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to))) {
                world.cut(from, to);
            }
        };
        let members: Vec<_> = (0..MEMBERS).collect();
        let others: Vec<_> = (0..MEMBERS).filter(|other| *other != leader).collect();
        let station = MEMBERS + host;
        match self {
            Self::HostCutOff => {
                cut(world, &[station], &members);
                cut(world, &members, &[station]);
            }
            Self::HostMute => cut(world, &[station], &members),
            Self::HostDeaf => cut(world, &members, &[station]),
            Self::HostUnplugged => world.pull(station),
            Self::LeaderCutOff => {
                cut(world, &[leader], &others);
                cut(world, &others, &[leader]);
            }
            Self::LeaderMute => cut(world, &[leader], &others),
            Self::LeaderDeaf => cut(world, &others, &[leader]),
            Self::LeaderUnplugged => world.pull(leader),
            Self::LeaderKilled => world.members[leader].kill(),
            Self::LeaderStopped => world.members[leader].signal(Signal::SIGSTOP),
            Self::LeaderDiskFull => return fill_disk(world, leader),
            Self::MemberUnplugged => world.pull(member),
            Self::MemberKilled => world.members[member].kill(),
            Self::MemberStopped => world.members[member].signal(Signal::SIGSTOP),
            Self::MemberDiskFull => return fill_disk(world, member),
            Self::MembersKilled => members.iter().for_each(|member| world.members[*member].kill()),
            Self::Compacted => return compact(world),
            Self::LeasesEnded => return world.end_leases(),
            Self::AgentStopped => world.hosts[host].signal_agent(Signal::SIGSTOP),
            Self::AgentKilled => world.hosts[host].exchange_agent(),
            Self::ProgramKilled => return kill_one_inside(world, host),
            Self::ClockAhead | Self::ClockBehind => {
                // One that is wrong already is right first.
                world.clock = None;
                world.clock = Some(WrongClock::set(self == Self::ClockAhead));
            }
        }
        true
    }
}

/// Writes until the disk that is full was needed. Returns whether the member ended for that.
fn fill_disk(world: &mut World, member: usize) -> bool {
    /// What is written at a time: an argument may be as long.
    const VALUE: usize = 100_000;
    const TIMES: u32 = 60;
    world.members[member].fill_disk();
    let value = "x".repeat(VALUE);
    for _ in 0..TIMES {
        if !world.members[member].is_running() {
            return true;
        }
        world.ctl(&["put", "other", &value]);
    }
    false
}

fn compact(world: &World) -> bool {
    let Some(json) = world.ctl(&["put", "other", "x", "--write-out", "json"]) else { return false };
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let revision = json["header"]["revision"].to_string();
    world.ctl(&["compact", &revision]).is_some()
}

/// A program is seen inside now and then.
fn kill_one_inside(world: &mut World, first: usize) -> bool {
    (0..1_000).any(|time| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        world.hosts[(first + time) % HOSTS].kill_one_inside()
    })
}
