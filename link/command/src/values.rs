//! What stands in the keys: JSON, so that a person can read it by etcdctl; in `held` and in the queue the name of the host.

use serde::{Deserialize, Serialize};
use turnlock_link_agent::Data;

/// In `state`, what goes along with the privilege. It says nothing of its revision, which etcd has.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// A decimal string: readers of JSON may take numbers for doubles.
    reserved: String,
    data: StoredData,
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
    /// Returns the text of a state.
    pub fn text(reserved: u64, data: Data) -> String {
        to_text(&Self { reserved: reserved.to_string(), data: data.into() })
    }

    /// Returns the last token that is reserved, and what is known of the data. `None`: it is none of this program's.
    pub fn read(text: &[u8]) -> Option<(u64, Data)> {
        let stored: Self = serde_json::from_slice(text).ok()?;
        Some((stored.reserved.parse().ok()?, stored.data.into()))
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
            let text = Stored::text(u64::MAX, data);
            assert_eq!(Stored::read(text.as_bytes()), Some((u64::MAX, data)), "{text}");
        }
        assert_eq!(Stored::text(7, Data::NotRecoverable), r#"{"reserved":"7","data":"not_recoverable"}"#);
        for bad in ["", "7", r#"{"reserved":"-1","data":"consistent"}"#, r#"{"reserved":"7","data":"?"}"#] {
            assert_eq!(Stored::read(bad.as_bytes()), None, "{bad}");
        }
    }
}
