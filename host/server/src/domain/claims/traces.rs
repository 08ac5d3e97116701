//! The claim traces, which explain the claims of an application: the run of each plugin for a token or an assertion.
//!
//! Traces are only explanations, so no request waits for them. They are written in the background. If there are too
//! many, some are lost, and the log says so.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::trace_queue::{QueuedTrace, StoredResult};
use crate::domain::Services;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, FamilyId, TraceId, UserId};
use assent_model::secret::Digest;
use assent_plugin_host::{
    MapFailureKind, MapperRun, MapperRunEnd, SamlAttribute, Sink, TracedChange,
};
use assent_store::{ClaimTrace, StoreError};

const BATCH: usize = 64;
/// The time for which traces are collected for one write.
const GATHER: Duration = Duration::from_millis(50);

/// The share of the retention after which an equal result gets a new trace: a tenth.
const SHARE_OF_RETENTION: u32 = 10;
/// Stands in a `jti` before that of the earlier token with the same result.
const SAME_RESULT: char = '.';

/// The purpose of the claims.
#[derive(Clone, Copy, Debug)]
pub struct TracePurpose<'a> {
    /// The token's `jti`, or the assertion's ID.
    pub token: &'a str,
    /// The user.
    pub user: UserId,
    /// The application.
    pub application: &'a Did,
    /// The receiver of the claims.
    pub sink: Sink,
}

/// Stores the runs of the plugins, if there are any and the settings require it.
pub fn record(services: &Services, purpose: TracePurpose<'_>, steps: &[MapperRun]) {
    if is_recorded(services, steps) {
        queue(services, purpose, &explain(steps), None);
    }
}

/// Does the same as [`record`] for the ID token of a refresh, unless the result equals the last one of the token
/// family. Returns the token's `jti`: that of `purpose`, or this one and the `jti` of the earlier token with that
/// result.
pub fn record_refreshed(
    services: &Services,
    purpose: TracePurpose<'_>,
    steps: &[MapperRun],
    family: FamilyId,
) -> String {
    let own = purpose.token.to_owned();
    if !is_recorded(services, steps) {
        return own;
    }
    let calls = explain(steps);
    let Ok(result) = result_of(&calls) else {
        return own;
    };
    // A trace is deleted after its retention, so a later token needs one of its own.
    let is_recent =
        |created_at| created_at + retention(services) / SHARE_OF_RETENTION > services.now();
    match services.traces.last_result(family) {
        Some(last) if last.digest == result && is_recent(last.created_at) => {
            format!("{own}{SAME_RESULT}{}", last.token)
        }
        _ => {
            queue(services, purpose, &calls, Some((family, result)));
            own
        }
    }
}

fn is_recorded(services: &Services, steps: &[MapperRun]) -> bool {
    !steps.is_empty() && !services.settings.plugins.trace_retention.is_zero()
}

/// The digest of the calls, without the resources that they used.
fn result_of(calls: &[PluginCall]) -> serde_json::Result<Digest> {
    let without_usage = |call: &PluginCall| PluginCall {
        fuel: 0,
        time_us: 0,
        memory: 0,
        ..call.clone()
    };
    let calls: Vec<PluginCall> = calls.iter().map(without_usage).collect();
    Ok(Digest::sha256(&serde_json::to_vec(&calls)?))
}

fn queue(
    services: &Services,
    purpose: TracePurpose<'_>,
    calls: &[PluginCall],
    result: Option<(FamilyId, Digest)>,
) {
    let now = services.now();
    let trace = ClaimTrace {
        id: TraceId::new(now, &*services.entropy),
        token: purpose.token.to_owned(),
        user_id: purpose.user,
        application: purpose.application.clone(),
        sink: purpose.sink.as_str().to_owned(),
        created_at: now,
        calls: serde_json::to_string(calls).unwrap_or_default(),
    };
    let queued = QueuedTrace { trace, result };
    if services.traces.queue.try_send(queued).is_err() {
        tracing::warn!(
            token = purpose.token,
            "claim trace dropped: the queue is full"
        );
    }
}

