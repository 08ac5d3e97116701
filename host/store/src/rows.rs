//! How values are kept in columns. An impossible value is a named error.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Result, StoreError};
use assent_model::clock::Timestamp;
use assent_model::secret::Digest;
use assent_model::user::{ConsoleRole, LifecycleState};

pub(crate) fn parse<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T> {
    text.parse().map_err(|_| StoreError::Corrupt(what))
}

pub(crate) fn digest(text: &str, what: &'static str) -> Result<Digest> {
    Digest::from_text(text).ok_or(StoreError::Corrupt(what))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str, what: &'static str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| StoreError::Corrupt(what))
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|_| StoreError::Corrupt("a value that is no JSON"))
}

pub(crate) const fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn life_state(text: &str) -> Result<LifecycleState> {
    match text {
        "invited" => Ok(LifecycleState::Invited),
        "active" => Ok(LifecycleState::Active),
        "suspended" => Ok(LifecycleState::Suspended),
        "terminated" => Ok(LifecycleState::Terminated),
        _ => Err(StoreError::Corrupt("a state")),
    }
}

pub(crate) fn console_role(text: &str) -> Result<ConsoleRole> {
    match text {
        "owner" => Ok(ConsoleRole::Owner),
        "admin" => Ok(ConsoleRole::Admin),
        "support" => Ok(ConsoleRole::Support),
        "auditor" => Ok(ConsoleRole::Auditor),
        _ => Err(StoreError::Corrupt("a console role")),
    }
}
