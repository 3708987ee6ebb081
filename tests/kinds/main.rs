//! The kinds that let several in: readers and writers, permits, ranges, keys, groups.

mod at_once;
mod convenient;
mod groups;
mod owned;
mod parts;
mod refused;
mod rwlock;
mod semaphore;
mod shown;

support::watched_for_seconds!(support::watchdog::USUAL);
