//! Opening and creating: many at once end in one file; whatever else lies at the path is refused, in words that help,
//! and left as it is; what happens to the file while it is open is noticed.

mod bad;
mod changed;
mod golden;
mod permissions;
mod race;
mod witness;

use permissions::tries_as;
use race::opens_at_once;
use support::puppet::puppet;

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! { opens_at_once, puppet, tries_as }
