//! How values are kept in columns. An impossible value is a named error.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Result, StoreError};
use crate::clock::Timestamp;
use crate::model::user::{ConsoleRole, LifeState};
use crate::secret::Digest;

pub(super) fn parse<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T> {
    text.parse().map_err(|_| StoreError::Corrupt(what))
}

pub(super) fn digest(text: &str, what: &'static str) -> Result<Digest> {
    Digest::from_text(text).ok_or(StoreError::Corrupt(what))
}

pub(super) fn from_json<T: DeserializeOwned>(text: &str, what: &'static str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| StoreError::Corrupt(what))
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|_| StoreError::Corrupt("a value that is no JSON"))
}

pub(super) const fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(super) fn life_state(text: &str) -> Result<LifeState> {
    match text {
        "invited" => Ok(LifeState::Invited),
        "active" => Ok(LifeState::Active),
        "suspended" => Ok(LifeState::Suspended),
        "terminated" => Ok(LifeState::Terminated),
        _ => Err(StoreError::Corrupt("a state")),
    }
}

pub(super) fn console_role(text: &str) -> Result<ConsoleRole> {
    match text {
        "owner" => Ok(ConsoleRole::Owner),
        "admin" => Ok(ConsoleRole::Admin),
        "support" => Ok(ConsoleRole::Support),
        "auditor" => Ok(ConsoleRole::Auditor),
        _ => Err(StoreError::Corrupt("a console role")),
    }
}
