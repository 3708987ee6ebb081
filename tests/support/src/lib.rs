//! What the integration tests share: real processes that play a role, limits of waiting, a second reading of the file
//! format. Under a checker (loom, shuttle) only what a test program needs to end when it hangs.
#![allow(missing_docs, reason = "only the tests see it")]

#[cfg(not(any(loom, shuttle)))]
pub mod actor;
#[cfg(not(any(loom, shuttle)))]
pub mod built;
#[cfg(any(loom, shuttle))]
pub mod checker;
#[cfg(not(any(loom, shuttle)))]
pub mod command;
#[cfg(any(loom, shuttle))]
pub mod coordination_words;
#[cfg(not(any(loom, shuttle)))]
pub mod deadlock;
#[cfg(not(any(loom, shuttle)))]
pub mod descriptor;
#[cfg(not(any(loom, shuttle)))]
pub mod either;
#[cfg(not(any(loom, shuttle)))]
pub mod forked;
#[cfg(not(any(loom, shuttle)))]
pub mod format;
#[cfg(not(any(loom, shuttle)))]
pub mod hosts;
pub mod limit;
#[cfg(not(any(loom, shuttle)))]
pub mod namespace;
#[cfg(not(any(loom, shuttle)))]
pub mod puppet;
#[cfg(not(any(loom, shuttle)))]
mod scene;
#[cfg(not(any(loom, shuttle)))]
pub mod shared;
#[cfg(not(any(loom, shuttle)))]
pub mod simulator;
#[cfg(loom)]
mod stacks;
#[cfg(not(any(loom, shuttle)))]
pub mod torture;
#[cfg(not(any(loom, shuttle)))]
pub mod user_space_file_system;
pub mod watchdog;

#[cfg(not(any(loom, shuttle)))]
pub use scene::*;
pub use watchdog::give_up;
