//! What is measured: the scenarios, and the cells of each.

/// What a worker does over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Lock and unlock, without another contender.
    Alone,
    /// Lock, section, unlock, think.
    Turns,
    /// Lock, section, unlock, nothing between; it is counted how often the lock came from another process.
    Relay,
    /// Hold until all others want the lock, then for the section, and time from the unlock to the next one's entry.
    HandOver,
    /// Lock, section, unlock, and a sleep shorter than the section, so that the lock goes to a waiter; time from
    /// the unlock to the next one's entry. No process spins but in the lock.
    Sleepers,
    /// Lock, section, unlock, and a short sleep after every few entries, until the worker's share of the entries is done.
    Crowd { share: u64 },
}

/// Processes that compute without end beside the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hogs {
    None,
    OneOnEachCore,
    /// So many, spread over the cores.
    Number(usize),
}

/// The number by which contenders of a cell are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Processor time for lock + unlock, in nanoseconds: less is better. No process waits, so this is the time it
    /// takes, less what other programs took from us.
    Cost,
    /// Entries each second, of all processes together: more is better.
    Rate,
    /// The median of the hand-overs, in nanoseconds: less is better.
    Latency,
    /// The time for each hand-over, everything included, in nanoseconds: less is better.
    Pace,
}

impl Measure {
    pub fn less_is_better(self) -> bool {
        self != Self::Rate
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::Cost => "processor time for lock + unlock, ns",
            Self::Rate => "entries each second",
            Self::Latency => "unlock to entry, ns",
            Self::Pace => "time for each hand-over, ns",
        }
    }
}

#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub about: &'static str,
    pub shape: Shape,
    /// Work inside the section, beside the two protected words, and between two sections: nanoseconds of processor
    /// time.
    pub inside: u64,
    pub outside: u64,
    pub hogs: Hogs,
    /// Reading a clock at each entry would be seen in the result, so waits are timed in a window of their own.
    pub times_apart: bool,
    /// Processes, and participants that have a slot (the others are idle; 0 = as many as processes).
    pub sizes: &'static [(usize, usize)],
}

const BY_PROCESSES: &[(usize, usize)] = &[(2, 0), (4, 0), (8, 0), (16, 0)];

pub static SCENARIOS: [Scenario; 10] = [
    Scenario {
        name: "uncontended",
        about: "one process locks and unlocks, no other wants the lock",
        shape: Shape::Alone,
        inside: 0,
        outside: 0,
        hogs: Hogs::None,
        times_apart: true,
        sizes: &[(1, 1), (1, 8), (1, 64), (1, 128)],
    },
    Scenario {
        name: "burst",
        about: "every process wants the lock all the time, for an empty section (two words)",
        shape: Shape::Turns,
        inside: 0,
        outside: 0,
        hogs: Hogs::None,
        times_apart: true,
        sizes: &[(2, 0), (4, 0), (8, 0), (16, 0), (2, 128), (8, 128)],
    },
    Scenario {
        name: "think",
        about: "2 us of computing between short sections (100 ns), in processor time",
        shape: Shape::Turns,
        inside: 100,
        outside: 2_000,
        hogs: Hogs::None,
        times_apart: true,
        sizes: BY_PROCESSES,
    },
    Scenario {
        name: "long-20us",
        about: "sections of 20 us, nothing between",
        shape: Shape::Turns,
        inside: 20_000,
        outside: 0,
        hogs: Hogs::None,
        times_apart: false,
        sizes: BY_PROCESSES,
    },
    Scenario {
        name: "long-1ms",
        about: "sections of 1 ms, nothing between",
        shape: Shape::Turns,
        inside: 1_000_000,
        outside: 0,
        hogs: Hogs::None,
        times_apart: false,
        sizes: BY_PROCESSES,
    },
    Scenario {
        name: "preempted",
        about: "sections of 50 us while every core also computes something else, so that holders lose their core",
        shape: Shape::Turns,
        inside: 50_000,
        outside: 0,
        hogs: Hogs::OneOnEachCore,
        times_apart: false,
        sizes: BY_PROCESSES,
    },
    Scenario {
        name: "hand-over",
        about: "unlock to the next one's entry, after 1 us inside while all others wait: short enough to spin",
        shape: Shape::HandOver,
        inside: 1_000,
        outside: 0,
        hogs: Hogs::None,
        times_apart: false,
        sizes: &[(2, 0)],
    },
    Scenario {
        name: "hand-over-asleep",
        about: "unlock to the next one's entry, after 50 us inside while all others wait: long enough to sleep",
        shape: Shape::HandOver,
        inside: 50_000,
        outside: 0,
        hogs: Hogs::None,
        times_apart: false,
        sizes: BY_PROCESSES,
    },
    Scenario {
        name: "sleepers",
        about: "unlock to the next one's entry, after 50 us inside; each then sleeps 20 us (one wake-up of its own)",
        shape: Shape::Sleepers,
        inside: 50_000,
        outside: 0,
        hogs: Hogs::None,
        times_apart: false,
        sizes: &[(2, 0), (4, 0), (8, 0)],
    },
    Scenario {
        name: "sleepers-beside-four",
        about: "the same while four programs compute without end",
        shape: Shape::Sleepers,
        inside: 50_000,
        outside: 0,
        hogs: Hogs::Number(4),
        times_apart: false,
        sizes: &[(2, 0), (4, 0), (8, 0)],
    },
];

impl Scenario {
    pub fn measure(&self) -> Measure {
        match self.shape {
            Shape::Alone => Measure::Cost,
            Shape::Turns | Shape::Crowd { .. } => Measure::Rate,
            Shape::HandOver | Shape::Sleepers => Measure::Latency,
            Shape::Relay => Measure::Pace,
        }
    }

    /// How often it is measured in a round. What takes little time is worth several looks: where a core has neighbours,
    /// its speed changes from one tenth of a second to the next.
    pub fn repeats(&self) -> usize {
        if self.shape == Shape::Alone { 3 } else { 1 }
    }

    pub fn cells(&'static self) -> impl Iterator<Item = Cell> {
        let cell = move |&(processes, slots): &(usize, usize)| Cell {
            scenario: self,
            processes,
            slots: slots.max(processes),
            machines: None,
        };
        self.sizes.iter().map(cell)
    }
}

/// A scenario, with so many processes and slots in use: one table.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub scenario: &'static Scenario,
    pub processes: usize,
    pub slots: usize,
    /// How many participants the lock file is made for, if not the default number.
    pub machines: Option<u32>,
}

impl Cell {
    /// Participants that are attached and do nothing.
    pub fn idle(&self) -> usize {
        self.slots - self.processes
    }

    pub fn is(&self, scenario: &str, processes: usize, slots: usize) -> bool {
        self.scenario.name == scenario && self.processes == processes && self.slots == slots
    }

    pub fn title(&self) -> String {
        let plural = |count, what| format!("{count} {what}{}", if count == 1 { "" } else { "es" });
        let slots = if self.slots == 1 { "1 slot".into() } else { format!("{} slots", self.slots) };
        let machines = self.machines.map_or(String::new(), |machines| format!(" of {machines}"));
        format!("{}, {}, {slots}{machines} in use", self.scenario.name, plural(self.processes, "process"))
    }
}
