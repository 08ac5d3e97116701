//! The changes that create or update a service provider.

use serde::{Deserialize, Serialize};

use crate::domain::Services;
use crate::domain::admin::applications::{application_name, recipe_id, server_address};
use crate::domain::admin::custom_attributes::CustomAttributeChange;
use crate::domain::admin::{Result, custom_attributes, invalid};
use crate::keys::saml;
use assent_model::command::{empty_if_null, removable};
use assent_model::redirect::RedirectUri;
use assent_model::saml::{
    AssertionConsumer, Binding, CustomAttribute, NameIdFormat, NameIdSource, PartnerCertificate,
    SamlSettings, ServiceProvider, SingleLogout,
};

/// The largest number of assertion consumer services, certificates or RelayStates of a service provider.
const MOST: usize = 50;

/// The largest length of an entity ID, in characters (SAML core section 8.3.6).
const LONGEST_ENTITY_ID: usize = 1024;

/// The largest length of a RelayState, in bytes.
const LONGEST_RELAY_STATE: usize = 2048;

/// The largest tolerated clock skew, in seconds.
const MOST_CLOCK_SKEW: u32 = 600;

/// The largest time by which an assertion is valid before it is issued, in seconds.
const MOST_NOT_BEFORE_MARGIN: u32 = 120;

assent_model::admin_command! {
    /// A new service provider, or an update. A missing member leaves its value unchanged; a new service provider has
    /// the default.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct ServiceProviderChange, protected ProtectedServiceProviderMembers {
        /// The name that users see.
        protected explained name: Option<String>,
        /// Whether users can sign in to the service provider.
        protected explained enabled: Option<bool>,
        /// The SP entity ID.
        protected explained entity_id: Option<String>,
        /// The assertion consumer services.
        protected explained acs: Option<Vec<AcsChange>>,
        /// The single logout service; null removes it. A missing member of an existing service keeps its value.
        #[serde(deserialize_with = "removable")]
        protected explained single_logout: Option<Option<SingleLogoutChange>>,
        /// The NameID format for requests that specify none.
        protected name_id_format: Option<NameIdFormat>,
        /// Further NameID formats that a request may specify; null removes all.
        #[serde(deserialize_with = "empty_if_null")]
        protected other_name_id_formats: Option<Vec<NameIdFormat>>,
        /// The source of the NameID in formats that are not opaque.
        protected name_id_source: Option<NameIdSource>,
        /// Whether an AuthnRequest without a signature is rejected.
        protected require_signed_requests: Option<bool>,
        /// The signing certificates of the service provider, in PEM form; null removes all.
        #[serde(deserialize_with = "empty_if_null")]
        protected explained certificates: Option<Vec<String>>,
        /// Further attributes of each assertion; null removes all.
        #[serde(deserialize_with = "empty_if_null")]
        protected custom_attributes: Option<Vec<CustomAttributeChange>>,
        /// Whether IdP-initiated sign-on is permitted.
        protected idp_initiated: Option<bool>,
        /// The default RelayState of an IdP-initiated sign-on; null removes it.
        #[serde(deserialize_with = "removable")]
        protected default_relay_state: Option<Option<String>>,
        /// Further RelayStates that a link may specify; null removes all.
        #[serde(deserialize_with = "empty_if_null")]
        protected relay_states: Option<Vec<String>>,
        /// The tolerated clock skew.
        protected clock_skew_seconds: Option<u32>,
        /// The time by which the `NotBefore` of assertions is before their issue, for a service provider whose clock is
        /// behind.
        protected not_before_margin_seconds: Option<u32>,
        /// The entity ID of this server for this service provider; null for the issuer's URL.
        #[serde(deserialize_with = "removable")]
        protected idp_entity_id: Option<Option<String>>,
        /// The URL of the metadata for later updates; null removes it.
        #[serde(deserialize_with = "removable")]
        protected explained metadata_url: Option<Option<String>>,
        /// Whether users who agreed to it sign in with a passkey on the login page, without an approval.
        // Protected for the same reason as the setting of a client.
        protected explained passkey_sign_in: Option<bool>,
        /// The recipe of the console by which the application is connected, such as `zabbix`; null removes it. The
        /// console shows its guide.
        #[serde(deserialize_with = "removable")]
        harmless recipe: Option<Option<String>>,
        /// Whether the service provider receives email addresses that are not confirmed. With `false`, such an address
        /// is neither a NameID nor in an attribute.
        protected explained unconfirmed_email: Option<bool>,
    }
}

