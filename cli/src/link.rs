//! `turnlock link`: starts `turnlock-link`, which is a program of its own.

use super::{escape, exit, print};
use std::{
    ffi::OsString,
    io::ErrorKind,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Command, ExitCode},
};

/// One lock on several hosts: run turnlock-link, the agents of linked locks over etcd
///
/// turnlock-link is a program of its own, so that turnlock needs none of what it needs to talk to etcd. It is looked for beside turnlock,
/// and then in PATH, and gets these words as they are: `turnlock link status` is `turnlock-link status`. Install it from turnlock's
/// sources by `cargo install --path link/command` (protoc is needed to build it; Debian: apt-get install protobuf-compiler).
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  those of turnlock-link
  64  the command line is wrong
  69  turnlock-link is not installed, or cannot be started

EXAMPLES
  turnlock link run /run/app.lock accounts --host db1 --endpoints 10.0.0.1:2379
  turnlock link status
  turnlock link forget db1                                 it is gone, and its programs with it
  turnlock link run --help")]
pub struct Link {
    /// run, forget, status or help, and what goes with it
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    arguments: Vec<OsString>,
}

const NAME: &str = "turnlock-link";

impl Link {
    /// Becomes it.
    pub fn run(&self) -> ExitCode {
        let (beside, program) = (beside(), program());
        let error = Command::new(&program).args(&self.arguments).exec();
        let why = match error.kind() {
            ErrorKind::NotFound => {
                let beside =
                    beside.map_or_else(String::new, |path| format!(" as {}, nor", escape::path(&path)));
                format!(
                    "{NAME} is not installed: it is not there{beside} in PATH; install it from turnlock's sources by `cargo install \
                     --path link/command`"
                )
            }
            _ => format!("cannot start {}: {error}", escape::path(&program)),
        };
        print::fail(exit::CANNOT_RUN, &why)
    }
}

/// Returns where it is: beside this program, or else to be looked for in PATH.
pub fn program() -> PathBuf {
    beside().filter(|path| path.is_file()).unwrap_or_else(|| NAME.into())
}

/// Returns where it would lie beside this program.
fn beside() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.with_file_name(NAME))
}
