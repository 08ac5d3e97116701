//! The claims about a user that an application receives.
//!
//! The server creates the standard claims of the granted scopes. The plugins create the others.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use crate::domain::claims::token_claims::AtSignIn;
use crate::domain::{InternalError, Services};
use assent_model::account::Account;
use assent_model::application::{Application, SubjectType};
use assent_model::claims_request::ClaimRequirement;
use assent_model::name::is_same_name;
use assent_model::saml::ServiceProvider;
use assent_model::scope::{Scope, Scopes};
use assent_model::session::Authentication;
use assent_model::user::User;
use assent_model::user::profile::Address;
use assent_plugin_host::{
    ClaimInput, MapFailure, MappedClaims, MapperRun, PluginSet, Protocol, RequestedClaim,
    SamlAttribute, Sink,
};

/// The user and the application of the claims.
#[derive(Clone, Copy, Debug)]
pub struct ClaimSubject<'a> {
    /// The application.
    pub application: &'a Application,
    /// The user.
    pub user: &'a User,
    /// The user's account in the application.
    pub account: &'a Account,
    /// The granted scopes.
    pub scopes: &'a Scopes,
    /// The authentication of the user, if it is known.
    pub authentication: Option<&'a Authentication>,
    /// The `sub` claim: see [`subject_of`].
    pub sub: &'a str,
    /// The claims that the application requested individually, for this sink.
    pub requested: &'a BTreeMap<String, ClaimRequirement>,
}

/// Returns the `sub` claim: the identifier of a user for an application (OpenID Connect Core section 8). Without the
/// root secret, a pairwise identifier cannot be distinguished from a random text. It is the same in all applications of
/// a sector.
pub fn subject_of(
    services: &Services,
    application: &Application,
    user: &User,
) -> Result<String, InternalError> {
    match &application.settings.subject_type {
        SubjectType::Public => Ok(user.subject.clone()),
        SubjectType::Pairwise { sector } => {
            // A sector is a host name, so it contains no line break.
            let message = format!("{sector}\n{}", user.subject);
            let code = services
                .root_secret
                .derive("pairwise subject", message.as_bytes())?;
            Ok(URL_SAFE_NO_PAD.encode(code))
        }
    }
}

/// Returns the `sid` claim: the identifier of a session for an application. A pairwise identifier differs by sector,
/// like `sub`. With a common `sid`, several applications could find out that two users are the same.
pub fn sid_of(
    services: &Services,
    application: &Application,
    sid: &str,
) -> Result<String, InternalError> {
    match &application.settings.subject_type {
        SubjectType::Public => Ok(sid.to_owned()),
        SubjectType::Pairwise { sector } => {
            let code = services
                .root_secret
                .derive("pairwise sid", format!("{sector}\n{sid}").as_bytes())?;
            Ok(URL_SAFE_NO_PAD.encode(code))
        }
    }
}

