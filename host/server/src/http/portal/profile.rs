//! The stored data about the user, and the claims that each application receives.

use axum::extract::Path;
use axum::response::Response;
use serde_json::Value;

use super::pages::{Fact, ProfilePage, Tab, VisibleClaimsPage, VisibleClaimsStop};
use super::words::{FactValue, claim, fact_values};
use crate::domain::InternalError;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::portal::{self, VisibleClaims};
use crate::http::operations::rate_limits::try_again;
use crate::http::page_error::PageError;
use crate::http::portal::owner::Owner;
use crate::http::reply::page;
use crate::messages::Message;
use assent_model::id::Did;
use assent_model::user::User;

/// `GET /profile`
pub(super) async fn show(owner: Owner) -> Result<Response, PageError> {
    let user = &owner.signed_in.user;
    let usable = portal::applications(&owner.services, user).await?;
    let applications = usable
        .into_iter()
        .map(|usable| (format!("/profile/{}", usable.id), usable.name));
    let template = ProfilePage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Profile)?,
        facts: facts(user),
        technical: vec![Fact {
            label: Message::new("claim-user-did"),
            values: vec![stored_value(user.did.as_str())],
        }],
        applications: applications.collect(),
    };
    Ok(page(&template, None))
}

/// The stored data about a user, without empty values.
fn facts(user: &User) -> Vec<Fact> {
    let profile = &user.profile;
    let texts = [
        (Message::new("profile-login-name"), Some(user.name.as_str())),
        (Message::new("claim-name"), profile.name.as_deref()),
        (
            Message::new("claim-given-name"),
            profile.given_name.as_deref(),
        ),
        (
            Message::new("claim-middle-name"),
            profile.middle_name.as_deref(),
        ),
        (
            Message::new("claim-family-name"),
            profile.family_name.as_deref(),
        ),
        (Message::new("claim-nickname"), profile.nickname.as_deref()),
        (
            Message::new("claim-email"),
            user.email.as_ref().map(|email| email.as_str()),
        ),
        (
            Message::new("claim-phone-number"),
            profile.phone_number.as_deref(),
        ),
        (
            Message::new("claim-birthdate"),
            profile.birthdate.as_deref(),
        ),
        (Message::new("claim-gender"), profile.gender.as_deref()),
        (Message::new("claim-locale"), profile.locale.as_deref()),
        (Message::new("claim-zoneinfo"), profile.zoneinfo.as_deref()),
        (Message::new("claim-website"), profile.website.as_deref()),
        (Message::new("claim-profile"), profile.profile.as_deref()),
        (Message::new("claim-picture"), profile.picture.as_deref()),
    ];
    let known = texts
        .into_iter()
        .filter_map(|(label, text)| Some((label, text?)));
    let mut facts: Vec<Fact> = known
        .map(|(label, text)| Fact {
            label,
            values: vec![stored_value(text)],
        })
        .collect();
    let lines = profile.address.in_lines();
    if !lines.is_empty() {
        let values = lines.iter().map(|line| stored_value(line)).collect();
        facts.push(Fact {
            label: Message::new("claim-address"),
            values,
        });
    }
    facts
}

fn stored_value(text: &str) -> FactValue {
    FactValue::Words(Message::new("claim-value").text("value", text))
}

/// `GET /profile/{application}`
pub(super) async fn show_claims(
    owner: Owner,
    Path(id): Path<String>,
) -> Result<Response, PageError> {
    let Some(_held) = owner
        .services
        .rate_limits
        .claims_views
        .hold(owner.signed_in.user.id)
    else {
        return Err(PageError::too_many(
            RateLimitError::SOON,
            Message::new("error-too-many-here"),
            try_again(&format!("/profile/{id}")),
        ));
    };
    let id: Did = Tab::Profile.parse_id(&id)?;
    let visible = portal::seen_by(&owner.services, &owner.signed_in.user, &id).await?;
    let visible = visible.ok_or_else(|| Tab::Profile.nothing_here())?;
    Ok(page(&claims_page(&owner, visible)?, None))
}

fn claims_page(owner: &Owner, visible: VisibleClaims) -> Result<VisibleClaimsPage, InternalError> {
    let ((facts, technical), stopped) = match visible.claims {
        Ok(claims) => (split_facts(claims), None),
        // A denial has the text that the user sees at a sign-in. A failure has its details in the log.
        Err(stopped) if stopped.denied => {
            let stop = VisibleClaimsStop::Denied(stopped.reason);
            ((Vec::new(), Vec::new()), Some(stop))
        }
        Err(stopped) => {
            tracing::warn!(
                plugin = stopped.plugin,
                reason = stopped.reason,
                "claims of an application cannot be shown"
            );
            ((Vec::new(), Vec::new()), Some(VisibleClaimsStop::Failed))
        }
    };
    Ok(VisibleClaimsPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Profile)?,
        application: visible.application,
        after_consent: visible.after_consent,
        facts,
        technical,
        stopped,
    })
}

/// The claims that are only useful for applications, which distinguish users by them.
const TECHNICAL: [&str; 3] = ["sub", "user_did", "user_short_code"];

/// The data that an application receives: the facts for the user, and those for programs. Each value appears once.
fn split_facts(mut claims: Vec<(String, Vec<Value>)>) -> (Vec<Fact>, Vec<Fact>) {
    claims.iter_mut().for_each(|(name, values)| {
        if name == "account" {
            values.iter_mut().for_each(read_object);
        }
    });
    leave_out_repeated(&mut claims);
    let (technical, facts): (Vec<_>, Vec<_>) = claims
        .into_iter()
        .partition(|(name, _)| TECHNICAL.contains(&name.as_str()));
    let fact = |(name, values): (String, Vec<Value>)| Fact {
        label: claim(&name),
        values: values
            .iter()
            .flat_map(|value| fact_values(&name, value))
            .collect(),
    };
    (
        facts.into_iter().map(fact).collect(),
        technical.into_iter().map(fact).collect(),
    )
}

/// Parses an object that is stored as the text of its JSON, as the plugin `account-roles` writes it.
fn read_object(value: &mut Value) {
    let object = value
        .as_str()
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .filter(Value::is_object);
    if let Some(object) = object {
        *value = object;
    }
}

/// Removes values that another claim contains as well: the account's name as `upn`, and its short code as a member.
fn leave_out_repeated(claims: &mut Vec<(String, Vec<Value>)>) {
    let only = |claims: &[(String, Vec<Value>)], name: &str| match claims
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, values)| values.as_slice())
    {
        Some([value]) => Some(value.clone()),
        _ => None,
    };
    let (code, upn) = (only(claims, "user_short_code"), only(claims, "upn"));
    for (_, values) in claims.iter_mut().filter(|(name, _)| name == "account") {
        for account in values.iter_mut().filter_map(Value::as_object_mut) {
            account.retain(|name, value| name != "short_code" || code.as_ref() != Some(value));
        }
    }
    let named = only(claims, "account").and_then(|account| account.get("name").cloned());
    let user = only(claims, "preferred_username");
    if upn.is_some() && (upn == named || upn == user) {
        claims.retain(|(name, _)| name != "upn");
    }
}
