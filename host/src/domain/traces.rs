//! Why an application was told what it was told: what each plugin did for a token or an assertion.
//!
//! Traces are for explaining, so nobody waits for them: they are written in the background, and where more come than can be
//! written, some are lost and the log says so.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Host;
use crate::clock::Timestamp;
use crate::id::{Did, TraceId, UserId};
use crate::plugins::{MapFailureKind, SamlAttribute, Sink, Step, StepEnd, Traced};
use crate::store::ClaimTrace;

/// How many traces wait to be written at most, and how many are written at once.
const QUEUE: usize = 1024;
const BATCH: usize = 64;
/// How long they gather, so that one write serves many.
const GATHER: Duration = Duration::from_millis(50);

/// Traces on their way to the store.
#[derive(Debug)]
pub struct Traces {
    queue: mpsc::Sender<ClaimTrace>,
    waiting: Mutex<Option<mpsc::Receiver<ClaimTrace>>>,
}

impl Default for Traces {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        Self { queue, waiting: Mutex::new(Some(waiting)) }
    }
}

/// What the claims were made for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose<'a> {
    /// The token's `jti`, or the assertion's ID.
    pub token: &'a str,
    /// Whom they are about.
    pub user: UserId,
    /// Whom they are for.
    pub application: &'a Did,
    /// Where they go.
    pub sink: Sink,
}

/// Keeps what the plugins did, if there are any and the settings say so.
pub fn record(host: &Host, purpose: Purpose<'_>, steps: &[Step]) {
    if steps.is_empty() || host.settings.plugins.trace_hours == 0 {
        return;
    }
    let now = host.now();
    let trace = ClaimTrace {
        id: TraceId::new(now, &*host.entropy),
        token: purpose.token.to_owned(),
        user_id: purpose.user,
        application: purpose.application.clone(),
        sink: purpose.sink.as_str().to_owned(),
        made_at: now,
        steps: explain(steps).to_string(),
    };
    if host.traces.queue.try_send(trace).is_err() {
        tracing::warn!(token = purpose.token, "what the plugins did for this token is not kept: too many traces wait");
    }
}

/// Writes traces as they come, until the task is dropped.
pub async fn keep(host: Arc<Host>) {
    let waiting = host.traces.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut waiting) = waiting else { return };
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        if batch.len() < BATCH {
            tokio::time::sleep(GATHER).await;
            while batch.len() < BATCH
                && let Ok(trace) = waiting.try_recv()
            {
                batch.push(trace);
            }
        }
        if let Err(error) = host.store.add_traces(std::mem::take(&mut batch)).await {
            tracing::warn!(%error, "what the plugins did for some tokens is not kept");
        }
    }
}

/// How long traces are kept.
pub fn kept(host: &Host) -> Duration {
    Duration::from_secs(u64::from(host.settings.plugins.trace_hours) * 60 * 60)
}

/// What each plugin did, as an administrator reads it: a JSON array, in the plugins' order.
///
/// Of each: which one (`plugin`, `component`, `version`, `sha256`), what its call used (`fuel`, `time_us`, `memory`), how it
/// ended (`outcome`: `changed`, `left_out`, `denied`, `failed`, with `reason`) and its `changes`: a `claim` with its value
/// `before` and `after`, where there is one, or an `attribute`.
pub fn explain(steps: &[Step]) -> Value {
    steps.iter().map(explain_step).collect()
}

fn explain_step(step: &Step) -> Value {
    let Step { plugin, usage, end } = step;
    let (outcome, reason, changes) = match end {
        StepEnd::Changed(changes) => ("changed", None, changes.as_slice()),
        StepEnd::LeftOut(fault) => ("left_out", Some(fault.to_string()), [].as_slice()),
        StepEnd::Stopped(MapFailureKind::Deny(reason)) => ("denied", Some(reason.clone()), [].as_slice()),
        StepEnd::Stopped(MapFailureKind::Fault(fault)) => ("failed", Some(fault.to_string()), [].as_slice()),
    };
    let changes: Vec<Value> = changes.iter().map(explain_change).collect();
    let mut told = json!({
        "plugin": plugin.plugin,
        "component": plugin.component,
        "version": plugin.version,
        "sha256": plugin.sha256,
        "fuel": usage.fuel,
        "time_us": u64::try_from(usage.time.as_micros()).unwrap_or(u64::MAX),
        "memory": usage.memory,
        "outcome": outcome,
        "changes": changes,
    });
    if let (Some(reason), Some(told)) = (reason, told.as_object_mut()) {
        told.insert("reason".to_owned(), json!(reason));
    }
    told
}

fn explain_change(change: &Traced) -> Value {
    match change {
        Traced::Claim { name, before, after } => {
            let mut told = serde_json::Map::new();
            told.insert("claim".to_owned(), json!(name));
            for (key, value) in [("before", before), ("after", after)] {
                if let Some(value) = value {
                    told.insert(key.to_owned(), value.clone());
                }
            }
            Value::Object(told)
        }
        Traced::Attribute(attribute) => json!({ "attribute": explain_attribute(attribute) }),
    }
}

/// An attribute as an administrator reads it.
pub fn explain_attribute(attribute: &SamlAttribute) -> Value {
    json!({
        "name": attribute.name,
        "name_format": attribute.name_format,
        "friendly_name": attribute.friendly_name,
        "type": attribute.value_type.as_str(),
        "values": attribute.values,
    })
}

/// What an ID token or an assertion is known by: `text` itself, or the `jti` of a token, which need not be good any more.
pub fn reference_of(text: &str) -> String {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    let payload = || {
        let mut parts = text.split('.');
        let payload = parts.nth(1).filter(|_| parts.count() == 1)?;
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
        Some(claims.get("jti")?.as_str()?.to_owned())
    };
    payload().unwrap_or_else(|| text.trim().to_owned())
}

/// A trace, as an administrator reads it.
pub fn show(trace: &ClaimTrace, at: impl Fn(Timestamp) -> String) -> Value {
    let steps: Value = serde_json::from_str(&trace.steps).unwrap_or_default();
    json!({
        "id": trace.id,
        "token": trace.token,
        "user": trace.user_id,
        "application": trace.application,
        "sink": trace.sink,
        "made_at": at(trace.made_at),
        "steps": steps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_jti_and_everything_else_by_itself() {
        // {"alg":"none"} . {"jti":"t1","sub":"ada"} . signature
        assert_eq!(reference_of("eyJhbGciOiJub25lIn0.eyJqdGkiOiJ0MSIsInN1YiI6ImFkYSJ9.c2ln"), "t1");
        for other in ["_0123", "a.b.c", "", "eyJhbGciOiJub25lIn0.eyJqdGkiOiJ0MSJ9", "a.eyJqdGkiOjF9.b"] {
            assert_eq!(reference_of(other), other);
        }
    }
}