/// Returns the claims about the sign-in itself, with their names.
pub fn of_authentication(authentication: &Authentication) -> [(&'static str, Value); 3] {
    [
        (
            AtSignIn::AuthTime.as_str(),
            json!(authentication.at.seconds()),
        ),
        (AtSignIn::Amr.as_str(), json!(authentication.amr)),
        (AtSignIn::Acr.as_str(), json!(authentication.acr().as_str())),
    ]
}

/// The claims for an application, and their origins.
#[derive(Clone, Debug)]
pub struct ApplicationClaims {
    /// The claims.
    pub claims: Map<String, Value>,
    /// The run of each plugin.
    pub steps: Vec<MapperRun>,
}

/// Returns the claims of the granted scopes and the individually requested claims, `sub` first, as the server and the
/// plugins create them. A slim ID token has no claims of its scopes.
///
/// # Errors
/// [`MapFailure`] if a plugin fails.
pub async fn map(
    services: &Services,
    subject: ClaimSubject<'_>,
    sink: Sink,
) -> Result<ApplicationClaims, MapFailure> {
    map_by(services, &services.plugins.set(), subject, sink).await
}

/// Returns the claims like [`map`], with these plugins.
///
/// # Errors
/// [`MapFailure`] if a plugin fails.
pub async fn map_by(
    services: &Services,
    plugins: &PluginSet,
    subject: ClaimSubject<'_>,
    sink: Sink,
) -> Result<ApplicationClaims, MapFailure> {
    let ClaimSubject {
        application,
        user,
        account,
        authentication,
        requested,
        ..
    } = subject;
    let slim = sink == Sink::IdToken && application.settings.slim_id_token;
    let identity: Scopes = [Scope::OpenId].into_iter().collect();
    let scopes = if slim { &identity } else { subject.scopes };
    // A resource server receives only the claims of plugins. It can request the user's identity at UserInfo.
    let standard = if sink == Sink::Introspection {
        Map::new()
    } else {
        standard(&subject, scopes)
    };
    let requested = requested.iter().map(|(name, wanted)| RequestedClaim {
        name: name.clone(),
        essential: wanted.essential,
        values: wanted.values.clone(),
    });
    let input = ClaimInput {
        protocol: Protocol::Oidc,
        sink,
        now: services.now(),
        application_id: application.id.clone(),
        application: json!({
            "id": application.id,
            "name": application.name,
            "application_type": application.settings.application_type,
        }),
        account: account_json(account),
        user: user_json(user, account),
        roles: account.effective_roles(),
        scopes: scopes
            .iter()
            .map(|scope| scope.as_str().to_owned())
            .collect(),
        requested: requested.collect(),
        acr: authentication.map(|authentication| authentication.acr().as_str().to_owned()),
        amr: authentication.map(amr_texts).unwrap_or_default(),
        claims: standard,
    };
    let MappedClaims { claims, steps, .. } = plugins.map_claims(input).await?;
    Ok(ApplicationClaims { claims, steps })
}

/// Returns the attributes of an assertion, which only the plugins create. The plugins receive the user's data as
/// claims, with the names of OpenID Connect.
///
/// # Errors
/// [`MapFailure`] if a plugin fails.
pub async fn attributes(
    services: &Services,
    provider: &ServiceProvider,
    user: &User,
    account: &Account,
    authentication: &Authentication,
) -> Result<(Vec<SamlAttribute>, Vec<MapperRun>), MapFailure> {
    attributes_by(
        services,
        &services.plugins.set(),
        provider,
        user,
        account,
        authentication,
    )
    .await
}

/// Returns the attributes like [`attributes`], with these plugins.
///
/// # Errors
/// [`MapFailure`] if a plugin fails.
pub async fn attributes_by(
    services: &Services,
    plugins: &PluginSet,
    provider: &ServiceProvider,
    user: &User,
    account: &Account,
    authentication: &Authentication,
) -> Result<(Vec<SamlAttribute>, Vec<MapperRun>), MapFailure> {
    let withheld: Vec<&str> = match provider.settings.unconfirmed_email {
        true => Vec::new(),
        false => user.unconfirmed_addresses().collect(),
    };
    let available = available_claims(user, account, true)
        .into_iter()
        .filter(|(name, _)| *name != "email_verified" || withheld.is_empty())
        .map(|(name, value)| (name, without(value, &withheld)))
        .filter(|(_, value)| !value.is_null());
    let input = ClaimInput {
        protocol: Protocol::Saml,
        sink: Sink::SamlAssertion,
        now: services.now(),
        application_id: provider.id.clone(),
        application: json!({
            "id": provider.id,
            "name": provider.name,
            "entity_id": provider.settings.entity_id,
            "custom_attributes": provider.settings.custom_attributes,
        }),
        account: without(account_json(account), &withheld),
        user: without(user_json(user, account), &withheld),
        roles: account.effective_roles(),
        scopes: Vec::new(),
        requested: Vec::new(),
        acr: Some(authentication.acr().as_str().to_owned()),
        amr: amr_texts(authentication),
        claims: available
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    };
    let MappedClaims {
        attributes, steps, ..
    } = plugins.map_claims(input).await?;
    Ok((attributes, steps))
}

/// Returns a value with `null` in the place of each text that is one of these addresses. An assertion has no sign that
/// an address is not confirmed, so no plugin receives it.
fn without(value: Value, withheld: &[&str]) -> Value {
    let is_withheld = |text: &str| withheld.iter().any(|address| is_same_name(address, text));
    match value {
        Value::String(text) if is_withheld(&text) => Value::Null,
        Value::Array(values) => values
            .into_iter()
            .map(|value| without(value, withheld))
            .filter(|value| !value.is_null())
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| (name, without(value, withheld)))
            .collect(),
        value => value,
    }
}

