//! What the doctor finds.

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    /// It will hurt, or does.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Finding {
    /// Of what: a word that stays the same from version to version.
    pub about: &'static str,
    pub severity: Severity,
    /// What was found, in a sentence.
    pub finding: String,
    /// What to do, in a sentence.
    pub to_do: Option<String>,
}

impl Finding {
    pub fn good(about: &'static str, finding: impl Into<String>) -> Self {
        Self { about, severity: Severity::Good, finding: finding.into(), to_do: None }
    }

    pub fn note(about: &'static str, finding: impl Into<String>, to_do: impl Into<String>) -> Self {
        let (finding, to_do) = (finding.into(), Some(to_do.into()));
        Self { about, severity: Severity::Note, finding, to_do }
    }

    pub fn problem(about: &'static str, finding: impl Into<String>, to_do: impl Into<String>) -> Self {
        let (finding, to_do) = (finding.into(), Some(to_do.into()));
        Self { about, severity: Severity::Problem, finding, to_do }
    }
}
