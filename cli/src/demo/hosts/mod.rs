//! `turnlock demo --hosts N`: lock files stand for hosts, which share one linked lock by agents over an etcd of the demo's own.
//!
//! | module | what it has |
//! |---|---|
//! | `found` | etcd and turnlock-link: where they are, or how to install them |
//! | `process` | a process of the demo, and the guard that ends all if the demo is killed |
//! | `ears` | what programs say, and signals |
//! | `engine` | an etcd on loopback |
//! | `host` | a lock file and its agent |
//! | `program` | a program at a host: the part that this command plays when the demo starts it again |
//! | `stage` | all of them, and the counter and the journal that the programs share |
//! | `scenes` | what happens |
//! | `evidence` | what was seen |
//! | `verdict` | what is claimed, against what was seen: a pure function |
//! | `narrator` | what is printed |

mod ears;
mod engine;
mod evidence;
mod found;
mod host;
mod narrator;
mod process;
mod program;
mod scenes;
mod stage;
mod verdict;

pub use program::take_part;

use super::no_verdict::NoVerdict;
use narrator::Narrator;

/// The most hosts that the demo has.
pub const MOST: u64 = 5;

/// Runs it: `true`, all in order. `keep`: the folder stays.
pub fn run(count: usize, keep: bool, json: bool) -> Result<bool, NoVerdict> {
    // First, so that nothing is left of what is started from here on.
    let ears = ears::Ears::listen()?;
    let found = found::find()?;
    let mut folder = tempfile::Builder::new()
        .prefix("turnlock-demo-")
        .tempdir()
        .map_err(|error| format!("cannot make a temporary folder (TMPDIR says where): {error}"))?;
    folder.disable_cleanup(keep);
    let narrator = Narrator::new(json);
    narrator.opening(folder.path(), &found, count);
    let seen = {
        let mut stage = stage::Stage::set(folder.path(), found, count, keep, ears)?;
        scenes::play(&mut stage, &narrator)?
    };
    let verdict = verdict::verify(&seen);
    narrator.verdict(&verdict, keep.then(|| folder.path())).map_err(NoVerdict::Unprinted)?;
    Ok(verdict.in_order)
}