impl ServiceProviderChange {
    /// Returns the change that creates a service provider like this one. It sets every member.
    pub fn from_provider(provider: &ServiceProvider) -> Self {
        let ServiceProvider { name, settings, .. } = provider;
        let SamlSettings {
            enabled,
            entity_id,
            acs,
            single_logout,
            name_id,
            require_signed_requests,
            certificates,
            custom_attributes,
            idp_initiated,
            clock_skew,
            not_before_margin,
            idp_entity_id,
            metadata_url,
            passkey_sign_in,
            recipe,
            unconfirmed_email,
        } = settings;
        let consumer = |consumer: &AssertionConsumer| AcsChange {
            url: consumer.url.as_str().to_owned(),
            index: Some(consumer.index),
            default: consumer.default,
        };
        let logout = |logout: &SingleLogout| SingleLogoutChange {
            url: Some(Some(logout.url.as_str().to_owned())),
            response_url: Some(
                logout
                    .response_url
                    .as_ref()
                    .map(|url| url.as_str().to_owned()),
            ),
            binding: Some(Some(logout.binding)),
        };
        let attribute = |attribute: &CustomAttribute| CustomAttributeChange {
            name: attribute.name.clone(),
            values: attribute.values.clone(),
        };
        Self {
            name: Some(name.clone()),
            enabled: Some(*enabled),
            entity_id: Some(entity_id.clone()),
            acs: Some(acs.iter().map(consumer).collect()),
            single_logout: Some(single_logout.as_ref().map(logout)),
            name_id_format: Some(name_id.default),
            other_name_id_formats: Some(name_id.formats().skip(1).collect()),
            name_id_source: Some(name_id.source),
            require_signed_requests: Some(*require_signed_requests),
            certificates: Some(certificates.iter().map(|one| one.pem.clone()).collect()),
            custom_attributes: Some(custom_attributes.iter().map(attribute).collect()),
            idp_initiated: Some(idp_initiated.enabled),
            default_relay_state: Some(idp_initiated.relay_state.clone()),
            relay_states: Some(idp_initiated.relay_states.clone()),
            clock_skew_seconds: Some(*clock_skew),
            not_before_margin_seconds: Some(*not_before_margin),
            idp_entity_id: Some(idp_entity_id.clone()),
            metadata_url: Some(metadata_url.as_ref().map(ToString::to_string)),
            passkey_sign_in: Some(*passkey_sign_in),
            recipe: Some(recipe.clone()),
            unconfirmed_email: Some(*unconfirmed_email),
        }
    }
}

/// An assertion consumer service.
#[derive(Clone, Debug, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"url\": \"https://app.example.org/acs\"}"
)]
pub struct AcsChange {
    /// The URL of the service.
    pub url: String,
    /// The index of the service; by default its position in the list.
    #[serde(default)]
    pub index: Option<u16>,
    /// Whether the service is the default for requests that specify none.
    #[serde(default)]
    pub default: bool,
}

/// A single logout service, or an update of one. A missing member leaves its value unchanged; a new service needs `url`
/// and `binding`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "an object such as {\"url\": \"https://app.example.org/slo\", \"binding\": \"redirect\"}"
)]
pub struct SingleLogoutChange {
    /// The URL of requests.
    #[serde(deserialize_with = "removable")]
    #[schema(value_type = Option<String>, nullable = false)]
    pub url: Option<Option<String>>,
    /// The URL of responses, if it differs; null removes it.
    #[serde(deserialize_with = "removable")]
    pub response_url: Option<Option<String>>,
    /// The binding of the messages.
    #[serde(deserialize_with = "removable")]
    #[schema(value_type = Option<Binding>, nullable = false)]
    pub binding: Option<Option<Binding>>,
}

/// Returns the service provider after a change, without storing it.
///
/// # Errors
/// [`AdminError::Invalid`](crate::domain::admin::AdminError::Invalid) if a member of the change is invalid.
pub fn changed_service_provider(
    services: &Services,
    mut provider: ServiceProvider,
    change: ServiceProviderChange,
) -> Result<ServiceProvider> {
    apply(services, &mut provider, change)?;
    Ok(provider)
}

