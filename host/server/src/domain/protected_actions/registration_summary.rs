//! The summary of a new initial access token, with which applications register themselves.

use super::escape::{quoted_list, unquoted};
use super::joined::sentences;
use crate::messages::Message;
use assent_model::client_registration::RegistrationLimits;

/// Returns the summary of a token with this name, this last day and these quotas.
pub(super) fn message(
    name: &str,
    until: String,
    [quota, daily_quota]: [u32; 2],
    limits: &RegistrationLimits,
) -> Message {
    let RegistrationLimits {
        scopes,
        redirect_hosts,
        security_profile,
        application_types,
    } = limits;
    let token = Message::new("action-create-registration-token")
        .text("name", unquoted(name))
        .text("until", until)
        .number("count", i64::from(quota))
        .number("daily", i64::from(daily_quota));
    let scopes = Message::new("action-registration-scopes").text("scopes", scopes.to_string());
    let hosts = match redirect_hosts.is_empty() {
        true => Message::new("action-registration-any-host"),
        false => Message::new("action-registration-hosts").message(
            "hosts",
            quoted_list(redirect_hosts.iter().map(String::as_str)),
        ),
    };
    let types = application_types.iter().map(|kind| kind.as_str());
    let types = Message::new("action-registration-types")
        .text("types", types.collect::<Vec<_>>().join(", "));
    let profile = security_profile.map(|profile| {
        Message::new("action-registration-profile").text("profile", profile.as_str())
    });
    sentences([token, scopes, hosts, types].into_iter().chain(profile))
}
