//! What [turnlock](https://docs.rs/turnlock) rests on: the bakery, the rings, the bias, eviction, and the acquisition made of
//! them.
//!
//! No operating system, no clock, no file: the registers, the participants' liveness, sleeping and time come from a
//! [`acquire::site::Site`]. turnlock has one over its mapped file; the model checkers (loom, shuttle) have their own, and search the
//! code that ships. Its interface follows turnlock's needs and is not stable.

pub mod sync;

#[forbid(unsafe_code)]
pub mod acquire;
#[forbid(unsafe_code)]
pub mod algorithm;
#[forbid(unsafe_code)]
pub mod error;
#[forbid(unsafe_code)]
pub mod event;
#[forbid(unsafe_code)]
pub mod mutants;
#[forbid(unsafe_code)]
pub mod spsc;
#[forbid(unsafe_code)]
pub mod trace;

pub use error::{Error, Result};
