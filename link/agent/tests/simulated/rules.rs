//! What must be true, at each step and at the end.

use crate::{
    host::{Inside, OneHost},
    world::{Step, World, Wrong},
};
use std::collections::BTreeSet;
use turnlock_link_agent::{Data, Event, Mode, Wish};

impl World {
    /// A program wants the lock, and is admitted or not.
    pub fn enter(&mut self, at: usize, wish: Wish) -> Result<(), Wrong> {
        let (now, admits_late) = (self.now, self.fault == Some(crate::fault::Fault::AdmitsAfterDeadline));
        let host = &mut self.hosts[at];
        if !(host.admits(wish, now) || admits_late && host.is_open_to(wish)) {
            host.file.wanted = host.file.wanted.max(Some(wish));
            return self.on(at, Event::Wanted { wish });
        }
        let told = host.file.data != Data::Consistent;
        if wish == Wish::Write {
            host.file.last_token += 1;
            host.file.data = Data::Consistent;
        }
        let token = host.file.last_token;
        host.inside = Some(Inside { token, wish });
        let name = host.name.clone();
        self.entries += 1;
        // A reader has one from that of the last writer up to what is below that of the next.
        let falls = match wish {
            Wish::Read => token < self.last_token,
            Wish::Write => token <= self.last_token.max(self.last_read),
        };
        if falls {
            return Err(format!(
                "{name} gave out token {token} after {} and {}",
                self.last_token, self.last_read
            ));
        }
        if self.is_torn && !told {
            return Err(format!("a program of {name} was not told of a death"));
        }
        if !self.has_the_privilege(at) {
            return Err(format!("a program was admitted at {name}, which has not the privilege"));
        }
        let others = self.hosts.iter().enumerate().filter(|(other, _)| *other != at);
        let inside: Vec<_> = others.filter_map(|(_, host)| Some((host, host.inside?))).collect();
        let is_beside = |theirs: &Inside| wish == Wish::Read && theirs.wish == Wish::Read;
        self.together += u32::from(inside.iter().any(|(_, theirs)| is_beside(theirs)));
        for (other, theirs) in inside.iter().filter(|(_, theirs)| !is_beside(theirs)) {
            // One that came in later was admitted rightly, and so is this one not.
            if !other.is_leased() || theirs.token > token {
                return Err(format!("two inside: {theirs:?} at {}, and {token} at {name}", other.name));
            }
            if other.clock(now) < other.file.until.saturating_add(other.told_before()) {
                return Err(format!(
                    "a program at {name} came in too soon after one at {} was told",
                    other.name
                ));
            }
            self.overtaken += 1;
        }
        if wish == Wish::Read {
            self.last_read = self.last_read.max(token);
            return Ok(());
        }
        self.is_torn = false;
        self.last_token = token;
        self.on(at, Event::Used { last_token: token })
    }

    /// The program inside dies, and if it wrote the next one is to be told, unless one that came in after it is: it was told itself that the
    /// lock is another's.
    pub fn die(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        if let Some(Inside { token, wish: Wish::Write }) = host.inside.take() {
            host.file.data = host.file.data.max(Data::Inconsistent);
            self.is_torn |= token == self.last_token;
        }
    }

    pub fn check(&self) -> Result<(), Wrong> {
        if let (Some(held), Some((reader, _))) = (&self.store.held, self.store.readers.first()) {
            return Err(format!("{} has the privilege, and {} has it to read", held.host, reader.host));
        }
        let is_open = |host: &OneHost| host.file.is_home && host.clock(self.now) < host.file.until;
        for (at, host) in self.hosts.iter().enumerate().filter(|(_, host)| is_open(host)) {
            if !self.has_the_privilege(at) {
                return Err(format!("the lock is home at {}, which has not the privilege", host.name));
            }
            if self.mode != Some(host.config.mode) {
                return Err(format!("the lock is home at {}, which has it in another mode", host.name));
            }
        }
        Ok(())
    }

    /// Whether a host has it; where the engine ends leases before their time, whether no other one has it.
    fn has_the_privilege(&self, at: usize) -> bool {
        let host = &self.hosts[at];
        match (&self.store.held, host.file.is_to_read) {
            (Some(held), is_to_read) => !is_to_read && held.host == host.name,
            (None, true) => self.ends_early || self.store.reader(&host.name).is_some(),
            (None, false) => self.ends_early && self.store.readers.is_empty(),
        }
    }

    /// From here on nothing fails: whoever wants the lock gets in, and soon. Returns how many steps that took.
    pub fn settles(&mut self) -> Result<u32, Wrong> {
        self.messages.append(&mut self.late);
        for at in self.alive() {
            self.hosts[at].cut_off = None;
            self.hosts[at].dies_amid = false;
            if self.hosts[at].stopped.is_some() {
                self.go(Step::Resume(at))?;
            }
            if self.hosts[at].agent.is_none() {
                self.go(Step::Start(at))?;
            }
        }
        let wishes = |at| self.wishes().iter().map(move |wish| (at, *wish));
        let mut to_enter: BTreeSet<(usize, Wish)> = self.alive().into_iter().flat_map(wishes).collect();
        for steps in 0..2_000 {
            // One that is set up for another mode is refused.
            to_enter.retain(|(at, _)| self.mode.is_none_or(|mode| mode == self.hosts[*at].config.mode));
            if to_enter.is_empty() {
                return Ok(steps);
            }
            if !self.messages.is_empty() {
                self.go(Step::Deliver(0))?;
                continue;
            }
            for at in self.alive() {
                if self.hosts[at].inside.is_some() {
                    self.go(Step::Leave(at))?;
                }
                if self.hosts[at].is_leaving {
                    self.go(Step::MoveAway(at))?;
                }
            }
            for (at, wish) in to_enter.clone() {
                self.go(Step::Enter(at, wish))?;
                if self.hosts[at].inside.is_some() {
                    to_enter.remove(&(at, wish));
                    self.go(Step::Leave(at))?;
                }
            }
            if self.messages.is_empty() {
                self.forget_what_is_gone();
                self.go(Step::Wait)?;
            }
        }
        Err(format!("{to_enter:?} want the lock, and do not get it: {self:#?}"))
    }

    fn alive(&self) -> Vec<usize> {
        (0..self.hosts.len()).filter(|at| !self.gone.contains(at)).collect()
    }

    /// A person has a host forgotten that is gone with the privilege, or that to read, which else it keeps.
    fn forget_what_is_gone(&mut self) {
        let has_it = |at: &usize| {
            let name = &self.hosts[*at].name;
            self.store.held.as_ref().is_some_and(|held| held.host == *name)
                || self.store.reader(name).is_some()
        };
        if self.mode == Some(Mode::Kept)
            && let Some(at) = self.gone.iter().copied().find(has_it)
        {
            self.forget_host(at);
        }
    }
}
