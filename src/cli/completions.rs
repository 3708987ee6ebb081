//! `turnlock completions`: what a shell completes a command line by.

use super::print;
use clap::CommandFactory;
use clap_complete::Shell;
use std::process::ExitCode;

/// Print what bash, zsh or fish complete turnlock's command lines by
///
/// install.sh puts it where each of them looks below its prefix.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  printed
  64  the command line is wrong
  71  standard output cannot be written to

EXAMPLES
  turnlock completions bash > ~/.local/share/bash-completion/completions/turnlock
  turnlock completions zsh > ~/.zfunc/_turnlock     with fpath+=~/.zfunc before compinit
  turnlock completions fish > ~/.config/fish/completions/turnlock.fish")]
pub struct Completions {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut super::Cli::command(), "turnlock", &mut text);
        print::and_end(&String::from_utf8_lossy(&text), 0)
    }
}
