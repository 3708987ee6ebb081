//! A command that this build of turnlock does not have.

use super::{exit, print};
use std::{ffi::OsString, process::ExitCode};

/// Not in this build of turnlock
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct LeftOut {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

impl LeftOut {
    /// Says how to have the command.
    pub fn run(&self, command: &str, feature: &str) -> ExitCode {
        let why = format!(
            "this turnlock was built without `turnlock {command}`: ./install.sh builds all of it, as does cargo with \
             `--features turnlock-cli/full` (for this command alone, `turnlock-cli/{feature}`)"
        );
        print::fail(exit::USAGE, &why)
    }
}
