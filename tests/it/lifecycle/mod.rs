//! The lifecycle of users and accounts, the audit log, and cooldowns after denials.

mod attacks;
mod audit;
mod concurrent;
mod cooldowns;
mod devices;
pub mod erasure;
mod held_requests;
mod indistinguishable;
mod recovery;
mod states;

use reqwest::Method;
use serde_json::Value;

use crate::harness::{TestHost, Text};

/// Returns the audit entries that match this query, the oldest first.
pub async fn entries(host: &TestHost, query: &str) -> Vec<Value> {
    let path = format!("/audit?limit=200&{query}");
    let mut answer = host.admin_ok(Method::GET, &path, Value::Null).await;
    let mut items = answer["items"]
        .as_array_mut()
        .map(std::mem::take)
        .expect("items");
    items.reverse();
    items
}

/// Returns the events of the entries.
pub fn events(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["event"].text()).collect()
}
