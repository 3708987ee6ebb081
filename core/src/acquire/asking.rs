//! What participants say to the agent of a linked lock ([`super::link`]): that they want it.

use super::{
    share,
    site::{Attempt, Lock, Site},
};
use crate::algorithm::{
    claim::HoldClass,
    link::{Link, Wish},
};
use std::cell::Cell;

/// What a participant with such a claim wants of the link.
#[inline]
pub fn wish_of(hold_class: HoldClass) -> Wish {
    if hold_class == HoldClass::Reader { Wish::Read } else { Wish::Write }
}

/// Tells the agent what the participant at the head of the queue wants, which is not admitted.
pub fn ask_agent<S: Site>(attempt: &Attempt<S>, wish: Wish) {
    if attempt.hold_class() == HoldClass::Permits {
        // Its share is enough, and it waits for the lease. In `wanted` a semaphore has how many permits are.
        share::tell_agent(attempt);
    } else {
        call_agent(attempt.site.lock(), wish);
    }
}

/// Tells the agent that a program wants the lock, and wakes it if it sleeps.
pub fn call_agent(lock: &impl Lock, wish: Wish) {
    if let Some(agent) = lock.link().and_then(|link| link.want(wish)) {
        lock.wake_agent(agent);
    }
}

/// Tells the agent that a try has failed, if the lock is away, or home to read and it wanted more. The participant that it failed behind, at the
/// head of the queue, may not have come to that yet, and may be a try itself.
#[cold]
pub fn note_failed_try<S: Site>(attempt: &Attempt<S>) {
    tell_agent(attempt);
    share::tell_agent(attempt);
}

/// Tells the agent that the participant wants the lock, if it is away, or home to read and more is wanted. Returns whether it told it.
fn tell_agent<S: Site>(attempt: &Attempt<S>) -> bool {
    let lock = attempt.site.lock();
    let wish = wish_of(attempt.hold_class());
    let is_shut = |link: Link<'_>| link.is_away() || wish == Wish::Write && link.is_home_to_read();
    let link = lock.link().filter(|_| attempt.config.is_linked);
    // Of a semaphore the share says it.
    let tells = link.is_some_and(|link| !link.is_shared_out() && is_shut(link));
    if tells {
        call_agent(lock, wish);
    }
    tells
}

/// Tells the agent once that a participant waits that is not at the head of the queue: the one at the head, whose part that is, may be stopped before it has
/// come to it, and while the lock is away no waiter passes over that one.
#[inline]
pub fn tell_agent_once<S: Site>(attempt: &Attempt<S>, was_told: &Cell<bool>) {
    if attempt.config.is_linked && !was_told.get() {
        was_told.set(tell_agent(attempt));
    }
}
