//! The comparison of the current plugins with a candidate.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::preview::{Preview, PreviewContent, PreviewRequest, PreviewSubject};
use crate::domain::admin::{Result, invalid};
use crate::domain::{Services, audit};
use assent_model::audit::{AuditContext, Event};
use assent_model::id::Did;
use assent_model::secret::Digest;
use assent_plugin_host::{Candidate, CandidateError, LogLine, Sink};

/// The differences that result from a candidate plugin.
#[derive(Clone, Debug)]
pub struct PreviewComparison {
    /// The claims of the loaded plugins.
    pub current: Vec<Preview>,
    /// The claims with the candidate.
    pub candidate: Vec<Preview>,
    /// The differences.
    pub differences: Vec<Difference>,
    /// The candidate's log lines.
    pub log: Vec<LogLine>,
}

/// A value that differs with the candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The receiver of the value.
    pub sink: Sink,
    /// The claim or attribute, as a JSON pointer (RFC 6901). `/stopped` if a plugin prevents the response to the
    /// application.
    pub path: String,
    /// The current value, if there is one.
    pub current: Option<Value>,
    /// The value with the candidate, if there is one.
    pub candidate: Option<Value>,
}

/// The largest length of a plugin's name, in characters.
const LONGEST_NAME: usize = 64;

/// Runs the preview with the current plugins, and with a candidate among them, which is loaded only for this.
///
/// # Errors
/// [`AdminError::Invalid`](crate::domain::admin::AdminError::Invalid) at `candidate` if the candidate cannot be used,
/// at `candidate/config` if it needs its own settings.
pub(super) async fn compare(
    services: &Services,
    application: &Did,
    request: &PreviewRequest,
    candidate: Candidate,
    by: &AuditContext,
) -> Result<PreviewComparison> {
    let previewed = PreviewSubject::find(services, application, request).await?;
    record_preview(services, application, &previewed, &candidate, by).await?;
    let (set, journal) = services
        .plugins
        .with_candidate(candidate)
        .await
        .map_err(|error| {
            let field = match error {
                CandidateError::NeedsConfig => "candidate/config",
                CandidateError::Load(_) => "candidate",
            };
            invalid(field, error.to_string())
        })?;
    let current = previewed
        .preview_with(services, &services.plugins.set())
        .await?;
    let candidate = previewed.preview_with(services, &set).await?;
    let differences = current
        .iter()
        .zip(&candidate)
        .flat_map(|(current, candidate)| differences(current, candidate));
    Ok(PreviewComparison {
        differences: differences.collect(),
        current,
        candidate,
        log: journal.lines(),
    })
}

/// Adds an audit entry before a candidate runs, because the candidate reads data of a user.
async fn record_preview(
    services: &Services,
    application: &Did,
    previewed: &PreviewSubject,
    Candidate {
        plugin, component, ..
    }: &Candidate,
    by: &AuditContext,
) -> Result<()> {
    let digest = match component {
        Some(bytes) => Some(Digest::sha256(bytes).to_text()),
        None => {
            let known = services
                .plugins
                .set()
                .identities()
                .into_iter()
                .find(|identity| identity.plugin == *plugin);
            known.map(|identity| identity.sha256)
        }
    };
    let stored = previewed.account.is_stored();
    let entry = audit::entry(services, Event::ClaimsCompared, by)
        .about(previewed.user.id)
        .in_application(application.clone());
    let entry = entry
        .with("account", stored.then(|| previewed.account.id.to_string()))
        .with(
            "plugin",
            plugin.chars().take(LONGEST_NAME).collect::<String>(),
        )
        .with("sha256", digest);
    services.store.append_audit(vec![entry]).await?;
    Ok(())
}

/// Returns the values that differ for one receiver.
fn differences(current: &Preview, candidate: &Preview) -> Vec<Difference> {
    let (left, right) = (values(current), values(candidate));
    let paths: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let differing = paths
        .into_iter()
        .filter(|path| left.get(*path) != right.get(*path));
    differing
        .map(|path| Difference {
            sink: current.sink,
            path: path.clone(),
            current: left.get(path).cloned(),
            candidate: right.get(path).cloned(),
        })
        .collect()
}

/// Returns the values of a preview by their JSON pointers.
fn values(preview: &Preview) -> BTreeMap<String, Value> {
    let at =
        |kind: &str, name: &str| format!("/{kind}/{}", name.replace('~', "~0").replace('/', "~1"));
    match &preview.content {
        Ok(PreviewContent::Claims(claims)) => claims
            .iter()
            .map(|(name, value)| (at("claims", name), value.clone()))
            .collect(),
        Ok(PreviewContent::Attributes(attributes)) => {
            let mut values: BTreeMap<String, Value> = BTreeMap::new();
            for attribute in attributes {
                let added = attribute.values.iter().cloned().map(Value::String);
                let known = values
                    .entry(at("attributes", &attribute.name))
                    .or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(known) = known {
                    known.extend(added);
                }
            }
            values
        }
        Err(stopped) => [(
            "/stopped".to_owned(),
            Value::String(format!("{}: {}", stopped.plugin, stopped.reason)),
        )]
        .into_iter()
        .collect(),
    }
}
