#![doc = "A cross-process lock service that is nothing but a memory-mapped file."]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "turnlock is for 64-bit Linux: it loads and stores 64 bits at once, and its byte locks lie beyond what a 32-bit \
     off_t can say"
);

pub mod acquire;
pub mod algorithm;
pub mod error;
#[cfg(feature = "mutants")]
#[doc(hidden)]
pub mod mutants;
#[cfg(not(feature = "mutants"))]
#[allow(dead_code, reason = "only tests list them")]
mod mutants;
#[doc(hidden)]
pub mod sync;
#[cfg(feature = "trace")]
#[doc(hidden)]
pub mod trace;
#[cfg(not(feature = "trace"))]
#[allow(dead_code, reason = "only tests list them")]
mod trace;

#[cfg(not(any(loom, shuttle)))]
mod attach;
#[cfg(not(any(loom, shuttle)))]
pub mod capi;
#[cfg(not(any(loom, shuttle)))]
pub mod inspect;
#[cfg(not(any(loom, shuttle)))]
mod kind;
#[cfg(not(any(loom, shuttle)))]
mod layout;
#[cfg(not(any(loom, shuttle)))]
mod os;
#[cfg(not(any(loom, shuttle)))]
mod recovery;
#[cfg(not(any(loom, shuttle)))]
mod registers;
#[cfg(not(any(loom, shuttle)))]
mod slots;
#[cfg(not(any(loom, shuttle)))]
mod wait;

#[cfg(all(feature = "memory-reserve", not(any(loom, shuttle))))]
#[global_allocator]
static ALLOCATOR: os::memory::WithReserve = os::memory::WithReserve;

pub use error::{Error, Result, status, status_text};
#[cfg(not(any(loom, shuttle)))]
pub use kind::*;
