//! Opening and creating: many at once end in one file; whatever else lies at the path is refused, in words that help,
//! and left as it is; what happens to the file while it is open is noticed.
#![cfg(not(any(loom, shuttle)))]

#[path = "opening/bad.rs"]
mod bad;
#[path = "opening/changed.rs"]
mod changed;
#[path = "opening/golden.rs"]
mod golden;
#[path = "opening/permissions.rs"]
mod permissions;
#[path = "opening/race.rs"]
mod race;
mod support;
#[path = "opening/witness.rs"]
mod witness;

use permissions::tries_as;
use race::opens_at_once;
use support::puppet::puppet;

crate::roles! { opens_at_once, puppet, tries_as }
