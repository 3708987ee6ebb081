//! Deadlocks: circles of processes in three languages, over locks of several kinds, are told to the one that closed them; traffic that
//! only looks like one is not.

mod circles;
mod killed;
mod looks_like_one;
mod party;
mod silent;

use looks_like_one::traffic;
use party::party;

support::watched_for_seconds!(looks_like_one::longest());

support::roles! { party, traffic }
