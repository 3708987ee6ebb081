//! The lock file: its linked locks, and what is done with them.

use crate::{desk, exit, failure::Failure, semaphores};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use turnlock::{
    AnyLock, Error, LinkAgent, LinkedData, LinkedLock, LinkedWish, LockFile,
    inspect::{self, ClaimMode, LockStatus},
};
use turnlock_link_agent::{Data, Found, NO_DEADLINE, Wish};

/// A linked lock that has this agent.
pub struct Local {
    pub name: String,
    pub linked: Arc<LinkedLock>,
    pub path: PathBuf,
}

/// The file's agent, and its locks.
pub struct LocalFile {
    agent: LinkAgent,
    pub locks: Vec<Local>,
    /// The semaphores among them, which have agents of their own.
    pub semaphores: Vec<semaphores::Named>,
}

/// The linked locks that are asked for.
pub struct Named<'a> {
    /// Of any kind; one that is not there is created as a mutex.
    pub locks: &'a [String],
    /// Rwlocks; one that is not there is created.
    pub rwlocks: &'a [String],
    /// Semaphores, with how many permits; one that is not there is created.
    pub semaphores: &'a [(String, u32)],
}

impl Named<'_> {
    fn is_none(&self) -> bool {
        self.locks.is_empty() && self.rwlocks.is_empty() && self.semaphores.is_empty()
    }
}

/// Takes the locks on, or all linked locks of the file if none is named.
///
/// # Errors
/// One of them is not linked, or has an agent; the file has no linked lock; and those of the library.
pub fn open(path: &Path, named: &Named, host: &str) -> Result<LocalFile, Failure> {
    let of_file = |error: Error| Failure::of_file(&error);
    let mut options = LockFile::options();
    options.label(&format!("turnlock-link {host}")).must_exist(named.is_none());
    let file = options.open(path).map_err(of_file)?;
    let all = if named.is_none() { linked_locks(path)? } else { named.locks.to_vec() };
    let agent = file.link_agent(&format!("turnlock-link {host}")).map_err(of_file)?;
    let attach = |name: String, is_rwlock: bool| {
        let is_rwlock = is_rwlock || matches!(file.open_any(&name), Ok(AnyLock::RwLock(_)));
        let linked = if is_rwlock {
            file.rwlock_options().linked(true).open(&name).and_then(|rwlock| agent.attach(&rwlock))
        } else {
            file.mutex_options().linked(true).open(&name).and_then(|mutex| agent.attach(&mutex))
        };
        let linked = linked.map_err(|error| {
            let Failure { code, why } = of_file(error);
            Failure::new(code, format!("{name:?}: {why}"))
        })?;
        Ok(Local { name, linked: Arc::new(linked), path: file.path() })
    };
    let (semaphores, all): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|name| semaphores::is_semaphore(&file, name));
    let semaphores = semaphores.into_iter().map(|name| (name, None));
    let named_so = named.semaphores.iter().map(|(name, permits)| (name.clone(), Some(*permits)));
    let semaphores = semaphores.chain(named_so).collect();
    let rwlocks = named.rwlocks.iter().map(|name| (name.clone(), true));
    let all = all.into_iter().map(|name| (name, false)).chain(rwlocks);
    let locks = all.map(|(name, is_rwlock)| attach(name, is_rwlock)).collect::<Result<_, Failure>>()?;
    Ok(LocalFile { agent, locks, semaphores })
}

fn linked_locks(path: &Path) -> Result<Vec<String>, Failure> {
    let snapshot = inspect::snapshot(path).map_err(|error| Failure::of_file(&error))?;
    let linked = snapshot.locks.into_iter().filter(|lock| lock.link.is_some());
    let names: Vec<String> = linked.map(|lock| lock.name).collect();
    if names.is_empty() {
        let why = format!("{} has no linked lock: name one, and it is created", path.display());
        return Err(Failure::new(exit::NO_FILE, why));
    }
    Ok(names)
}

impl Local {
    /// Returns what an agent finds.
    pub fn found(&self) -> Found {
        Found {
            is_home: self.linked.is_home(),
            is_home_to_read: self.linked.is_home_to_read(),
            last_token: self.linked.last_token(),
            token_end: self.linked.token_end(),
            data: data(self.linked.data()),
            wanted: self.linked.take_wish().map(wish).max(self.wish_of_waiters()),
            until: Some(self.linked.lease_end()).filter(|end| *end != 0).unwrap_or(NO_DEADLINE),
        }
    }

    /// Returns what the programs that wait for the lock want most. One that waits says so once, when it is not admitted: to an agent that may
    /// have died since, or before the lock was home and away again.
    pub fn wish_of_waiters(&self) -> Option<Wish> {
        let file = inspect::snapshot(&self.path).ok()?;
        let of_lock = |lock: &&LockStatus| lock.name == self.name;
        let queue = file.locks.iter().find(of_lock)?.queue.iter();
        let claims = queue.map(|waiter| waiter.claim);
        claims.map(|claim| if reads(claim) { Wish::Read } else { Wish::Write }).max()
    }
}

fn reads(claim: Option<inspect::Claim>) -> bool {
    claim.is_some_and(|claim| claim.mode == ClaimMode::Shared)
}

impl LocalFile {
    /// Has `wanted` called with the place of each lock that a program wants and that did not admit it, and with what it wants, as [`desk::tell_wishes`].
    pub fn tell_wishes(
        self,
        wanted: impl Fn(usize, Wish) -> bool + Send + 'static,
        failed: impl FnOnce(Error) + Send + 'static,
    ) -> Result<Vec<Local>, Failure> {
        let linked = self.locks.iter().map(|lock| lock.linked.clone()).collect();
        desk::tell_wishes(
            self.agent,
            linked,
            |lock: &LinkedLock| lock.take_wish().map(wish),
            wanted,
            failed,
        )?;
        Ok(self.locks)
    }
}

fn wish(wish: LinkedWish) -> Wish {
    match wish {
        LinkedWish::Read => Wish::Read,
        // What a later library knows besides is not less than that.
        _ => Wish::Write,
    }
}

/// In the agent's words.
pub fn data(data: LinkedData) -> Data {
    match data {
        LinkedData::Consistent => Data::Consistent,
        LinkedData::Inconsistent => Data::Inconsistent,
        // What a later library knows is not less than that.
        _ => Data::NotRecoverable,
    }
}

/// In the library's.
pub fn linked_data(data: Data) -> LinkedData {
    match data {
        Data::Consistent => LinkedData::Consistent,
        Data::Inconsistent => LinkedData::Inconsistent,
        Data::NotRecoverable => LinkedData::NotRecoverable,
    }
}