/// Writes traces from the queue, until the task is dropped.
pub async fn run_trace_writer(services: Arc<Services>) {
    let mut waiting = services.traces.waiting.lock().await;
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        if batch.len() < BATCH {
            tokio::time::sleep(GATHER).await;
            while batch.len() < BATCH
                && let Ok(queued) = waiting.try_recv()
            {
                batch.push(queued);
            }
        }
        write(&services, std::mem::take(&mut batch)).await;
    }
}

async fn write(services: &Services, batch: Vec<QueuedTrace>) {
    let (mut traces, mut results) = (Vec::with_capacity(batch.len()), Vec::new());
    for QueuedTrace { trace, result } in batch {
        results.extend(result.map(|(family, digest)| {
            let (token, created_at) = (trace.token.clone(), trace.created_at);
            let result = StoredResult {
                digest,
                token,
                created_at,
            };
            (family, result)
        }));
        traces.push(trace);
    }
    match services.store.add_traces(traces).await {
        Ok(()) => {
            for (family, result) in results {
                services.traces.remember(family, result);
            }
        }
        Err(error) => tracing::warn!(%error, "claim traces not stored"),
    }
}

/// Returns the trace of a token or an assertion: of the token itself, or of the earlier one with the same result.
/// `text` is a token, its `jti`, or the ID of an assertion.
///
/// # Errors
/// If the database fails.
pub async fn find(services: &Services, text: &str) -> Result<Option<ClaimTrace>, StoreError> {
    let token = reference_of(text);
    let of_result = token.rsplit_once(SAME_RESULT).map_or(&*token, |(_, of)| of);
    let found = services.store.trace(of_result).await?;
    Ok(found.map(|trace| ClaimTrace { token, ..trace }))
}

/// Returns the retention of traces.
pub fn retention(services: &Services) -> Duration {
    services.settings.plugins.trace_retention.get()
}

/// A plugin call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PluginCall {
    /// The plugin's name in the settings.
    pub plugin: String,
    /// The component's own name.
    pub component: String,
    /// The component's own version.
    pub version: String,
    /// The SHA-256 digest of the file, in hexadecimal.
    pub sha256: String,
    /// The fuel that the call used.
    pub fuel: u64,
    /// The duration of the call, in microseconds.
    pub time_us: u64,
    /// The memory at the end of the call, in bytes.
    pub memory: u64,
    /// The outcome.
    pub outcome: PluginOutcome,
    /// The reason, if it changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// Its changes, in their order.
    pub changes: Vec<ExplainedChange>,
}

/// The outcome of a plugin call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PluginOutcome {
    /// It made its changes, or had none to make.
    Changed,
    /// It failed, and its changes were omitted.
    Skipped,
    /// It denied the user's sign-in.
    Denied,
    /// It failed, and the application received no claims.
    Failed,
}

/// A change: of a claim, or a new attribute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = PluginChange)]
pub struct ExplainedChange {
    /// The claim's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub claim: Option<String>,
    /// The value before it, if there was one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "there"
    )]
    pub before: Option<Value>,
    /// The value after it, if there is one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "there"
    )]
    pub after: Option<Value>,
    /// The attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attribute: Option<ExplainedAttribute>,
}

/// An attribute of an assertion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = SamlAttribute)]
pub struct ExplainedAttribute {
    /// `Name`.
    pub name: String,
    /// `NameFormat`; `null` for the basic one.
    pub name_format: Option<String>,
    /// `FriendlyName`.
    pub friendly_name: Option<String>,
    /// The type of the values, such as `xs:string`.
    #[serde(rename = "type")]
    pub value_type: String,
    /// One `AttributeValue` each.
    pub values: Vec<String>,
}

/// Deserializes a member that is present, even if it is `null`.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Returns the plugin calls, in their order.
pub fn explain(steps: &[MapperRun]) -> Vec<PluginCall> {
    steps.iter().map(explain_step).collect()
}

