//! The writes of applications of both protocols. Their audit entries have the changed settings before and after.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Result;
use super::execution::{Recorder, Writes};
use super::users::differing_members;
use crate::domain::keys::signing_keys;
use assent_model::application::{Application, RegisteredApplication};
use assent_model::audit::{Entry, Event};
use assent_model::id::Did;
use assent_model::management::ManifestKey;
use assent_model::saml::{SamlKey, ServiceProvider};
use assent_store::AdminWrite;

/// The name and settings of an application, each by its name.
pub(in crate::domain) struct AuditedSettings(Map<String, Value>);

impl AuditedSettings {
    pub(in crate::domain) fn of_client(application: &Application) -> Self {
        Self::new(&application.name, &application.settings)
    }

    pub(super) fn of_service_provider(provider: &ServiceProvider) -> Self {
        Self::new(&provider.name, &provider.settings)
    }

    fn new(name: &str, settings: &impl Serialize) -> Self {
        let mut members = match serde_json::to_value(settings) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        };
        members.insert("name".to_owned(), json!(name));
        Self(members)
    }

    /// Returns the entry about a new application.
    pub(in crate::domain) fn creation_entry(self, entry: Entry) -> Entry {
        entry.with("after", without_keys(self.0))
    }

    /// Returns the entry about a deleted application.
    pub(super) fn deletion_entry(self, entry: Entry) -> Entry {
        entry.with("before", without_keys(self.0))
    }

    /// Returns the entry about an application that changed to `after`. `None` if there is no difference.
    pub(super) fn change(self, after: Self, entry: Entry) -> Option<Entry> {
        let (was, is) = differing_members(self.0, after.0);
        let differs = !was.is_empty() || !is.is_empty();
        differs.then(|| {
            entry
                .with("before", without_keys(was))
                .with("after", without_keys(is))
        })
    }
}

/// Adds a client, after the keys that sign for it.
pub(super) async fn client_creation(
    recorder: &Recorder<'_>,
    client: Application,
    key: Option<&ManifestKey>,
) -> Result<Writes> {
    signing_keys::create_first_keys(recorder.services, &client.settings, recorder.by).await?;
    let entry = recorder
        .entry(Event::ApplicationCreated)
        .in_application(client.id.clone());
    let entry =
        AuditedSettings::of_client(&client).creation_entry(recorder.with_management(entry, key));
    let write = AdminWrite::InsertClient(client, key.cloned());
    Ok(vec![(write, vec![entry])])
}

/// Adds a service provider, with its first key.
pub(super) fn service_provider_creation(
    recorder: &Recorder<'_>,
    provider: ServiceProvider,
    signing: SamlKey,
    key: Option<&ManifestKey>,
) -> Writes {
    let entry = recorder
        .entry(Event::ApplicationCreated)
        .in_application(provider.id.clone());
    let entry = AuditedSettings::of_service_provider(&provider)
        .creation_entry(recorder.with_management(entry, key));
    let write = AdminWrite::InsertServiceProvider(provider, signing, key.cloned());
    vec![(write, vec![entry])]
}

/// Replaces a client, after it created the keys that sign for it. With a key, a manifest adopts it.
pub(super) async fn client_update(
    recorder: &Recorder<'_>,
    before: &Application,
    after: Application,
    adopt: Option<&ManifestKey>,
) -> Result<Writes> {
    signing_keys::create_first_keys(recorder.services, &after.settings, recorder.by).await?;
    let (was, is) = (
        AuditedSettings::of_client(before),
        AuditedSettings::of_client(&after),
    );
    let entry = recorder.entry(Event::ApplicationUpdated);
    let entry = entry.in_application(after.id.clone());
    Ok(update(
        recorder,
        AdminWrite::UpdateClient(after),
        entry,
        was,
        is,
        &before.id,
        adopt,
    ))
}

/// Replaces a service provider. With a key, a manifest adopts it.
pub(super) fn service_provider_update(
    recorder: &Recorder<'_>,
    event: Event,
    before: &ServiceProvider,
    after: ServiceProvider,
    adopt: Option<&ManifestKey>,
) -> Writes {
    let settings = AuditedSettings::of_service_provider;
    let (was, is) = (settings(before), settings(&after));
    let entry = recorder.entry(event).in_application(after.id.clone());
    update(
        recorder,
        AdminWrite::UpdateServiceProvider(after),
        entry,
        was,
        is,
        &before.id,
        adopt,
    )
}

fn update(
    recorder: &Recorder<'_>,
    write: AdminWrite,
    entry: Entry,
    was: AuditedSettings,
    is: AuditedSettings,
    id: &Did,
    adopt: Option<&ManifestKey>,
) -> Writes {
    let mut writes = Writes::new();
    if let Some(key) = adopt {
        let adoption = AdminWrite::AdoptApplication(id.clone(), key.clone());
        writes.push((
            adoption,
            vec![recorder.with_management(entry.clone(), Some(key))],
        ));
    }
    let entry = was.change(is, entry);
    // Without a difference, a manifest does not write the application itself. A command increments its version.
    if entry.is_some() || recorder.manifest.is_none() {
        writes.push((write, entry.into_iter().collect()));
    }
    writes
}

/// Deletes an application.
pub(super) fn application_deletion(
    recorder: &Recorder<'_>,
    application: &RegisteredApplication,
) -> Writes {
    let id = application.id().clone();
    let settings = match application {
        RegisteredApplication::Client(client) => AuditedSettings::of_client(client),
        RegisteredApplication::ServiceProvider(provider) => {
            AuditedSettings::of_service_provider(provider)
        }
    };
    let entry = recorder
        .entry(Event::ApplicationDeleted)
        .in_application(id.clone());
    let entry = settings.deletion_entry(entry);
    vec![(
        AdminWrite::DeleteApplication(id, application.version()),
        vec![entry],
    )]
}

/// Removes all keys, private or public, and their digests. The entry keeps the authentication method and the URL of the
/// keys, and for certificates only their number.
fn without_keys(mut members: Map<String, Value>) -> Value {
    if let Some(Value::Object(authentication)) = members.get_mut("authentication") {
        authentication.retain(|name, _| ["method", "jwks_uri"].contains(&name.as_str()));
    }
    if let Some(certificates) = members.get_mut("certificates") {
        *certificates = json!(certificates.as_array().map_or(0, Vec::len));
    }
    Value::Object(members)
}
