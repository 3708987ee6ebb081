//! Linked locks: programs enter only while the lock is home, whatever becomes of its agent. (`docs/hosts.md`.)

mod agents;
mod dead_agent;
mod leased;
mod moved;
mod refused;
mod rwlocks;
mod semaphores;
mod to_read;
mod tokens;
mod torn;

support::watched_for_seconds!(support::watchdog::USUAL);

use agents::agent;
use support::puppet::puppet;
use torn::{enters, moves};

support::roles! { agent, enters, moves, puppet }
