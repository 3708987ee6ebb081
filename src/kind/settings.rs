//! The settings of a lock: what it gets when it is created, and what one that exists must have.

use crate::layout::DeathPolicy;
use std::time::Duration;

/// A setting, as the opener of a lock asks for it.
#[derive(Clone, Copy, Debug)]
pub enum Setting<T> {
    /// Asked for: a lock that is created now gets it, and one that exists must have it.
    Required(T),
    /// Not asked for: a lock that is created now gets it, and one that exists keeps what it has.
    Default(T),
}

impl<T: Copy + PartialEq> Setting<T> {
    fn of(asked: Option<T>, default: T) -> Self {
        asked.map_or(Self::Default(default), Self::Required)
    }

    /// Returns what a lock that is created now gets.
    pub fn value(self) -> T {
        match self {
            Self::Required(value) | Self::Default(value) => value,
        }
    }

    /// Returns what was asked for, if a lock with the value `found` does not have it.
    fn missing_in(self, found: T) -> Option<T> {
        match self {
            Self::Required(asked) => (asked != found).then_some(asked),
            Self::Default(_) => None,
        }
    }
}

/// The optional settings of a lock.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long a waiter lets others pass, in nanoseconds.
    pub patience: Setting<u64>,
    /// What a holder's death means.
    pub death_policy: Setting<DeathPolicy>,
}

impl Settings {
    /// Returns the settings of a lock that exists, for one like it: none of them is asked for.
    pub fn of_lock(patience: u64, death_policy: DeathPolicy) -> Self {
        Self { patience: Setting::Default(patience), death_policy: Setting::Default(death_policy) }
    }

    /// Checks that a lock with these values has what was asked for. If not: says what it has, and what to do.
    pub fn check(&self, name: &str, patience: u64, death_policy: DeathPolicy) -> Result<(), String> {
        if let Some(asked) = self.patience.missing_in(patience) {
            return Err(differs("patience", name, &in_words(patience), &in_words(asked)));
        }
        if let Some(asked) = self.death_policy.missing_in(death_policy) {
            return Err(differs("death policy", name, death_policy.name(), asked.name()));
        }
        Ok(())
    }
}

fn differs(what: &str, name: &str, has: &str, asked: &str) -> String {
    format!(
        "its lock {name:?} was created with the {what} {has}, which it keeps, and {asked} was asked for: ask for what it has, \
         or for none, or use another name"
    )
}

/// Returns a patience, for people.
fn in_words(nanoseconds: u64) -> String {
    match nanoseconds {
        0 => "0 (strict order)".into(),
        nanoseconds => format!("{:?}", Duration::from_nanos(nanoseconds)),
    }
}

/// The settings in the options of a kind of lock.
#[derive(Clone, Copy, Debug)]
pub struct SettingOptions {
    /// What was asked for.
    pub patience: Option<Duration>,
    /// What a lock that is created now gets else.
    pub default_patience: Duration,
    /// What was asked for.
    pub death_policy: Option<DeathPolicy>,
    /// What a lock that is created now gets else.
    pub default_death_policy: DeathPolicy,
}

impl SettingOptions {
    /// Asks for nothing.
    pub fn new(default_patience: Duration) -> Self {
        Self {
            patience: None,
            default_patience,
            death_policy: None,
            default_death_policy: DeathPolicy::default(),
        }
    }

    /// Returns them, for the directory.
    pub fn settings(&self) -> Settings {
        let nanoseconds = |patience: Duration| u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        Settings {
            patience: Setting::of(self.patience.map(nanoseconds), nanoseconds(self.default_patience)),
            death_policy: Setting::of(self.death_policy, self.default_death_policy),
        }
    }
}
