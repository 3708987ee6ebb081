//! What must be true, at each step and at the end.

use crate::{
    host::OneHost,
    world::{Step, World, Wrong},
};
use std::collections::BTreeSet;
use turnlock_link_agent::{Data, Event, Mode};

impl World {
    /// A program wants the lock, and is admitted or not.
    pub fn enter(&mut self, at: usize) -> Result<(), Wrong> {
        let (now, admits_late) = (self.now, self.fault == Some(crate::fault::Fault::AdmitsAfterDeadline));
        let host = &mut self.hosts[at];
        let admits = host.admits(now)
            || admits_late && host.file.is_home && host.file.last_token < host.file.token_end;
        if !admits {
            host.file.is_wanted = true;
            return self.on(at, Event::Wanted);
        }
        host.file.last_token += 1;
        let (token, told) = (host.file.last_token, host.file.data != Data::Consistent);
        host.inside = Some(token);
        host.file.data = Data::Consistent;
        let name = host.name.clone();
        self.entries += 1;
        if token <= self.last_token {
            return Err(format!("{name} gave out token {token} after {}", self.last_token));
        }
        if self.is_torn && !told {
            return Err(format!("a program of {name} was not told of a death"));
        }
        if !self.has_the_privilege(at) {
            return Err(format!("a program was admitted at {name}, which has not the privilege"));
        }
        for other in self.hosts.iter().filter(|other| other.inside.is_some_and(|inside| inside < token)) {
            if !other.is_leased() {
                return Err("two inside".into());
            }
            if other.clock(now) < other.file.until.saturating_add(other.told_before()) {
                return Err(format!(
                    "a program at {name} came in too soon after one at {} was told",
                    other.name
                ));
            }
        }
        self.overtaken +=
            self.hosts.iter().filter(|other| other.inside.is_some_and(|inside| inside < token)).count()
                as u32;
        self.is_torn = false;
        self.last_token = token;
        self.on(at, Event::Used { last_token: token })
    }

    /// The program inside dies, and the next one is to be told, unless one that came in after it is: it was told itself that the lock is
    /// another's.
    pub fn die(&mut self, at: usize) {
        let host = &mut self.hosts[at];
        if let Some(token) = host.inside.take() {
            host.file.data = host.file.data.max(Data::Inconsistent);
            self.is_torn |= token == self.last_token;
        }
    }

    pub fn check(&self) -> Result<(), Wrong> {
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
        match &self.store.held {
            Some(held) => held.host == self.hosts[at].name,
            None => self.ends_early,
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
        let mut to_enter: BTreeSet<usize> = self.alive().into_iter().collect();
        for steps in 0..2_000 {
            // One that is set up for another mode is refused.
            to_enter.retain(|at| self.mode.is_none_or(|mode| mode == self.hosts[*at].config.mode));
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
            for at in to_enter.clone() {
                self.go(Step::Enter(at))?;
                if self.hosts[at].inside.is_some() {
                    to_enter.remove(&at);
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

    /// A person has a host forgotten that is gone with the privilege, which else it keeps.
    fn forget_what_is_gone(&mut self) {
        let has_it =
            |at: &usize| self.store.held.as_ref().is_some_and(|held| held.host == self.hosts[*at].name);
        if self.mode == Some(Mode::Kept) && self.gone.iter().any(has_it) {
            self.forget();
        }
    }
}
