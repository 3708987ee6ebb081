//! A neighbour that writes whatever it likes wherever it likes into the file: no process crashes, and no call
//! takes longer than its limit. That two are inside at once is then possible and not asked about; what a call
//! says (the lock, or an error) is not either, unless the test's name says so.

mod header;
mod healing;
mod kinds;
mod neighbours;
mod recording;
mod restless;
mod scene;
mod watch;
mod words;

use healing::dying;
use neighbours::neighbour;

support::watched_for_seconds!(support::watchdog::USUAL);

support::roles! { dying, neighbour }
