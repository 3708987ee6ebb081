//! What the words of `turnlock status` mean, for those that it has just used.

use super::{describe::FAINT, fit, no_lock};
use turnlock::inspect::{
    Activity, Claim, ClaimMode, FileStatus, Holder, Life, LockStatus, Part, ParticipantStatus, Waiter,
    WaiterState,
};

/// A word, what it means, and whether it was used.
struct Term {
    word: &'static str,
    meaning: &'static str,
    is_used: fn(&FileStatus) -> bool,
}

const TERMS: [Term; 25] = [
    Term {
        word: "slot",
        meaning: "a place for one that takes part, a thread as a rule, from its first lock to its end",
        is_used: |_| true,
    },
    Term {
        word: "fencing token",
        meaning: "a number that is larger with each acquisition: what comes with a smaller one is late",
        is_used: |file| any(file, |lock| lock.fencing_token.is_some()),
    },
    Term {
        word: "patience",
        meaning: "for so long one that waits lets others pass; from then on it is first come first served",
        is_used: |file| {
            any(file, |lock| {
                lock.kind != "ring" && lock.patience_seconds.is_some_and(|patience| patience > 0.0)
            })
        },
    },
    Term {
        word: "strict order",
        meaning: "first come first served from the start",
        is_used: |file| any(file, |lock| lock.kind != "ring" && lock.patience_seconds == Some(0.0)),
    },
    Term {
        word: "in turn",
        meaning: "a holder gets it again after every other participant that wants it",
        is_used: |file| any(file, |lock| lock.kind == "ring"),
    },
    Term {
        word: "recursive",
        meaning: "a thread that has it may take it again",
        is_used: |file| any(file, |lock| lock.recursive),
    },
    Term {
        word: "linked",
        meaning: "its holders are of one host at a time; away: another host may have it; an agent sees to that",
        is_used: |file| any(file, |lock| lock.link.is_some_and(|link| link.share.is_none())),
    },
    Term {
        word: "this host's",
        meaning: "the permits are shared out among several hosts, and go where they are wanted; an agent sees to that",
        is_used: |file| any(file, |lock| lock.link.is_some_and(|link| link.share.is_some())),
    },
    Term {
        word: "a death releases it",
        meaning: "when a holder dies the next one is told, and nothing has to be repaired",
        is_used: |file| any(file, |lock| lock.death_policy == Some("release") && lock.permits.is_none()),
    },
    Term {
        word: "biased to readers",
        meaning: "an earlier reader enters again without asking the others",
        is_used: |file| any(file, |lock| lock.biased_to_readers),
    },
    Term {
        word: "shared",
        meaning: "held beside others that read; upgradable: likewise, and it may become exclusive",
        is_used: |file| any_mode(file, |mode| mode != ClaimMode::Exclusive),
    },
    Term {
        word: "group",
        meaning: "those of one group are inside together, and none of another",
        is_used: |file| any_claim(file, |claim| matches!(claim.part, Some(Part::Group(_)))),
    },
    Term {
        word: "backed off",
        meaning: "it waits, has patience left, and lets others pass",
        is_used: |file| any_waiter(file, |waiter| waiter.state == WaiterState::BackedOff),
    },
    Term {
        word: "ring member",
        meaning: "in a ring for good: the turn waits for it",
        is_used: |file| any_waiter(file, |waiter| waiter.takes_part == Some("member")),
    },
    Term {
        word: "behind",
        meaning: "the first of those that stand in its way",
        is_used: |file| {
            let in_parts = |lock: &LockStatus| !matches!(lock.kind, "mutex" | "ring");
            any(file, |lock| in_parts(lock) && lock.queue.iter().any(|waiter| waiter.blocked_by.is_some()))
        },
    },
    Term {
        word: "passed over",
        meaning: "it did not come when its turn came (stopped, or without a processor)",
        is_used: |file| any_waiter(file, |waiter| waiter.activity == Activity::PassedOver),
    },
    Term {
        word: "notified",
        meaning: "it has waited for a condition long enough, and takes the lock again next",
        is_used: |file| {
            any(file, |lock| lock.condition.as_ref().is_some_and(|condition| condition.notified > 0))
        },
    },
    Term {
        word: "parties",
        meaning: "so many wait for one another at a barrier: each until the last has come",
        is_used: |file| any(file, |lock| lock.barrier.is_some()),
    },
    Term {
        word: "broken",
        meaning: "a party died or gave up: each that waits at the barrier gets an error, until a reset",
        is_used: |file| any(file, |lock| lock.state == "broken"),
    },
    Term {
        word: "done",
        meaning: "no process does it again, unless the once is reset",
        is_used: |file| any(file, |lock| lock.once.is_some_and(|once| once.done)),
    },
    Term {
        word: "dead",
        meaning: "its process or thread is gone; a waiter removes it, and so does turnlock reap",
        is_used: |file| any_participant(file, |one| one.life == Life::Dead),
    },
    Term {
        word: "stopped",
        meaning: "by Ctrl-Z, SIGSTOP or a debugger; what it holds stays held until it goes on",
        is_used: |file| any_participant(file, |one| one.life == Life::Stopped),
    },
    Term {
        word: "sees no deaths",
        meaning: "it waits for a dead one too, until another process finds out",
        is_used: |file| any_participant(file, |one| one.cannot_probe),
    },
    Term {
        word: "owner dead",
        meaning: "a holder died inside: the data may be half-done, and the next holder is told",
        is_used: |file| any(file, |lock| no_lock::is_a_lock(lock) && lock.state == "inconsistent"),
    },
    Term {
        word: "not recoverable",
        meaning: "closed for everyone until a reset",
        is_used: |file| any(file, |lock| lock.state == "not_recoverable"),
    },
];

fn any(file: &FileStatus, is: impl Fn(&LockStatus) -> bool) -> bool {
    file.locks.iter().any(is)
}

fn any_waiter(file: &FileStatus, is: impl Fn(&Waiter) -> bool) -> bool {
    file.locks.iter().flat_map(|lock| &lock.queue).any(is)
}

fn any_claim(file: &FileStatus, is: impl Fn(&Claim) -> bool) -> bool {
    let holders = file.locks.iter().flat_map(|lock| &lock.holders);
    holders.map(|holder: &Holder| holder.claim).any(|claim| is(&claim))
        || any_waiter(file, |waiter| waiter.claim.as_ref().is_some_and(&is))
}

fn any_mode(file: &FileStatus, is: impl Fn(ClaimMode) -> bool) -> bool {
    // Permits, and a place in a group, are always held beside others.
    let has_a_mode = |claim: &Claim| claim.permits.is_none() && !matches!(claim.part, Some(Part::Group(_)));
    any_claim(file, |claim| has_a_mode(claim) && is(claim.mode))
}

fn any_participant(file: &FileStatus, is: impl Fn(&ParticipantStatus) -> bool) -> bool {
    let holders = file.locks.iter().flat_map(|lock| &lock.holders).map(|holder| &holder.participant);
    holders.chain(&file.participants).any(&is) || any_waiter(file, |waiter| is(&waiter.participant))
}

/// Returns the meanings, each in a line.
pub fn meanings(file: &FileStatus, columns: usize) -> String {
    let mut text = String::new();
    for Term { word, meaning, .. } in TERMS.iter().filter(|term| (term.is_used)(file)) {
        text += &fit::fit(&format!("{FAINT}{word}: {meaning}{FAINT:#}"), "  ", "    ", columns);
    }
    text
}