pub(super) fn apply(
    services: &Services,
    provider: &mut ServiceProvider,
    change: ServiceProviderChange,
) -> Result<()> {
    let ServiceProviderChange {
        name,
        enabled,
        entity_id: entity_id_text,
        acs,
        single_logout: logout_change,
        name_id_format,
        other_name_id_formats,
        name_id_source,
        require_signed_requests,
        certificates: certificate_texts,
        custom_attributes: attribute_changes,
        idp_initiated,
        default_relay_state,
        relay_states,
        clock_skew_seconds,
        not_before_margin_seconds,
        idp_entity_id,
        metadata_url,
        passkey_sign_in,
        recipe,
        unconfirmed_email,
    } = change;
    let allow_insecure = services.settings.allow_insecure_redirect_uris;
    if let Some(name) = name {
        provider.name = application_name(&name)?;
    }
    let attributes = attribute_changes
        .map(|attributes| custom_attributes::checked(services, provider, attributes));
    let settings = &mut provider.settings;
    settings.enabled = enabled.unwrap_or(settings.enabled);
    settings.entity_id = match entity_id_text {
        Some(text) => entity_id("entity_id", text)?,
        None => entity_id("entity_id", settings.entity_id.clone())?,
    };
    if let Some(acs) = acs {
        settings.acs = consumers(acs, allow_insecure)?;
    }
    if settings.acs.is_empty() {
        return Err(invalid(
            "acs",
            "expected one ACS URL at least, such as [{\"url\": \"https://app.example.org/acs\"}]",
        ));
    }
    if let Some(logout) = logout_change {
        settings.single_logout = logout
            .map(|change| single_logout(settings.single_logout.as_ref(), &change, allow_insecure))
            .transpose()?;
    }
    settings.name_id.default = name_id_format.unwrap_or(settings.name_id.default);
    if let Some(others) = other_name_id_formats {
        settings.name_id.others = others.into_iter().collect();
    }
    settings.name_id.source = name_id_source.unwrap_or(settings.name_id.source);
    settings.require_signed_requests =
        require_signed_requests.unwrap_or(settings.require_signed_requests);
    if let Some(texts) = certificate_texts {
        settings.certificates = partner_certificates(texts)?;
    }
    if settings.require_signed_requests && settings.certificates.is_empty() {
        return Err(invalid(
            "require_signed_requests",
            "expected the service provider's certificates as well",
        ));
    }
    if let Some(attributes) = attributes.transpose()? {
        settings.custom_attributes = attributes;
    }
    settings.idp_initiated.enabled = idp_initiated.unwrap_or(settings.idp_initiated.enabled);
    if let Some(state) = default_relay_state {
        settings.idp_initiated.relay_state = state
            .map(|text| relay_state("default_relay_state", text))
            .transpose()?;
    }
    if let Some(states) = relay_states {
        let checked = bounded("relay_states", states)?
            .into_iter()
            .map(|text| relay_state("relay_states", text));
        settings.idp_initiated.relay_states = checked.collect::<Result<_>>()?;
    }
    settings.passkey_sign_in = passkey_sign_in.unwrap_or(settings.passkey_sign_in);
    if let Some(recipe) = recipe {
        settings.recipe = recipe.map(recipe_id).transpose()?;
    }
    settings.unconfirmed_email = unconfirmed_email.unwrap_or(settings.unconfirmed_email);
    let skew = clock_skew_seconds.unwrap_or(settings.clock_skew);
    settings.clock_skew = seconds("clock_skew_seconds", skew, MOST_CLOCK_SKEW)?;
    let margin = not_before_margin_seconds.unwrap_or(settings.not_before_margin);
    settings.not_before_margin =
        seconds("not_before_margin_seconds", margin, MOST_NOT_BEFORE_MARGIN)?;
    if let Some(own) = idp_entity_id {
        settings.idp_entity_id = own
            .map(|text| entity_id("idp_entity_id", text))
            .transpose()?;
    }
    if let Some(url) = metadata_url {
        let checked = url.map(|text| server_address("metadata_url", &text, &services.egress));
        settings.metadata_url = checked.transpose()?;
    }
    Ok(())
}

