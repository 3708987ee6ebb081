//! The C ABI: conversions and the panic boundary. No logic. `include/turnlock.h` is made from these files.
//!
//! Every function but the text and version ones returns a status: 0, a positive number with news, a negative one for
//! failure. Inputs come first, outputs last; outputs are written on success only.

mod acquired;
mod boundary;
mod file;
mod follow;
mod handle;
mod mutex;
mod operations;
mod participant;
mod ring;
mod version;

pub use acquired::{turnlock_acquired, turnlock_previous_owner};
pub use boundary::turnlock_last_error_message;
pub use file::*;
pub use follow::*;
pub use mutex::*;
pub use participant::*;
pub use ring::*;
pub use version::*;
