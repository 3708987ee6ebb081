//! `turnlock top`, `watch` and `explain`, as a user meets them: in a terminal of 80 columns, with keys, signals and a file that
//! goes; and as lines, for programs.

mod explain;
mod messages;
mod terminal;
mod top;
mod watch;

use support::command::Fixture;

support::watched_for_seconds!(support::watchdog::USUAL);

/// The command under test.
const TURNLOCK: &str = env!("CARGO_BIN_EXE_turnlock");

fn new_fixture() -> Fixture {
    Fixture::new(TURNLOCK)
}
