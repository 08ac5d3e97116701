//! Planning of logos.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use url::Url;

use super::applications::Applications;
use super::change::{ChangeAction, FieldChange, LogoFetch, ObjectKind, Operation, PlannedChange};
use super::manifest::ManifestApplication;
use super::planner::{ManifestPosition, Planner};
use crate::domain::admin::Result;
use assent_model::application::Application;
use assent_model::id::Did;
use assent_model::logo::ApplicationLogo;
use assent_model::secret::Digest;

/// Plans the logos of the applications of a manifest.
///
/// # Errors
/// [`AdminError`](crate::domain::admin::AdminError) if the error is not about a value of the manifest.
pub(super) async fn plan(
    planner: &mut Planner<'_>,
    described: &[ManifestApplication],
    applications: &Applications,
) -> Result<()> {
    let sources = changed_logo_uris(&planner.changes);
    for (index, application) in described.iter().enumerate() {
        let common = application.common();
        let has_logo_uri = application.has_logo_uri();
        let Some(application) = applications.get(&common.key) else {
            continue;
        };
        let position = ManifestPosition {
            list: "applications",
            index,
            key: common.key.as_str(),
        };
        let after = match (&common.logo, sources.get(&application.id)) {
            (Some(_), _) if has_logo_uri => {
                planner.reject(&position, "logo", "expected this or logo_uri, not both");
                continue;
            }
            (Some(text), _) => match parse_logo(text) {
                Ok(after) => after,
                Err(expected) => {
                    planner.reject(&position, "logo", expected);
                    continue;
                }
            },
            (None, Some(Some(uri))) => {
                let store = &planner.context.services.store;
                planner.logo_fetches.push(LogoFetch {
                    before: store.logo_digest(&application.id).await?,
                    pointer: position.pointer("logo_uri"),
                    key: common.key.clone(),
                    application: application.id.clone(),
                    uri: uri.clone(),
                });
                continue;
            }
            // The logo of an address goes with it.
            (None, Some(None)) => None,
            (None, None) => continue,
        };
        let before = match application.version {
            None => None,
            Some(_) => planner.context.services.store.logo(&application.id).await?,
        };
        let action = match (&before, &after) {
            (None, None) => continue,
            (Some(before), Some(after)) if before == after => continue,
            (None, Some(_)) => ChangeAction::Create,
            (Some(_), Some(_)) => ChangeAction::Update,
            (Some(_), None) => ChangeAction::Delete,
        };
        let authorization = planner.context.caller.authorize_application_writes()?;
        planner.authorizations.push(authorization);
        if let Some(version) = application.version {
            let found = (application.id.clone(), version);
            planner.expected.applications.push(found);
        }
        let image = FieldChange {
            name: "image".to_owned(),
            before: digest(before.as_ref()),
            after: digest(after.as_ref()),
        };
        let operation = Operation::ChangeLogo {
            application: application.id.clone(),
            before: before.map(|logo| logo.digest),
            after,
        };
        let change = PlannedChange {
            action,
            ..PlannedChange::of_new(
                ObjectKind::Logo,
                common.key.as_str(),
                vec![image],
                operation,
            )
        };
        planner.changes.push(change);
    }
    Ok(())
}

/// Returns the new `logo_uri` of each client whose `logo_uri` changes.
fn changed_logo_uris(changes: &[PlannedChange]) -> HashMap<Did, Option<Url>> {
    let uri = |client: &Application| client.settings.information.logo_uri.clone();
    let changed = changes.iter().filter_map(|change| {
        let (before, after) = match &change.operation {
            Operation::CreateClient(after, _) => (None, after),
            Operation::UpdateClient { before, after, .. } => (uri(before), after),
            _ => return None,
        };
        let is = uri(after);
        (before != is).then(|| (after.id.clone(), is))
    });
    changed.collect()
}

/// Reads an image in a manifest. An empty text means no logo.
fn parse_logo(text: &str) -> std::result::Result<Option<ApplicationLogo>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let image = STANDARD
        .decode(text)
        .map_err(|_| "expected an image in base64".to_owned())?;
    let logo = ApplicationLogo::new(image);
    logo.map(Some).map_err(|error| error.to_string())
}

/// Returns a logo in the form of a manifest.
pub(super) fn manifest_value(logo: &ApplicationLogo) -> Value {
    json!(STANDARD.encode(&logo.bytes))
}

fn digest(logo: Option<&ApplicationLogo>) -> Value {
    logo.map_or(Value::Null, |logo| {
        json!(format!("sha256:{}", Digest::sha256(&logo.bytes).to_text()))
    })
}
