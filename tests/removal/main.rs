//! Removing named locks: what is refused, what becomes of handles that are open, and that no participant is ever inside
//! beside another, whatever is removed and created anew meanwhile.

mod allocation;
mod beside;
mod churn;
mod handles;
mod refused;

support::watched_for_seconds!(support::watchdog::USUAL);

use beside::removes_beside;
use churn::{churns, removes};
use handles::locks_by_a_stale_handle;
use support::puppet::puppet;

support::roles! { churns, locks_by_a_stale_handle, puppet, removes, removes_beside }