fn seconds(field: &'static str, value: u32, most: u32) -> Result<u32> {
    match value <= most {
        true => Ok(value),
        false => Err(invalid(field, format!("expected 0 to {most}"))),
    }
}

fn partner_certificates(texts: Vec<String>) -> Result<Vec<PartnerCertificate>> {
    bounded("certificates", texts)?
        .into_iter()
        .enumerate()
        .map(|(index, text)| {
            saml::partner_certificate(&text)
                .map_err(|error| invalid("certificates", format!("[{index}]: {error}")))
        })
        .collect()
}

fn bounded<T>(field: &'static str, list: Vec<T>) -> Result<Vec<T>> {
    if list.len() > MOST {
        Err(invalid(field, format!("expected {MOST} at most")))
    } else {
        Ok(list)
    }
}

/// Validates an entity ID. It should be a URI, but not all are. Characters that cannot be compared by eye are rejected.
pub(super) fn entity_id(field: &'static str, text: String) -> Result<String> {
    let fits = (1..=LONGEST_ENTITY_ID).contains(&text.chars().count())
        && !text
            .chars()
            .any(|character| character.is_whitespace() || character.is_control());
    let expected =
        "expected 1 to 1,024 characters without blanks, such as https://app.example.org/saml";
    if fits {
        Ok(text)
    } else {
        Err(invalid(field, expected))
    }
}

fn address(field: &'static str, text: &str, allow_insecure: bool) -> Result<RedirectUri> {
    RedirectUri::register_https(text, allow_insecure).map_err(|_| {
        let expected = "expected an address that starts with https://, without user name or fragment (http://localhost \
                        only with the setting `allow_insecure_redirect_uris = true`)";
        invalid(field, expected)
    })
}

fn consumers(list: Vec<AcsChange>, allow_insecure: bool) -> Result<Vec<AssertionConsumer>> {
    let mut consumers: Vec<AssertionConsumer> = Vec::new();
    for (
        place,
        AcsChange {
            url,
            index,
            default,
        },
    ) in bounded("acs", list)?.into_iter().enumerate()
    {
        let index = index
            .or_else(|| u16::try_from(place).ok())
            .unwrap_or_default();
        if consumers.iter().any(|other| other.index == index) {
            return Err(invalid(
                "acs",
                format!("expected each index once; {index} is there twice"),
            ));
        }
        if default && consumers.iter().any(|other| other.default) {
            return Err(invalid("acs", "expected one default at most"));
        }
        consumers.push(AssertionConsumer {
            url: address("acs", &url, allow_insecure)?,
            index,
            default,
        });
    }
    Ok(consumers)
}

/// Returns the single logout service after a change of the current one.
pub(super) fn single_logout(
    current: Option<&SingleLogout>,
    change: &SingleLogoutChange,
    allow_insecure: bool,
) -> Result<SingleLogout> {
    const URL: &str = "single_logout/url";
    const BINDING: &str = "single_logout/binding";
    let missing = |field, what: &str| invalid(field, format!("expected the {what} of the service"));
    Ok(SingleLogout {
        url: match (&change.url, current) {
            (Some(Some(text)), _) => address(URL, text, allow_insecure)?,
            (None, Some(current)) => current.url.clone(),
            (Some(None), _) | (None, None) => return Err(missing(URL, "URL")),
        },
        response_url: match (&change.response_url, current) {
            (Some(Some(text)), _) => {
                Some(address("single_logout/response_url", text, allow_insecure)?)
            }
            (None, Some(current)) => current.response_url.clone(),
            (Some(None), _) | (None, None) => None,
        },
        binding: match (change.binding, current) {
            (Some(Some(binding)), _) => binding,
            (None, Some(current)) => current.binding,
            (Some(None), _) | (None, None) => return Err(missing(BINDING, "binding")),
        },
    })
}

fn relay_state(field: &'static str, text: String) -> Result<String> {
    let fits =
        (1..=LONGEST_RELAY_STATE).contains(&text.len()) && !text.chars().any(char::is_control);
    if fits {
        Ok(text)
    } else {
        Err(invalid(
            field,
            "expected 1 to 2,048 bytes without control characters",
        ))
    }
}
