//! What a participant does: it comes to the lock, as the handles of the library do, works in the critical section, and
//! leaves; or dies.

use crate::oracle::{Property, count};
use crate::plan::{Death, Visit};
use crate::scene::{BLOCK, Now, Scene};
use crate::site::{At, LoomSite};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use turnlock_core::acquire::{
    attempt::{Attempt, Discipline, LockConfig},
    fast_path::UnlockOutcome,
    link as moved,
    operations::Acquisition,
    site::{Limit, Lock, Site},
};
use turnlock_core::algorithm::ownership::Health;
use turnlock_core::error::Error;
use turnlock_core::sync::Ordering::{Relaxed, SeqCst};
use turnlock_core::trace::Step;

/// What ends the visit of a participant that dies.
struct Dead;

loom::thread_local! {
    /// Who the running thread is.
    static PARTICIPANT: RefCell<Option<(Arc<Scene>, usize)>> = RefCell::new(None);
}

/// The watcher of [`turnlock_core::trace`].
pub fn watch(step: Step) {
    if let Some((scene, me)) = PARTICIPANT.with(|participant| participant.borrow().clone())
        && scene.at(me, step)
    {
        die();
    }
}

/// Ends the visit of the participant, which dies.
fn die() -> ! {
    resume_unwind(Box::new(Dead))
}

