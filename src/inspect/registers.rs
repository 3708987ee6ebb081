//! The registers of one lock, as the algorithms read and write them.

use super::shown;
use crate::kind::Named;
use crate::layout::{Kind, SlotState, View};
use crate::os::memory;
use crate::registers::{Claimed, FileLock};
use turnlock_core::acquire::site::Lock;
use turnlock_core::algorithm::{
    Place, Protocol,
    ownership::{Health, TRYING},
    ring::{Machines, Membership, Ring},
};
use turnlock_core::error::Result;
use turnlock_core::sync::Ordering::{Acquire, Relaxed};

/// The registers of a lock, read one after the other while others may write: two of them need not be of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockRegisters {
    /// The lock's name.
    pub name: String,
    /// Its kind, as in [`crate::inspect::LockStatus`].
    pub kind: &'static str,
    /// Its algorithm, as there.
    pub algorithm: &'static str,
    /// The last fencing token given out.
    pub fencing_token: u64,
    /// Its state, as in [`crate::inspect::LockStatus`]; of a range lock or a keyed lock without what their parts say.
    pub state: &'static str,
    /// The slot that the bias word names.
    pub bias_owner: Option<usize>,
    /// Whether the bias word says that this bias is being revoked.
    pub bias_revoked: bool,
    /// Whether the bias word of a rwlock says that readers may enter without a look at the queue.
    pub biased_to_readers: bool,
    /// The designated waker: of those that wait, the slot that is the next to be queued for good.
    pub designated_waker: Option<usize>,
    /// The registers of each slot that a participant has, or where one of them is not 0, in the order of the slots.
    pub slots: Vec<SlotRegisters>,
}

/// What one slot says about itself in one lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotRegisters {
    /// The slot.
    pub slot: usize,
    /// The bakery's `choosing`: it is in its doorway. Of a ring: in that of the reconfiguration lock.
    pub choosing: bool,
    /// The bakery's `number`; 0: not in the queue.
    pub number: u64,
    /// Whether it is inside.
    pub held: Held,
    /// Whether a waiter may be parked there.
    pub parked: bool,
    /// Whether its call says that it waits.
    pub waits: bool,
    /// Whether its present place in the queue was evicted.
    pub evicted: bool,
    /// Its machine on a ring.
    pub machine: Option<MachineRegisters>,
}

/// What the word `held` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Outside.
    Outside,
    /// It tries to enter, or is just leaving; not yet, or no longer, a holder.
    Trying,
    /// Inside, with this fencing token.
    Inside(u64),
}

/// A machine of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineRegisters {
    /// Its state S.
    pub state: u64,
    /// Raynal's VG: its left neighbour on the virtual ring; `None`: it is not on it.
    pub left: Option<usize>,
    /// Raynal's k: so many machines between it and its left neighbour are absent.
    pub absent: usize,
    /// Its participant's membership: "none", "one turn" or "member".
    pub membership: &'static str,
    /// Whether the states and links say that it has the privilege.
    pub privilege: bool,
}

/// Reads the registers of one lock.
pub(super) fn read(view: View<'_>, named: Named) -> Result<LockRegisters> {
    memory::check()?;
    let claims = Claimed::of(named.kind.unwrap_or(Kind::Mutex), named.generation);
    let lock = FileLock::claimed(view, named.region, claims);
    let ring = named.rule().map(|rule| Ring { rule, machines: lock.machines() });
    let machine = |slot: usize| {
        let ring = ring.as_ref()?;
        let link = ring.link(slot);
        Some(MachineRegisters {
            state: ring.machines.state(slot),
            left: link.map(|link| link.left),
            absent: link.map_or(0, |link| link.absent),
            membership: match ring.machines.membership(slot) {
                Membership::None => "none",
                Membership::OneTurn => "one turn",
                Membership::EveryTurn => "member",
            },
            privilege: ring.has_privilege(slot),
        })
    };
    let slot = |slot: usize| {
        let (choosing, number) = match lock.queue().place(slot) {
            Place::Idle => (false, 0),
            Place::Choosing => (true, 0),
            Place::Numbered(number) | Place::Corrupt(number) => (false, number),
        };
        let registers = SlotRegisters {
            slot,
            choosing,
            number,
            held: match lock.held(slot).load(Acquire) {
                0 => Held::Outside,
                TRYING => Held::Trying,
                token => Held::Inside(token),
            },
            parked: lock.lock.cells()[slot].parked.load(Relaxed) != 0,
            waits: lock.waiting_since(slot) != 0,
            evicted: (choosing || number != 0) && lock.eviction(slot).is_evicted(),
            machine: machine(slot),
        };
        let taken = view.slots()[slot].state.load(Acquire) != SlotState::Free as u32;
        let says = choosing || number != 0 || registers.held != Held::Outside;
        let on_ring = registers.machine.is_some_and(|machine| machine.left.is_some());
        (taken || says || on_ring).then_some(registers)
    };
    let bound = view.slots_bound().max(ring.as_ref().map_or(0, |ring| ring.machines.bound()));
    let slots = (0..bound.min(lock.slots())).filter_map(slot).collect();
    let readers = named.kind == Some(Kind::RwLock);
    let health = shown::health(&named, &lock);
    let designated_waker = lock.lock.words.designated_waker.load(Relaxed);
    Ok(LockRegisters {
        kind: named.kind_name(),
        algorithm: named.algorithm_name(),
        name: named.name,
        fencing_token: lock.lock.words.token.load(Relaxed),
        state: match health {
            Health::Consistent => "consistent",
            Health::Inconsistent => "inconsistent",
            Health::NotRecoverable => "not_recoverable",
        },
        bias_owner: lock.bias().owner().filter(|_| !readers),
        bias_revoked: !readers && lock.bias().is_being_revoked(),
        biased_to_readers: readers && lock.shared_bias().is_unrevoked(),
        designated_waker: (designated_waker as usize).checked_sub(1),
        slots,
    })
}
