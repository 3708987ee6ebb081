//! What [turnlock](https://docs.rs/turnlock) rests on: the bakery, the rings, the bias, eviction, the acquisition made of
//! them, and waiting.
//!
//! No operating system, no clock, no file: the registers and the participants' liveness come from an [`acquire::site::Site`], sleep
//! and time from a [`wait::Platform`]. turnlock has a site over its mapped file; the model checkers (loom, shuttle) have their own, and search the
//! code that ships. Its interface follows turnlock's needs and is not stable.

// Here, in the crate that is compiled first, so that it is the only error.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!(
    "turnlock is for 64-bit Linux: it loads and stores 64 bits at once, its waiters sleep on Linux's futexes, and its byte locks \
     lie beyond what a 32-bit off_t can say"
);

pub mod sync;

#[forbid(unsafe_code)]
pub mod acquire;
#[forbid(unsafe_code)]
pub mod algorithm;
#[forbid(unsafe_code)]
pub mod coordination;
#[forbid(unsafe_code)]
pub mod deadlock;
#[forbid(unsafe_code)]
pub mod error;
#[forbid(unsafe_code)]
pub mod event;
#[forbid(unsafe_code)]
pub mod mutants;
#[forbid(unsafe_code)]
pub mod requests;
#[forbid(unsafe_code)]
pub mod spsc;
#[forbid(unsafe_code)]
pub mod trace;
#[forbid(unsafe_code)]
pub mod wait;

pub use error::{Error, Result};
