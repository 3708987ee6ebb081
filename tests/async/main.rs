//! Futures that acquire locks: of each kind, dropped at any moment, ten thousand at once under two executors beside another process,
//! and what becomes of them where their process is killed or forks.

mod death;
mod descriptor;
mod dropped;
mod kinds;
mod line;
mod many;
mod polled;

support::watched_for_seconds!(support::watchdog::USUAL);

use death::{ends_while_futures_wait, forks_while_a_hold_waits, forks_while_futures_wait, waits_by_futures};
use line::has_no_thread_for_a_wait;
use many::{runs_futures, takes_turns_beside_them};
use support::puppet::puppet;

support::roles! {
    ends_while_futures_wait, forks_while_a_hold_waits, forks_while_futures_wait, has_no_thread_for_a_wait, puppet, runs_futures, takes_turns_beside_them, waits_by_futures,
}
