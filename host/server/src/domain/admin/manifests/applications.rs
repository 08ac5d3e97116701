//! Planning of applications.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::change::{ChangeAction, ObjectKind, Operation, PlannedChange, differences};
use super::described;
use super::manifest::{ManifestApplication, ManifestClient, ManifestServiceProvider};
use super::planner::{Existing, ManifestPosition, Planner, Referenced};
use crate::domain::admin::applications::{authorize_description, described_client};
use crate::domain::admin::service_providers::described_service_provider;
use crate::domain::admin::{Result, service_provider_notes};
use assent_model::application::RegisteredApplication;
use assent_model::id::Did;
use assent_model::management::ManifestKey;
use assent_model::saml::ServiceProvider;

/// The applications to which assignments and accounts can refer.
pub(super) type Applications = BTreeMap<ManifestKey, Referenced<Did>>;

const OTHER_PROTOCOL: &str = "it cannot be changed; create a new application with another key";

/// Plans the applications of a manifest.
///
/// # Errors
/// [`AdminError`](crate::domain::admin::AdminError) if the error is not about a value of the manifest.
pub(super) async fn plan(
    planner: &mut Planner<'_>,
    applications: &[ManifestApplication],
) -> Result<Applications> {
    let mut found = Applications::new();
    let mut known: HashSet<Did> = HashSet::new();
    for (index, application) in applications.iter().enumerate() {
        let key = &application.common().key;
        let position = ManifestPosition {
            list: "applications",
            index,
            key: key.as_str(),
        };
        if found.contains_key(key) {
            planner.reject(&position, "key", "expected each key once");
            continue;
        }
        let Some(existing) = existing_application(planner, &position, application).await? else {
            continue;
        };
        if let Some(object) = existing.object()
            && !known.insert(object.id().clone())
        {
            planner.reject(&position, "adopt", "expected each application once");
            continue;
        }
        let id = match application {
            ManifestApplication::Client(client) => {
                plan_client(planner, &position, client, &existing)?
            }
            ManifestApplication::ServiceProvider(provider) => {
                plan_service_provider(planner, &position, provider, &existing)?
            }
        };
        if let Some(id) = id {
            let version = existing.object().map(RegisteredApplication::version);
            found.insert(key.clone(), Referenced { id, version });
        }
    }
    plan_others(planner, applications, &mut found)?;
    Ok(found)
}

/// Returns the existing application. `None` if the manifest may not name it with this protocol or key.
async fn existing_application(
    planner: &mut Planner<'_>,
    position: &ManifestPosition<'_>,
    application: &ManifestApplication,
) -> Result<Option<Existing<RegisteredApplication>>> {
    let common = application.common();
    let owned = planner.state.applications.get(&common.key).cloned();
    let Some(adopted) = &common.adopt else {
        return Ok(Some(owned.map_or(Existing::None, Existing::Owned)));
    };
    if let Some(owned) = owned {
        if owned.id() == adopted {
            return Ok(Some(Existing::Owned(owned)));
        }
        planner.reject(position, "adopt", "another application has the key");
        return Ok(None);
    }
    let store = &planner.context.services.store;
    let Some(found) = store.registered(adopted).await? else {
        planner.reject(position, "adopt", "there is no application with this id");
        return Ok(None);
    };
    if let Some(management) = store.management_of_application(adopted).await? {
        let detail = format!(
            "{} manages the application already, by the key {}",
            management.owner, management.key
        );
        planner.reject(position, "adopt", detail);
        return Ok(None);
    }
    Ok(Some(Existing::Adopted(found)))
}

/// Plans a client. Returns its identifier, unless it is invalid.
fn plan_client(
    planner: &mut Planner<'_>,
    position: &ManifestPosition<'_>,
    client: &ManifestClient,
    existing: &Existing<RegisteredApplication>,
) -> Result<Option<Did>> {
    let known = match existing.object() {
        None => None,
        Some(RegisteredApplication::Client(known)) => Some(Arc::clone(known)),
        Some(RegisteredApplication::ServiceProvider(_)) => {
            planner.reject(position, "protocol", OTHER_PROTOCOL);
            return Ok(None);
        }
    };
    let context = planner.context;
    let (known, change) = (known.as_deref(), client.change.clone());
    let authorization = authorize_description(&context.caller, &change, known)?;
    planner.authorizations.push(authorization);
    let after = described_client(&context.services, change, known);
    let Some(after) = planner.accept(position, after)? else {
        return Ok(None);
    };
    let (id, key) = (after.id.clone(), &client.common.key);
    match known {
        None => {
            if after.settings.auth_method().uses_secret() {
                planner.warnings.push(format!(
                    "the application {key} needs a client secret: create it afterwards, with `assent applications \
                     secrets create`"
                ));
            }
            let fields = differences(
                &described::Members::new(),
                &described::named_of_client(&after),
            );
            let operation = Operation::CreateClient(Box::new(after), key.clone());
            let change =
                PlannedChange::of_new(ObjectKind::Application, key.as_str(), fields, operation);
            planner.changes.push(change);
        }
        Some(before) => {
            let fields = differences(&described::client(before), &described::client(&after));
            if after.secrets != before.secrets {
                planner.warnings.push(format!(
                    "the application {key} loses client secrets that its new authentication method does not use"
                ));
            }
            let adopt = existing.is_adopted().then(|| key.clone());
            if adopt.is_some() || after.name != before.name || after.settings != before.settings {
                let expected = (id.clone(), before.version);
                planner.expected.applications.push(expected);
                let operation = Operation::UpdateClient {
                    before: Box::new(before.clone()),
                    after: Box::new(after),
                    adopt,
                };
                planner.changes.push(PlannedChange::of_existing(
                    existing.update(),
                    ObjectKind::Application,
                    key.as_str(),
                    id.to_string(),
                    before.version,
                    fields,
                    operation,
                ));
            }
        }
    }
    Ok(Some(id))
}

