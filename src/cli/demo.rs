//! `turnlock demo`.

/// Programs in four languages share one lock; one of them is killed inside.
#[derive(clap::Args)]
pub struct Demo {}

impl Demo {
    /// Runs the demo.
    pub fn run(&self) -> std::process::ExitCode {
        std::process::ExitCode::SUCCESS
    }
}
