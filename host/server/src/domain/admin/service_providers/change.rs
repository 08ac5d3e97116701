//! The changes that create or update a service provider.

use super::document::{AcsChange, ServiceProviderChange, SingleLogoutChange};
use crate::domain::Services;
use crate::domain::admin::applications::{application_name, recipe_id, server_address};
use crate::domain::admin::{Result, custom_attributes, invalid};
use crate::keys::saml;
use assent_model::redirect::RedirectUri;
use assent_model::saml::{
    AssertionConsumer, IdpInitiated, PartnerCertificate, ServiceProvider, SingleLogout,
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
        .map(|attributes| custom_attributes::attributes_of(services, provider, attributes));
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
    apply_relay_states(
        &mut settings.idp_initiated,
        default_relay_state,
        relay_states,
    )?;
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

fn apply_relay_states(
    settings: &mut IdpInitiated,
    default: Option<Option<String>>,
    others: Option<Vec<String>>,
) -> Result<()> {
    if let Some(state) = default {
        settings.relay_state = state
            .map(|text| relay_state("default_relay_state", text))
            .transpose()?;
    }
    if let Some(states) = others {
        let checked = short_list("relay_states", states)?
            .into_iter()
            .map(|text| relay_state("relay_states", text));
        settings.relay_states = checked.collect::<Result<_>>()?;
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
    short_list("certificates", texts)?
        .into_iter()
        .enumerate()
        .map(|(index, text)| {
            saml::partner_certificate(&text)
                .map_err(|error| invalid("certificates", format!("[{index}]: {error}")))
        })
        .collect()
}

fn short_list<T>(field: &'static str, list: Vec<T>) -> Result<Vec<T>> {
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
    ) in short_list("acs", list)?.into_iter().enumerate()
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
