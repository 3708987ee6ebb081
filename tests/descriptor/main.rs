//! Lock files by descriptor: a memfd, a file that was inherited or came over a socket; and open lock files whose path
//! leads nowhere any more.

mod given;
mod left;
mod path;

support::watched_for_seconds!(support::watchdog::USUAL);

use given::{hands_on_to_children, makes_it_with_others};
use path::{changes_its_root, child_attaches, loses_proc};
use support::puppet::puppet;

support::roles! { changes_its_root, child_attaches, hands_on_to_children, loses_proc, makes_it_with_others, puppet }
