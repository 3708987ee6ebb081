//! The lock file: its linked semaphores, and what is done with them.

use crate::{desk, failure::Failure};
use std::{path::Path, sync::Arc};
use turnlock::{AnyLock, Error, LinkAgent, LinkedSemaphore, LockFile, Semaphore};
use turnlock_link_agent::{
    NO_DEADLINE, Nanoseconds,
    shares::{Demand, Found},
};

/// A linked semaphore that has this agent.
pub struct Local {
    pub name: String,
    pub linked: Arc<LinkedSemaphore>,
}

/// The file's agent of semaphores, and these.
pub struct LocalSemaphores {
    agent: LinkAgent,
    pub all: Vec<Local>,
}

/// A semaphore that is asked for, and how many permits it is to have; `None`: as many as the one that is there.
pub type Named = (String, Option<u32>);

/// Returns whether the file has a semaphore of this name.
pub fn is_semaphore(file: &LockFile, name: &str) -> bool {
    matches!(file.open_any(name), Ok(AnyLock::Semaphore(_)))
}

/// Takes these semaphores on.
///
/// # Errors
/// One of them is not linked, has another number of permits, or has an agent; and those of the library.
pub fn open(path: &Path, named: &[Named], host: &str) -> Result<LocalSemaphores, Failure> {
    let of_file = |error: Error| Failure::of_file(&error);
    let label = format!("turnlock-link {host}");
    let file = LockFile::options().label(&label).open(path).map_err(of_file)?;
    let agent = file.link_agent(&label).map_err(of_file)?;
    let attach = |(name, permits): &Named| {
        let linked = semaphore(&file, name, *permits).and_then(|found| agent.attach_semaphore(&found));
        let linked = linked.map_err(|error| {
            let Failure { code, why } = of_file(error);
            Failure::new(code, format!("{name:?}: {why}"))
        })?;
        Ok(Local { name: name.clone(), linked: Arc::new(linked) })
    };
    let all = named.iter().map(attach).collect::<Result<_, Failure>>()?;
    Ok(LocalSemaphores { agent, all })
}

fn semaphore(file: &LockFile, name: &str, permits: Option<u32>) -> Result<Semaphore, Error> {
    match permits {
        Some(permits) => file.semaphore_options().permits(permits).linked(true).open(name),
        None => file.semaphore_options().must_exist(true).open(name),
    }
}

impl Local {
    /// Returns what an agent finds.
    pub fn found(&self) -> Found {
        let end = self.linked.lease_end();
        let until = if end == 0 { NO_DEADLINE } else { end };
        Found { share: self.linked.share(), total: self.linked.total(), until }
    }

    /// Has the file admit programs until then.
    ///
    /// # Errors
    /// Those of the library.
    pub fn admit_until(&self, until: Nanoseconds) -> Result<(), Failure> {
        let end = if until == NO_DEADLINE { 0 } else { until };
        self.linked.set_lease_end(end).map_err(|error| Failure::of_file(&error))
    }

    /// Returns what programs have and want just now.
    pub fn demand(&self) -> Demand {
        let demand = self.linked.demand();
        let fits = |permits: u64| u32::try_from(permits).unwrap_or(u32::MAX);
        Demand { used: fits(demand.used), awaited: fits(demand.awaited), first: demand.first }
    }
}

impl LocalSemaphores {
    /// Has `wanted` called with the place of each semaphore that a program wanted permits of in vain, and how many, as [`desk::tell_wishes`].
    pub fn tell_wishes(
        self,
        wanted: impl Fn(usize, u32) -> bool + Send + 'static,
        failed: impl FnOnce(Error) + Send + 'static,
    ) -> Result<Vec<Local>, Failure> {
        let linked = self.all.iter().map(|one| one.linked.clone()).collect();
        let take = |one: &LinkedSemaphore| Some(one.take_wanted()).filter(|permits| *permits > 0);
        desk::tell_wishes(self.agent, linked, take, wanted, failed)?;
        Ok(self.all)
    }
}
