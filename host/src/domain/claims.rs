//! Claims: what an application is told about a person.
//!
//! The host makes the standard claims of the granted scopes; the plugins make the rest.

use serde_json::{Map, Value, json};

use super::{Broken, Host};
use crate::model::account::Account;
use crate::model::application::Application;
use crate::model::scope::{Scope, Scopes};
use crate::model::session::Authentication;
use crate::model::user::User;
use crate::plugins::{ClaimInput, MapFailure, Protocol, Sink};

/// On whom claims are made, and for whom.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The application.
    pub application: &'a Application,
    /// The person.
    pub user: &'a User,
    /// The person's account there.
    pub account: &'a Account,
    /// The granted scopes.
    pub scopes: &'a Scopes,
    /// How the person signed in, where that is known.
    pub authentication: Option<&'a Authentication>,
}

/// What an application calls a person: the `sub` claim (OpenID Connect Core 1.0 section 8).
pub fn subject_of(_host: &Host, _application: &Application, user: &User) -> Result<String, Broken> {
    Ok(user.subject.clone())
}

/// The claims of the granted scopes, `sub` first among them, as the host and the plugins make them.
pub async fn map(host: &Host, subject: Subject<'_>, sink: Sink) -> Result<Map<String, Value>, MapFailure> {
    let standard = standard(&subject);
    let Subject { application, user, account, scopes, authentication } = subject;
    let input = ClaimInput {
        protocol: Protocol::Oidc,
        sink,
        now: host.now(),
        application_id: application.id.clone(),
        application: json!({
            "id": application.id,
            "name": application.name,
            "application_type": application.settings.application_type,
        }),
        account: json!({
            "id": account.id,
            "name": account.name,
            "short_code": account.short_code,
            "state": account.state,
        }),
        user: json!({
            "did": user.did,
            "name": user.name,
            "email": user.email,
            "profile": user.profile,
        }),
        roles: account.roles.clone(),
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        requested: Vec::new(),
        acr: authentication.map(|_| Authentication::ACR.to_owned()),
        amr: authentication.map(|how| how.amr.iter().map(|amr| amr.as_str().to_owned()).collect()).unwrap_or_default(),
        claims: standard,
    };
    Ok(host.plugins.map_claims(input).await?.claims)
}

/// The claims of the specification's table, but for `account`, which a plugin makes.
fn standard(subject: &Subject<'_>) -> Map<String, Value> {
    let Subject { user, account, scopes, .. } = subject;
    let profile = &user.profile;
    let mut claims = Map::new();
    let mut tell = |name: &str, value: Value| {
        if !value.is_null() {
            claims.insert(name.to_owned(), value);
        }
    };
    tell("sub", json!(user.subject));
    if scopes.has(Scope::Profile) {
        for (name, value) in [
            ("name", &profile.name),
            ("given_name", &profile.given_name),
            ("family_name", &profile.family_name),
            ("middle_name", &profile.middle_name),
            ("nickname", &profile.nickname),
            ("picture", &profile.picture),
            ("profile", &profile.profile),
            ("website", &profile.website),
            ("gender", &profile.gender),
            ("birthdate", &profile.birthdate),
            ("zoneinfo", &profile.zoneinfo),
            ("locale", &profile.locale),
        ] {
            tell(name, json!(value));
        }
        tell("preferred_username", json!(user.name));
        tell("updated_at", json!(user.updated_at.seconds()));
        tell("upn", json!(account.name));
        tell("user_did", json!(user.did));
        tell("user_short_code", json!(account.short_code));
    }
    if let (true, Some(email)) = (scopes.has(Scope::Email), &user.email) {
        tell("email", json!(email));
        tell("email_verified", json!(profile.email_verified));
    }
    if let (true, Some(number)) = (scopes.has(Scope::Phone), &profile.phone_number) {
        tell("phone_number", json!(number));
        tell("phone_number_verified", json!(profile.phone_number_verified));
    }
    claims
}
