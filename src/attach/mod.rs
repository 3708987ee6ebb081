//! This process's part in a file: the mapping, its participants, those of its threads, and the fast path.

pub mod allocation;
pub mod attachment;
mod barrier;
mod by_messages;
pub mod calls;
pub mod fast_path;
pub mod file_handle;
pub mod idle;
#[cfg(feature = "messages")]
mod machines;
pub mod names;
pub mod new_file;
pub mod open_file;
mod post;
mod seat;
pub mod site;
pub mod thread;
pub mod upkeep;
mod waiter;
