//! The C ABI: conversions and the panic boundary. No logic. `include/turnlock.h` is made from these files.
//!
//! Every function but the text and version ones returns a status: 0, a positive number for success with something to
//! know, a negative one for failure. Inputs come first, outputs last; outputs are written on success only.

mod acquired;
mod barrier;
mod boundary;
mod condition;
mod condition_wait;
mod death_policy;
mod event;
mod file;
mod grouplock;
mod handle;
mod hold;
mod hold_begun;
mod hold_held;
mod info;
mod keyedlock;
mod limits;
mod linked;
mod lock;
mod mutex;
mod once;
mod operations;
mod rangelock;
mod request;
mod ring;
mod rwlock;
mod rwlock_held;
mod semaphore;
mod slow_way;
mod transferred;
mod version;

/// For the crate that is the C library: its allocator.
#[doc(hidden)]
pub use crate::os::memory::WithReserve;
pub use acquired::{turnlock_acquired, turnlock_previous_owner};
pub use barrier::*;
pub use boundary::turnlock_last_error_message;
pub use condition::*;
pub use condition_wait::*;
pub use event::*;
pub use file::*;
pub use grouplock::*;
pub use hold::*;
pub use hold_begun::*;
pub use hold_held::*;
pub use info::{
    TURNLOCK_ACTIVITY_PASSED_OVER, TURNLOCK_ACTIVITY_RUNNING, TURNLOCK_ACTIVITY_SLEEPING,
    TURNLOCK_ACTIVITY_STOPPED, TURNLOCK_ACTIVITY_UNKNOWN, TURNLOCK_DEATH_POLICY_INFORM,
    TURNLOCK_DEATH_POLICY_RELEASE, TURNLOCK_INFO_AT_LEAST, TURNLOCK_INFO_BLIND,
    TURNLOCK_INFO_OTHER_PID_NAMESPACE, TURNLOCK_INFO_WHOLE_KEY, TURNLOCK_LIFE_ALIVE, TURNLOCK_LIFE_DEAD,
    TURNLOCK_LIFE_STOPPED, TURNLOCK_LIFE_UNKNOWN, TURNLOCK_MODE_EXCLUSIVE, TURNLOCK_MODE_SHARED,
    TURNLOCK_MODE_UPGRADABLE, TURNLOCK_MODE_UPGRADING, TURNLOCK_STATE_BACKED_OFF, TURNLOCK_STATE_HOLDING,
    TURNLOCK_STATE_QUEUED, TURNLOCK_STATE_RING_MEMBER, turnlock_participant_info,
};
pub use keyedlock::*;
pub use limits::*;
pub use linked::*;
pub use lock::*;
pub use mutex::*;
pub use once::*;
pub use rangelock::*;
pub use request::*;
pub use ring::*;
pub use rwlock::*;
pub use rwlock_held::*;
pub use semaphore::*;
pub use transferred::*;
pub use version::*;
