//! The custom attributes of service providers, which a claim mapper adds to assertions. They are checked when they are
//! saved, because a mistake would otherwise appear only at a sign-in.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Result, invalid};
use crate::domain::Services;
use crate::domain::claims::standard_claims;
use assent_model::name::display_text;
use assent_model::placeholders::placeholders;
use assent_model::saml::{CustomAttribute, NameIdFormat, NameIdSource, ServiceProvider};

const FIELD: &str = "custom_attributes";
/// The largest number of custom attributes, and of values of each.
const MOST_ATTRIBUTES: usize = 100;
/// The largest number of values of all custom attributes together, and their largest size in bytes.
const MOST_VALUES: usize = 1000;
const MOST_BYTES: usize = 64 * 1024;
/// The largest length of a value, in bytes.
const LONGEST_VALUE: usize = 4096;

/// A custom attribute.
#[derive(Clone, Debug, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"name\": \"mail\", \"values\": [\"{email}\"]}"
)]
pub struct CustomAttributeChange {
    /// `Name`.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// Validates the custom attributes of a change, for an application with this identifier.
pub(super) fn attributes_of(
    services: &Services,
    provider: &ServiceProvider,
    changes: Vec<CustomAttributeChange>,
) -> Result<Vec<CustomAttribute>> {
    let made = changes
        .into_iter()
        .map(|CustomAttributeChange { name, values }| CustomAttribute { name, values });
    let attributes: Vec<CustomAttribute> = made.collect();
    if attributes.len() > MOST_ATTRIBUTES
        || attributes
            .iter()
            .any(|one| one.values.len() > MOST_ATTRIBUTES)
    {
        return Err(invalid(
            FIELD,
            format!(
                "expected at most {MOST_ATTRIBUTES} attributes with at most {MOST_ATTRIBUTES} values each"
            ),
        ));
    }
    // A plugin's output and a form of a browser should not be larger.
    let values = || attributes.iter().flat_map(|one| &one.values);
    if values().count() > MOST_VALUES || values().map(String::len).sum::<usize>() > MOST_BYTES {
        let expected = format!(
            "expected at most {MOST_VALUES} values with at most {MOST_BYTES} bytes in total"
        );
        return Err(invalid(FIELD, expected));
    }
    let mut names = BTreeSet::new();
    for CustomAttribute { name, values } in &attributes {
        if display_text(name, 256).as_deref() != Some(name) {
            return Err(invalid(
                FIELD,
                "expected names of 1 to 256 characters without blanks around them",
            ));
        }
        if !names.insert(name) {
            return Err(invalid(
                FIELD,
                format!("expected each name once; {name:?} is there twice"),
            ));
        }
        for value in values {
            if value.len() > LONGEST_VALUE || value.chars().any(char::is_control) {
                let expected = format!(
                    "expected values of {LONGEST_VALUE} bytes at most, without control characters"
                );
                return Err(invalid(FIELD, expected));
            }
            check_placeholders(services, provider, name, value)?;
        }
    }
    Ok(attributes)
}

fn check_placeholders(
    services: &Services,
    provider: &ServiceProvider,
    name: &str,
    value: &str,
) -> Result<()> {
    let invalid_value =
        |what: String| invalid(FIELD, format!("the value {value:?} of {name:?}: {what}"));
    for placeholder in placeholders(value).map_err(|error| invalid_value(error.to_string()))? {
        let claim = placeholder.name;
        let is_known = claim == "roles"
            || standard_claims::is_known_in_assertions(claim)
            || services.plugins.writes_claim_for(&provider.id, claim);
        if !is_known {
            return Err(invalid_value(format!(
                "the placeholder {{{claim}}} at character {} names no value of a user: expected {{roles}}, a claim \
                 of OpenID Connect such as {{email}}, or a claim that a plugin of the application writes",
                placeholder.at
            )));
        }
    }
    Ok(())
}

/// Returns warnings about a saved service provider: settings that have no effect, or an unexpected one.
pub fn notes_of(services: &Services, provider: &ServiceProvider) -> Vec<String> {
    let mut notes = Vec::new();
    let settings = &provider.settings;
    if !settings.custom_attributes.is_empty()
        && !services.plugins.writes_attributes_for(&provider.id)
    {
        notes.push(
            "custom_attributes have no effect: no claim mapper of this application may write attributes. The plugin \
             saml-attributes does, with writes = [\"attribute:*\"]."
                .to_owned(),
        );
    }
    let mut formats = settings.name_id.formats();
    if settings.name_id.source == NameIdSource::AccountName
        && formats.any(|one| one == NameIdFormat::EmailAddress)
    {
        notes.push(
            "With the name_id_source account_name the format emailAddress holds the name of the account, which need \
             not be \
             an email address. Use the format unspecified, unless the account names are addresses."
                .to_owned(),
        );
    }
    notes
}
