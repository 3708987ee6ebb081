//! Permits, which are counted; one worker has the semaphore have more of them, and fewer.

use super::{Done, Phase, Post, Way};
use crate::arena::Fault;
use std::{
    ffi::CString,
    os::unix::ffi::OsStrExt,
    ptr,
    sync::atomic::Ordering::{Relaxed, SeqCst},
    time::Duration,
};
use support::Dice;
use turnlock::{Error, LockFile, Semaphore, capi::*, status::TURNLOCK_OK};

/// So many permits there are, or [`MANY`].
pub const FEW: u32 = 3;
const MANY: u32 = 5;
/// Which worker resizes it.
const RESIZER: usize = 0;

/// The semaphore through the C ABI, by which some of the permits that came together can be given back.
pub struct InC(*mut turnlock_semaphore);

impl InC {
    pub fn open(file: &LockFile, name: &str) -> Self {
        let path = CString::new(file.path().as_os_str().as_bytes()).unwrap();
        let name = CString::new(name).unwrap();
        let (mut in_c, mut semaphore) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: C strings, and places for the handles, which are never closed.
        unsafe {
            assert_eq!(turnlock_file_open(path.as_ptr(), ptr::null(), &mut in_c), TURNLOCK_OK);
            let opened = turnlock_semaphore_open(in_c, name.as_ptr(), ptr::null(), &mut semaphore);
            assert_eq!(opened, TURNLOCK_OK);
        }
        Self(semaphore)
    }

    fn release(&self, permits: u32) -> i32 {
        // SAFETY: an open handle.
        unsafe { turnlock_semaphore_release(self.0, permits) }
    }
}

pub fn turn(post: &Post, semaphore: &Semaphore, in_c: &InC, dice: &mut Dice) -> Done {
    use Phase::*;
    if post.me == RESIZER && post.goes(dice, 20, &[Resize]) {
        return resize(post, semaphore);
    }
    let wanted = 1 + dice.roll(u64::from(FEW)) as u32;
    let of = Begun::now(post);
    let way = post.way(dice);
    post.is_at(Acquire);
    macro_rules! inside {
        ($permits:expr) => {{
            let permits = $permits;
            has(post, 0, wanted, of, permits.acquired().previous_owner_died);
            post.is_at(InsidePermits);
            post.stays(dice);
            post.goes_on();
            permits
        }};
    }
    let permits = match way {
        Way::Try => inside!(semaphore.try_acquire(wanted)?),
        Way::For(limit) => inside!(semaphore.acquire_for(wanted, limit)?),
        Way::Wait => inside!(semaphore.acquire(wanted)?),
        Way::AsParticipant => {
            let participant = post.file.participant()?;
            let permits = inside!(semaphore.acquire_as(&participant, wanted)?);
            post.ledger.leaves(post.me, 0);
            post.is_at(Release);
            return permits.unlock();
        }
    };
    if wanted > 1 && post.goes(dice, 30, &[ReleasePart]) {
        let left = 1 + dice.roll(u64::from(wanted) - 1) as u32;
        post.ledger.leaves(post.me, 0);
        post.is_at(ReleasePart);
        if in_c.release(wanted - left) != TURNLOCK_OK {
            post.fault(Fault::Error);
        }
        // Others may have come meanwhile, when there was room for all.
        post.stays(dice);
    } else if post.goes(dice, 20, &[LockSecond, InsideBoth, UnlockBoth]) {
        let of = Begun::now(post);
        post.is_at(LockSecond);
        // A wait could be one for oneself.
        match semaphore.try_acquire(1) {
            Ok(second) => {
                has(post, 1, 1, of, second.acquired().previous_owner_died);
                post.is_at(InsideBoth);
                post.stays(dice);
                post.ledger.leaves(post.me, 1);
                post.is_at(UnlockBoth);
                second.unlock()?;
            }
            Err(Error::WouldBlock(_)) => {}
            Err(error) => return Err(error),
        }
    }
    post.ledger.leaves(post.me, 0);
    post.is_at(Release);
    permits.unlock()
}

/// How many permits there were when an acquisition began.
#[derive(Clone, Copy)]
struct Begun {
    resizes: u64,
    permits: u32,
}

impl Begun {
    fn now(post: &Post) -> Self {
        let resizes = post.ledger.resizes.load(SeqCst);
        Self { resizes, permits: post.ledger.permits.load(SeqCst) as u32 }
    }

    /// How many there have been at most since then.
    fn most(self, post: &Post) -> u32 {
        let now = Self::now(post);
        // Odd: a worker is resizing it.
        let same = self.resizes == now.resizes && self.resizes.is_multiple_of(2);
        if same { self.permits.max(FEW) } else { MANY }
    }
}

fn has(post: &Post, at: usize, permits: u32, begun: Begun, told: bool) {
    let (taken, of) = post.ledger.has_permits(post.arena, post.me, at, permits, begun.most(post));
    if taken > of {
        post.fault(Fault::DoubleEntry);
    }
    // A worker that dies with permits has changed nothing.
    if told {
        post.fault(Fault::FalseNotice);
    }
}

fn resize(post: &Post, semaphore: &Semaphore) -> Done {
    let (permits, resizes) = (&post.ledger.permits, &post.ledger.resizes);
    let next = if permits.load(SeqCst) as u32 == MANY { FEW } else { MANY };
    // One that died in the midst of it left it odd.
    resizes.store((resizes.load(SeqCst) | 1) + 2, SeqCst);
    post.is_at(Phase::Resize);
    semaphore.resize(next)?;
    super::super::worker::beat(post.arena, post.me);
    permits.store(next.into(), SeqCst);
    resizes.fetch_add(1, SeqCst);
    post.is_at(Phase::Acquire);
    Ok(())
}

/// When all workers are dead: every permit comes back.
pub fn survives(post: &Post, semaphore: &Semaphore, patience: Duration) -> Done {
    let permits = semaphore.permits()?;
    if permits != FEW && permits != MANY {
        println!("{permits} permits, and {} were asked for", post.ledger.permits.load(Relaxed));
        post.fault(Fault::Lost);
    }
    let all = semaphore.acquire_for(permits, patience)?;
    if all.acquired().previous_owner_died {
        post.fault(Fault::FalseNotice);
    }
    all.unlock()
}
