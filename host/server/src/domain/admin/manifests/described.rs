//! Objects as a manifest describes them.

use serde_json::{Map, Value, json};

use crate::domain::Services;
use crate::domain::admin::Result;
use crate::domain::admin::applications::ClientDocument;
use crate::domain::admin::service_providers::{ServiceProviderDocument, default_service_provider};
use assent_model::application::{Application, OidcSettings, SenderConstraint};
use assent_model::client_auth::ClientAuthMethod;
use assent_model::group::Group;
use assent_model::resource::Document;
use assent_model::saml::ServiceProvider;

/// The members of an object, by their names in a manifest.
pub(super) type Members = Map<String, Value>;

/// Returns all members of a client except the key.
pub(super) fn client(client: &Application) -> Members {
    ClientDocument::new(client).settable()
}

/// Returns all members of a service provider except the key.
pub(super) fn service_provider(provider: &ServiceProvider) -> Members {
    let mut members = ServiceProviderDocument::new(provider).settable();
    members.insert("protocol".to_owned(), json!("saml"));
    members
}

/// Returns the members of a client that a manifest must name: those that differ from a new client.
pub(super) fn named_of_client(known: &Application) -> Members {
    let mut settings = OidcSettings::new(known.settings.application_type);
    // A new client with this authentication method has bound tokens.
    if known.settings.auth_method() == ClientAuthMethod::TlsClientCertificate {
        settings.sender_constraint = SenderConstraint::Certificate;
    }
    let new = Application {
        name: String::new(),
        settings,
        ..known.clone()
    };
    without(client(known), &client(&new), &["application_type"])
}

/// Returns the members of a service provider that a manifest must name.
///
/// # Errors
/// If the server cannot create a key.
pub(super) fn named_of_service_provider(
    services: &Services,
    known: &ServiceProvider,
) -> Result<Members> {
    let defaults = default_service_provider(services, String::new())?;
    let defaults = service_provider(&defaults);
    Ok(without(
        service_provider(known),
        &defaults,
        &["protocol", "acs"],
    ))
}

/// Returns the members of a group that a manifest must name, except the list of users.
pub(super) fn group(group: &Group) -> Members {
    let mut members = Members::from_iter([("name".to_owned(), json!(group.name))]);
    if !group.description.is_empty() {
        members.insert("description".to_owned(), json!(group.description));
    }
    members
}

/// Returns the members that are neither null nor a default, and those in `retained`.
fn without(mut members: Members, defaults: &Members, retained: &[&str]) -> Members {
    members.retain(|name, value| {
        retained.contains(&name.as_str()) || (!value.is_null() && defaults.get(name) != Some(value))
    });
    members.values_mut().for_each(remove_nulls);
    members
}

/// Removes members that are null, which TOML cannot express. They mean the same as missing members.
fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
