//! What stands in the keys: JSON, so that a person can read it by etcdctl; in `held` and in the queue the name of the host.

use serde::{Deserialize, Serialize};
use turnlock_link_agent::{Data, Host, Mode, State};

/// In `state`, what goes along with the privilege. It says nothing of its revision, which etcd has.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// A decimal string: readers of JSON may take numbers for doubles.
    reserved: String,
    data: StoredData,
    #[serde(default)]
    mode: StoredMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken_by: Option<String>,
}

/// [`Mode`]; of a state that says nothing, kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredMode {
    #[default]
    Kept,
    Leased,
}

/// [`Data`], in the words of `turnlock status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredData {
    Consistent,
    Inconsistent,
    NotRecoverable,
}

impl Stored {
    /// Returns the text of a state. `taken_by`: the host that has it by a lease.
    pub fn text(reserved: u64, data: Data, mode: Mode, taken_by: Option<&str>) -> String {
        let mode = mode.into();
        let taken_by = taken_by.map(Into::into);
        to_text(&Self { reserved: reserved.to_string(), data: data.into(), mode, taken_by })
    }

    /// Returns the state, which was changed last at this revision. `None`: it is none of this program's.
    pub fn read(text: &[u8], modified: u64) -> Option<State> {
        let stored: Self = serde_json::from_slice(text).ok()?;
        Some(State {
            modified,
            reserved: stored.reserved.parse().ok()?,
            data: stored.data.into(),
            mode: stored.mode.into(),
            taken_by: stored.taken_by.map(Host::from),
        })
    }
}

/// In `hosts/HOST`: whose name that is. Every transaction of the host's agent compares the key's revision, so an agent whose host was
/// forgotten, or that another one has followed, changes nothing.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// The lock file: machine, path and time of creation.
    pub file: String,
    /// Of the agent that began last.
    pub pid: u32,
    /// A person said that the host is gone.
    pub forgotten: bool,
}

impl Registered {
    pub fn text(&self) -> String {
        to_text(self)
    }

    /// `None`: it is none of this program's.
    pub fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }
}

fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it has strings, numbers and booleans only")
}

impl From<Mode> for StoredMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Kept => Self::Kept,
            Mode::Leased => Self::Leased,
        }
    }
}

impl From<StoredMode> for Mode {
    fn from(mode: StoredMode) -> Self {
        match mode {
            StoredMode::Kept => Self::Kept,
            StoredMode::Leased => Self::Leased,
        }
    }
}

impl From<Data> for StoredData {
    fn from(data: Data) -> Self {
        match data {
            Data::Consistent => Self::Consistent,
            Data::Inconsistent => Self::Inconsistent,
            Data::NotRecoverable => Self::NotRecoverable,
        }
    }
}

impl From<StoredData> for Data {
    fn from(data: StoredData) -> Self {
        match data {
            StoredData::Consistent => Self::Consistent,
            StoredData::Inconsistent => Self::Inconsistent,
            StoredData::NotRecoverable => Self::NotRecoverable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_and_nothing_else_is() {
        for data in [Data::Consistent, Data::Inconsistent, Data::NotRecoverable] {
            for (mode, taken_by) in [(Mode::Kept, None), (Mode::Leased, None), (Mode::Leased, Some("a"))] {
                let text = Stored::text(u64::MAX, data, mode, taken_by);
                let taken_by = taken_by.map(Host::from);
                let state = State { modified: 3, reserved: u64::MAX, data, mode, taken_by };
                assert_eq!(Stored::read(text.as_bytes(), 3), Some(state), "{text}");
            }
        }
        let text = Stored::text(7, Data::NotRecoverable, Mode::Kept, None);
        assert_eq!(text, r#"{"reserved":"7","data":"not_recoverable","mode":"kept"}"#);
        for bad in ["", "7", r#"{"reserved":"-1","data":"consistent"}"#, r#"{"reserved":"7","data":"?"}"#] {
            assert_eq!(Stored::read(bad.as_bytes(), 3), None, "{bad}");
        }
    }
}