/// Plans a service provider. Returns its identifier, unless it is invalid.
fn plan_service_provider(
    planner: &mut Planner<'_>,
    position: &ManifestPosition<'_>,
    provider: &ManifestServiceProvider,
    existing: &Existing<RegisteredApplication>,
) -> Result<Option<Did>> {
    let known = match existing.object() {
        None => None,
        Some(RegisteredApplication::ServiceProvider(known)) => Some(Arc::clone(known)),
        Some(RegisteredApplication::Client(_)) => {
            planner.reject(position, "protocol", OTHER_PROTOCOL);
            return Ok(None);
        }
    };
    let context = planner.context;
    let authorization = context.caller.authorize_application_writes()?;
    planner.authorizations.push(authorization);
    let known: Option<&ServiceProvider> = known.as_deref();
    let after = described_service_provider(&context.services, provider.change.clone(), known);
    let Some(after) = planner.accept(position, after)? else {
        return Ok(None);
    };
    let (id, key) = (after.id.clone(), &provider.common.key);
    match known {
        None => {
            warn(planner, key, &after);
            let named = described::named_of_service_provider(&context.services, &after)?;
            let fields = differences(&described::Members::new(), &named);
            let operation = Operation::CreateServiceProvider(Box::new(after), key.clone());
            let change =
                PlannedChange::of_new(ObjectKind::Application, key.as_str(), fields, operation);
            planner.changes.push(change);
        }
        Some(before) => {
            let fields = differences(
                &described::service_provider(before),
                &described::service_provider(&after),
            );
            let adopt = existing.is_adopted().then(|| key.clone());
            if adopt.is_some() || after.name != before.name || after.settings != before.settings {
                warn(planner, key, &after);
                let expected = (id.clone(), before.version);
                planner.expected.applications.push(expected);
                let operation = Operation::UpdateServiceProvider {
                    before: Box::new(before.clone()),
                    after: Box::new(after),
                    adopt,
                };
                planner.changes.push(PlannedChange::of_existing(
                    existing.update(),
                    ObjectKind::Application,
                    key.as_str(),
                    id.to_string(),
                    before.version,
                    fields,
                    operation,
                ));
            }
        }
    }
    Ok(Some(id))
}

/// Adds warnings about settings without effect of a changed service provider.
fn warn(planner: &mut Planner<'_>, key: &ManifestKey, provider: &ServiceProvider) {
    let notes = service_provider_notes(&planner.context.services, provider);
    planner.warnings.extend(
        notes
            .into_iter()
            .map(|note| format!("the application {key}: {note}")),
    );
}

/// Plans the applications of the owner that the manifest does not name.
fn plan_others(
    planner: &mut Planner<'_>,
    named: &[ManifestApplication],
    found: &mut Applications,
) -> Result<()> {
    let named: HashSet<&ManifestKey> = named.iter().map(|one| &one.common().key).collect();
    let others: Vec<(ManifestKey, RegisteredApplication)> = planner
        .state
        .applications
        .iter()
        .filter(|(key, _)| !named.contains(key))
        .map(|(key, application)| (key.clone(), application.clone()))
        .collect();
    for (key, application) in others {
        let (id, version) = (application.id().clone(), application.version());
        if !planner.deletes(ObjectKind::Application, key.as_str()) {
            let version = Some(version);
            found.insert(key, Referenced { id, version });
            continue;
        }
        let caller = &planner.context.caller;
        let authorization = caller.authorize_registered(&application)?;
        planner.authorizations.push(authorization);
        planner.expected.applications.push((id.clone(), version));
        planner.changes.push(PlannedChange::of_existing(
            ChangeAction::Delete,
            ObjectKind::Application,
            key.as_str(),
            id.to_string(),
            version,
            Vec::new(),
            Operation::DeleteApplication(application),
        ));
    }
    Ok(())
}