fn account_json(account: &Account) -> Value {
    json!({
        "id": account.id,
        "name": account.name,
        "short_code": account.short_code,
        "state": account.state,
    })
}

/// Returns the user for a plugin. It has only the groups that are assigned to this application.
fn user_json(user: &User, account: &Account) -> Value {
    json!({
        "did": user.did,
        "name": user.name,
        "email": user.email,
        "groups": account.assigned.group_names(),
        "profile": user.profile,
    })
}

fn amr_texts(authentication: &Authentication) -> Vec<String> {
    authentication
        .amr
        .iter()
        .map(|amr| amr.as_str().to_owned())
        .collect()
}

/// Returns the claims in the specification's table, except `account`, which a plugin creates.
fn standard(subject: &ClaimSubject<'_>, scopes: &Scopes) -> Map<String, Value> {
    let is_released = |name: &str| {
        let by_scope = Scope::of_claim(name).is_some_and(|scope| scopes.has(scope));
        by_scope || subject.requested.contains_key(name)
    };
    // A pairwise subject prevents the correlation of applications, so claims with the same value in all applications
    // are then omitted.
    let public = subject.application.settings.subject_type == SubjectType::Public;
    let available = available_claims(subject.user, subject.account, public)
        .into_iter()
        .filter(|(name, value)| is_released(name) && !value.is_null());
    let mut claims: Map<String, Value> = available
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    claims.insert("sub".to_owned(), json!(subject.sub));
    claims
}

/// Returns whether an assertion's claim mappers may receive a claim of this name from the server. They may receive each
/// [`available_claims`] claim, and the members of the address, such as `address.locality`.
pub fn is_known_in_assertions(name: &str) -> bool {
    let is_member = |member: &str| {
        Address::default()
            .members()
            .iter()
            .any(|(known, _)| *known == member)
    };
    match name.strip_prefix("address.") {
        Some(member) => is_member(member),
        None => Scope::of_claim(name).is_some() && !NOT_OF_USERS.contains(&name),
    }
}

/// Claims of scopes that the server creates for a token, and that are not data of a user.
const NOT_OF_USERS: [&str; 2] = ["sub", "account"];

/// Returns the data about the user, with `null` for missing values. With `public` it includes claims that permit the
/// correlation of applications.
fn available_claims(user: &User, account: &Account, public: bool) -> Vec<(&'static str, Value)> {
    let profile = &user.profile;
    // The verification status of a missing address or number would be meaningless.
    let verified = |there: bool, verified: bool| if there { json!(verified) } else { Value::Null };
    // A number is a claim of another scope, beside its verification.
    let texts = profile
        .texts()
        .into_iter()
        .filter(|(name, _)| *name != "phone_number")
        .map(|(name, text)| (name, json!(text)));
    let others = [
        ("preferred_username", json!(user.name)),
        ("updated_at", json!(user.updated_at.seconds())),
        ("upn", json!(account.name)),
        (
            "user_did",
            if public { json!(user.did) } else { Value::Null },
        ),
        ("user_short_code", json!(account.short_code)),
        // An empty list is sent too, because the application then removes the user from its groups.
        ("groups", json!(account.assigned.group_names())),
        ("email", json!(user.email)),
        (
            "email_verified",
            verified(user.email.is_some(), profile.email_verified),
        ),
        ("phone_number", json!(profile.phone_number)),
        (
            "phone_number_verified",
            verified(
                profile.phone_number.is_some(),
                profile.phone_number_verified,
            ),
        ),
        (
            "address",
            if profile.address.is_empty() {
                Value::Null
            } else {
                json!(profile.address)
            },
        ),
    ];
    texts.chain(others).collect()
}
