//! Deadlocks in a file: the words that [`turnlock_core::deadlock`] reads, which decides what is a circle, and how people read one.
//!
//! For the wait that closes a circle (`attach::circular_wait`), and for `inspect`, `turnlock status`, `top` and `doctor`.

mod graph;
mod words;

pub use words::in_words;

#[cfg(test)]
mod tests;
