//! The audit entries about changes of an application, with the changed settings before and after.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::users::changed;
use assent_model::application::Application;
use assent_model::audit::Entry;
use assent_model::saml::ServiceProvider;

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
    pub(in crate::domain) fn made(self, entry: Entry) -> Entry {
        entry.with("after", without_keys(self.0))
    }

    /// Returns the entry about a deleted application.
    pub(super) fn deletion_entry(self, entry: Entry) -> Entry {
        entry.with("before", without_keys(self.0))
    }

    /// Returns the entry about an application that changed to `after`. `None` if there is no difference.
    pub(super) fn change(self, after: Self, entry: Entry) -> Option<Entry> {
        let (was, is) = changed(self.0, after.0);
        let differs = !was.is_empty() || !is.is_empty();
        differs.then(|| {
            entry
                .with("before", without_keys(was))
                .with("after", without_keys(is))
        })
    }
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
