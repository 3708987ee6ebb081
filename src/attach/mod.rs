//! This process's part in a file: the mapping, its participants, those of its threads, and the fast path.

pub mod allocation;
pub mod attachment;
mod barrier;
mod by_messages;
pub mod cached;
pub mod calls;
mod circular_wait;
pub mod endpoint;
pub mod fast_path;
pub mod file_handle;
pub mod idle;
pub mod locked_by;
#[cfg(feature = "messages")]
mod machines;
pub mod maintenance;
mod message_service;
pub mod names;
pub mod new_file;
pub mod open_file;
pub mod site;
pub mod thread;
pub mod waiter;
