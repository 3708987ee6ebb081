//! Why a demo comes to no verdict.

/// Why there is no verdict.
pub enum NoVerdict {
    /// In a sentence.
    Failed(String),
    /// What the demo needs is not installed.
    Missing(String),
    /// A signal came.
    Interrupted(i32),
    /// There is one, and it cannot be printed.
    Unprinted(std::io::Error),
}

impl From<String> for NoVerdict {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}