fn explain_step(step: &MapperRun) -> PluginCall {
    let MapperRun { plugin, usage, end } = step;
    let (outcome, reason, changes) = match end {
        MapperRunEnd::Changed(changes) => (PluginOutcome::Changed, None, changes.as_slice()),
        MapperRunEnd::LeftOut(fault) => (
            PluginOutcome::Skipped,
            Some(fault.to_string()),
            [].as_slice(),
        ),
        MapperRunEnd::Stopped(MapFailureKind::Deny(reason)) => {
            (PluginOutcome::Denied, Some(reason.clone()), [].as_slice())
        }
        MapperRunEnd::Stopped(MapFailureKind::Fault(fault)) => (
            PluginOutcome::Failed,
            Some(fault.to_string()),
            [].as_slice(),
        ),
    };
    PluginCall {
        plugin: plugin.plugin.clone(),
        component: plugin.component.clone(),
        version: plugin.version.clone(),
        sha256: plugin.sha256.clone(),
        fuel: usage.fuel,
        time_us: u64::try_from(usage.time.as_micros()).unwrap_or(u64::MAX),
        memory: usage.memory as u64,
        outcome,
        reason,
        changes: changes.iter().map(explain_change).collect(),
    }
}

fn explain_change(change: &TracedChange) -> ExplainedChange {
    match change {
        TracedChange::Claim {
            name,
            before,
            after,
        } => ExplainedChange {
            claim: Some(name.clone()),
            before: before.clone(),
            after: after.clone(),
            attribute: None,
        },
        TracedChange::Attribute(attribute) => ExplainedChange {
            attribute: Some(explain_attribute(attribute)),
            ..ExplainedChange::default()
        },
    }
}

/// Returns an attribute in the form for administrators.
pub fn explain_attribute(attribute: &SamlAttribute) -> ExplainedAttribute {
    ExplainedAttribute {
        name: attribute.name.clone(),
        name_format: attribute.name_format.clone(),
        friendly_name: attribute.friendly_name.clone(),
        value_type: attribute.value_type.as_str().to_owned(),
        values: attribute.values.clone(),
    }
}

/// Returns the identifier of an ID token or an assertion: `text` itself, or the `jti` of a token, which may have
/// expired.
fn reference_of(text: &str) -> String {
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

/// The plugin calls for a token or an assertion.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ClaimTrace)]
pub struct ShownTrace {
    /// The trace's id.
    pub id: String,
    /// The token's `jti`, or the assertion's ID.
    pub token: String,
    /// The user.
    pub user: String,
    /// The application that received it.
    pub application: String,
    /// The destination of the claims.
    pub sink: String,
    /// The time of creation.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// The plugin calls, in their order.
    pub calls: Vec<PluginCall>,
}

/// Returns a trace in the form for administrators.
pub fn show(trace: &ClaimTrace, at: impl Fn(Timestamp) -> String) -> ShownTrace {
    ShownTrace {
        id: trace.id.to_string(),
        token: trace.token.clone(),
        user: trace.user_id.to_string(),
        application: trace.application.to_string(),
        sink: trace.sink.clone(),
        created_at: at(trace.created_at),
        calls: serde_json::from_str(&trace.calls).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jwt_is_identified_by_its_jti_and_any_other_text_by_itself() {
        // {"alg":"none"} . {"jti":"t1","sub":"ada"} . signature
        assert_eq!(
            reference_of("eyJhbGciOiJub25lIn0.eyJqdGkiOiJ0MSIsInN1YiI6ImFkYSJ9.c2ln"),
            "t1"
        );
        for other in [
            "_0123",
            "a.b.c",
            "",
            "eyJhbGciOiJub25lIn0.eyJqdGkiOiJ0MSJ9",
            "a.eyJqdGkiOjF9.b",
        ] {
            assert_eq!(reference_of(other), other);
        }
    }
}
