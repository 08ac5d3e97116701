//! The summary of a new initial access token, with which applications register themselves.

use super::action::NewRegistrationToken;
use super::escape::{quoted_list, unquoted};
use super::joined::sentences;
use super::moments::date_and_time;
use crate::messages::Message;
use assent_model::client_registration::RegistrationLimits;

/// Returns the summary of a new token, with all limits of the applications.
pub(super) fn message(token: &NewRegistrationToken) -> Message {
    let RegistrationLimits {
        scopes,
        redirect_hosts,
        security_profile,
        application_types,
    } = &token.limits;
    let creation = Message::new("action-create-registration-token")
        .text("name", unquoted(&token.name))
        .text("until", date_and_time(token.expires_at))
        .number("count", i64::from(token.quota))
        .number("daily", i64::from(token.daily_quota));
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
    sentences([creation, scopes, hosts, types].into_iter().chain(profile))
}