impl Scene {
    /// A visit of slot `me`. Returns `false` if it died.
    pub fn visit(self: &Arc<Self>, me: usize, visit: Visit) -> bool {
        *self.now(me) = Now { visit: Some(visit), meets: true, ..Now::default() };
        PARTICIPANT.with(|participant| *participant.borrow_mut() = Some((Arc::clone(self), me)));
        let outcome = catch_unwind(AssertUnwindSafe(|| self.come(me, visit)));
        PARTICIPANT.with(|participant| *participant.borrow_mut() = None);
        match outcome {
            Ok(()) => true,
            Err(panic) if panic.is::<Dead>() => {
                self.has_died(me, visit.death.unwrap());
                false
            }
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The thread has stopped.
    fn has_died(&self, me: usize, death: Death) {
        self.oracle.waiting[me].store(0, SeqCst);
        count(&self.tally.deaths);
        if self.now(me).inside {
            self.oracle.inside.fetch_sub(1, SeqCst);
        }
        if death.is_inside() {
            // SAFETY: only its own slot's participant has written it, before.
            let token = unsafe { self.held[me].unsync_load() };
            self.died_inside(token);
        }
        self.end(me);
    }

    fn died_inside(&self, token: u64) {
        self.oracle.last_token.fetch_max(token, SeqCst);
        self.oracle.died_inside.store(true, SeqCst);
        self.oracle.dead_token.store(token, SeqCst);
    }

    fn attempt(&self, me: usize, visit: Visit) -> Attempt<LoomSite<'_>> {
        let config = LockConfig {
            is_linked: self.plan.linked && !visit.moves,
            patience: u64::from(visit.is_patient || !self.plan.sees_queued_for_good),
            may_be_biased: self.plan.may_be_biased,
            release_on_death: false,
            discipline: Discipline::Queue,
        };
        Attempt { site: LoomSite { at: At::new(self, me), visit }, config, claim: () }
    }

    /// Comes to the lock, as the handles of `turnlock::Mutex` do.
    fn come(&self, me: usize, visit: Visit) {
        let attempt = self.attempt(me, visit);
        if visit.moves {
            return self.move_and_bring_home(me, &attempt);
        }
        let (bias, mark) = (attempt.site.lock().bias(), attempt.site.mark());
        let fast = if visit.fast { attempt.fast_path().take_as_owner(bias, &mark) } else { None };
        let acquired = match fast {
            Some(token) => Ok(Acquisition { token, owner_dead: false }),
            None if visit.resets => attempt.lock_and_reset(visit.limit),
            None => attempt.lock(visit.limit),
        };
        match acquired {
            Ok(acquisition) => self.section(me, visit, &attempt, acquisition),
            Err(Error::WouldBlock(_)) if visit.limit == Limit::Never => {}
            Err(Error::TimedOut(_)) if visit.limit != Limit::Forever => {}
            Err(Error::NotRecoverable) => {
                let was_closed = self.oracle.ever_closed.load(SeqCst);
                assert!(
                    was_closed || !self.checks(Property::OwnerDead),
                    "OwnerDead: closed, and no participant closed it"
                );
                count(&self.tally.turned_away);
            }
            Err(error) => panic!("{me} cannot lock: {error}"),
        }
    }

    /// Does what the agent of a linked lock does, and what another host does meanwhile.
    fn move_and_bring_home(&self, me: usize, attempt: &Attempt<LoomSite>) {
        if self.link().is_away() {
            // Its predecessor's death left it so.
            self.arrive(me);
        }
        attempt.move_away(Limit::Forever).unwrap();
        let health = self.link().health();
        // The last token of this host, and then one of the other one's.
        let token = self.token.load(Relaxed) + 1;
        if health == Health::Consistent {
            let last = self.oracle.last_token.swap(token, SeqCst);
            assert!(token > last || !self.checks(Property::Token), "Token: {token} after {last}");
            self.read(false);
            self.write(0, token);
            self.write(1, token);
            self.oracle.written.store(token, SeqCst);
        }
        self.now(me).inside = false;
        self.depart();
        moved::bring_home(attempt.site.lock(), me, (token + 1, token + BLOCK), health);
    }

    /// Unlocks, as the handles of `turnlock::Mutex` do.
    fn unlock(&self, visit: Visit, attempt: &Attempt<LoomSite>) {
        let (bias, mark) = (attempt.site.lock().bias(), attempt.site.mark());
        let fast = if visit.fast { attempt.fast_path().leave_as_owner(bias, &mark, None) } else { None };
        match fast {
            Some(UnlockOutcome::Done) => Ok(()),
            Some(UnlockOutcome::WasRevoked) => attempt.complete_unlock(),
            None => attempt.unlock(None),
        }
        .unwrap();
    }

    fn section(&self, me: usize, visit: Visit, attempt: &Attempt<LoomSite>, acquisition: Acquisition) {
        let Acquisition { token, owner_dead } = acquisition;
        let last = self.oracle.last_token.swap(token, SeqCst);
        assert!(token > last || !self.checks(Property::Token), "Token: {token} after {last}");
        if !visit.resets {
            self.hear(me, owner_dead);
        }
        let dies = |death| {
            if visit.death == Some(death) {
                die();
            }
        };
        dies(Death::Entered);
        let is_torn = owner_dead || visit.resets;
        self.read(is_torn);
        if owner_dead && visit.leaves_torn {
            self.oracle.closed.store(true, SeqCst);
            self.oracle.ever_closed.store(true, SeqCst);
            return self.unlock(visit, attempt);
        }
        if is_torn {
            self.write(0, 0);
            self.write(1, 0);
            if owner_dead {
                attempt.mark_consistent().unwrap();
            } else if self.oracle.closed.swap(false, SeqCst) {
                count(&self.tally.resets);
            }
            self.oracle.died_inside.store(false, SeqCst);
        }
        self.write(0, token);
        dies(Death::Torn);
        if visit.abandons {
            self.now(me).inside = false;
            self.depart();
            self.died_inside(token);
            return attempt.abandon(None).unwrap();
        }
        self.write(1, token);
        self.oracle.written.store(token, SeqCst);
        dies(Death::Written);
        self.unlock(visit, attempt);
    }

    /// Compares what the lock says of a death with what happened.
    fn hear(&self, me: usize, owner_dead: bool) {
        if !self.checks(Property::OwnerDead) {
            return;
        }
        assert!(!self.oracle.closed.load(SeqCst), "OwnerDead: closed, and {me} entered all the same");
        let happened = self.oracle.died_inside.load(SeqCst);
        assert_eq!(owner_dead, happened, "OwnerDead: what the lock says, and what happened");
        if owner_dead {
            // SAFETY: only for a holder, while no dead holder is left to act for; loom fails where that is wrong.
            let told = self.notice.with(|notice| unsafe { *notice });
            let dead = self.oracle.dead_token.load(SeqCst);
            assert_eq!(told, dead, "OwnerDead: the token told, and the dead holder's");
            let told_by_me = self.oracle.reaper.load(SeqCst) == me + 1;
            count(if told_by_me { &self.tally.notices_to_reaper } else { &self.tally.notices_to_other });
        }
    }

    fn read(&self, may_be_torn: bool) {
        if !self.checks(Property::Data) {
            return;
        }
        // SAFETY: only for the holder; loom fails where that is wrong.
        let [left, right] = self.data.each_ref().map(|word| word.with(|word| unsafe { *word }));
        if !may_be_torn {
            assert_eq!(left, right, "Data: torn, and the holder was not told");
            let written = self.oracle.written.load(SeqCst);
            assert_eq!(left, written, "Data: what is there, and what was written last");
        }
    }

    fn write(&self, word: usize, value: u64) {
        if self.checks(Property::Data) {
            // SAFETY: only for the holder; loom fails where that is wrong.
            self.data[word].with_mut(|word| unsafe { *word = value });
        }
    }
}
