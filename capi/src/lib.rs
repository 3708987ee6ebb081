//! The C library. Its functions are those of `turnlock::capi`; `include/turnlock.h` documents them.
//!
//! What is its own is the allocator: running out of memory is an error, and not the end of the program that called.

pub use turnlock::capi;

#[global_allocator]
static ALLOCATOR: turnlock::capi::WithReserve = turnlock::capi::WithReserve;
