//! Conditions, events, barriers and onces between processes that die, stop and come too late.

mod barrier;
mod condition;
mod event;
mod forked;
mod hostile;
mod once;
mod party;
mod recorded;
mod refused;
mod status;

use forked::forker;
use party::party;

support::watched_for_seconds!(support::watchdog::USUAL);
support::roles!(forker, party);
