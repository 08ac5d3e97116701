//! The user of a back-channel request: its hint (OpenID CIBA Core 1.0 section 7.1), and the user's access to the
//! application.

use serde_json::{Map, Value};

use super::error::TokenError;
use super::id_token_hint;
use super::parameters::Parameters;
use super::request_jwt::is_for_server;
use crate::domain::claims::standard_claims;
use crate::domain::keys::client_keys;
use crate::domain::sign_in::access::account_in;
use crate::domain::{InternalError, Services};
use crate::keys::jws_verifier::own_algorithms;
use assent_model::application::{Application, SubjectType};
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::user::{LifecycleState, User};

/// The hints of which a request has one.
const HINTS: [&str; 3] = ["login_hint", "id_token_hint", "login_hint_token"];
/// The maximum remaining lifetime of a `login_hint_token`, in seconds.
const LONGEST_TOKEN_LIFETIME: i64 = 10 * 60;
/// The maximum time by which an application's clock may be ahead of the server's, in seconds.
const SKEW: i64 = 30;

/// Returns the user that the hint of the request names, whether or not the user has access to the application. `None`
/// if there is no such user.
pub(super) async fn hinted_user(
    services: &Services,
    application: &Application,
    parameters: &Parameters,
) -> Result<Option<User>, TokenError> {
    let given = HINTS
        .into_iter()
        .filter(|name| parameters.get(name).is_some());
    if given.count() != 1 {
        let expected = format!("expected exactly one of {}", HINTS.join(", "));
        return Err(TokenError::InvalidRequest(expected));
    }
    let subject = if let Some(jwt) = parameters.get("id_token_hint") {
        let subject = id_token_hint::subject(services, application, jwt)
            .await
            .map_err(TokenError::InvalidRequest)?;
        SubjectHint::Subject(subject)
    } else if let Some(jwt) = parameters.get("login_hint_token") {
        token_subject(services, application, jwt).await?
    } else {
        SubjectHint::Name(parameters.required("login_hint")?.to_owned())
    };
    match subject {
        SubjectHint::Subject(subject) => {
            Ok(user_of_subject(services, application, &subject).await?)
        }
        SubjectHint::Name(name) => Ok(match name.parse::<LoginName>() {
            Ok(name) => services
                .store
                .user_by_login(&name)
                .await
                .map_err(InternalError::from)?,
            Err(_) => None,
        }),
    }
}

/// The user whom a hint names.
#[derive(Debug, PartialEq, Eq)]
enum SubjectHint {
    /// By the `sub` of the application.
    Subject(String),
    /// By the name or the email address.
    Name(String),
}

/// Returns the user whom a `login_hint_token` names. It is a JWT that the application signed with a registered key,
/// with a subject identifier (RFC 9493) in `sub_id`. OpenID CIBA Core 1.0 leaves its form to the server.
async fn token_subject(
    services: &Services,
    application: &Application,
    jwt: &str,
) -> Result<SubjectHint, TokenError> {
    let invalid =
        |reason: &dyn std::fmt::Display| format!("the login_hint_token is not valid: {reason}");
    let settings = &application.settings;
    let keys = settings.signing_keys().ok_or_else(|| {
        let reason = invalid(&"the application has no registered keys (jwks or jwks_uri)");
        TokenError::InvalidRequest(reason)
    })?;
    let accepted = own_algorithms(None, settings.security_profile);
    let claims = client_keys::verify(services, keys, jwt, &accepted)
        .await
        .map_err(|error| TokenError::InvalidRequest(invalid(&error)))?;
    if claims.get("iss").and_then(Value::as_str) != Some(application.id.as_str()) {
        let reason = invalid(&"its iss must be the Client ID");
        return Err(TokenError::InvalidRequest(reason));
    }
    if is_for_server(services, &claims) != Some(true) {
        let reason = invalid(&"its aud must contain the issuer");
        return Err(TokenError::InvalidRequest(reason));
    }
    check_times(services.now().seconds(), &claims).map_err(|error| match error {
        TokenTimeError::Expired => TokenError::ExpiredLoginHintToken,
        TokenTimeError::Invalid(reason) => TokenError::InvalidRequest(invalid(&reason)),
    })?;
    let subject = identified(claims.get("sub_id"), &services.issuer);
    subject.map_err(|reason| TokenError::InvalidRequest(invalid(&reason)))
}

/// The reason why the times of a `login_hint_token` are not acceptable.
#[derive(Debug, PartialEq, Eq)]
enum TokenTimeError {
    Expired,
    Invalid(&'static str),
}

fn check_times(now: i64, claims: &Map<String, Value>) -> Result<(), TokenTimeError> {
    let moment = |name: &str| {
        let value = claims.get(name).and_then(Value::as_f64);
        value.map(|seconds| seconds as i64)
    };
    let expires = moment("exp").ok_or(TokenTimeError::Invalid("it has no exp"))?;
    if expires <= now {
        return Err(TokenTimeError::Expired);
    }
    if expires.saturating_sub(now) > LONGEST_TOKEN_LIFETIME {
        return Err(TokenTimeError::Invalid(
            "its exp must be at most 10 minutes ahead",
        ));
    }
    let is_future = |from: i64| from.saturating_sub(now) > SKEW;
    if ["nbf", "iat"].into_iter().filter_map(moment).any(is_future) {
        return Err(TokenTimeError::Invalid(
            "it is from the future: check the client's clock",
        ));
    }
    Ok(())
}

/// Returns the user of a subject identifier in a format that names users of this server (RFC 9493 section 3.2).
fn identified(identifier: Option<&Value>, issuer: &str) -> Result<SubjectHint, &'static str> {
    let member = |name: &str| identifier?.get(name)?.as_str();
    let required = |name: &str| {
        let text = member(name).filter(|text| !text.is_empty());
        text.map(str::to_owned)
            .ok_or("a member of its sub_id is missing")
    };
    match member("format") {
        Some("iss_sub") if member("iss") != Some(issuer) => {
            Err("the iss in its sub_id must be the issuer of this server")
        }
        Some("iss_sub") => required("sub").map(SubjectHint::Subject),
        Some("opaque") => required("id").map(SubjectHint::Subject),
        Some("email") => required("email").map(SubjectHint::Name),
        _ => {
            Err("it needs a sub_id with the format iss_sub, opaque or email (RFC 9493 section 3.2)")
        }
    }
}

/// Returns the user with this `sub` for the application. A `sub` that differs by application cannot be computed back,
/// so the user must have signed in to it in an open session.
async fn user_of_subject(
    services: &Services,
    application: &Application,
    subject: &str,
) -> Result<Option<User>, InternalError> {
    let store = &services.store;
    let found = match &application.settings.subject_type {
        SubjectType::Public => store.user_by_subject(subject).await?,
        SubjectType::Pairwise { .. } => {
            match store.user_of_subject(&application.id, subject).await? {
                Some(user) => store.user(user).await?,
                None => None,
            }
        }
    };
    let Some(user) = found else {
        return Ok(None);
    };
    let is_same = standard_claims::subject_of(services, application, &user)? == subject;
    Ok(is_same.then_some(user))
}

/// Returns the user with whether devices receive the request: the user may sign in now, and is below the rate limit.
/// `None` if the user has no access to the application. The queries are the same for any user and for none, so that
/// their time does not reveal which names exist.
pub(super) async fn served_user(
    services: &Services,
    application: &Application,
    hinted: Option<User>,
) -> Result<Option<(User, bool)>, InternalError> {
    let Some(user) = hinted else {
        let unknown = UserId::new(services.now(), &*services.entropy);
        services.store.access_of(unknown, &application.id).await?;
        return Ok(None);
    };
    let account = account_in(services, &user, &application.id).await?;
    let Some(account) = account.filter(|account| account.gives_access()) else {
        return Ok(None);
    };
    let is_terminated = [user.state, account.state].contains(&LifecycleState::Terminated);
    if is_terminated {
        return Ok(None);
    }
    let limit = &services.rate_limits.backchannel_per_user;
    let is_open = user.state == LifecycleState::Active
        && account.state.is_open()
        && limit.count_call(&user.id, services.now()).is_ok();
    Ok(Some((user, is_open)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_subject_identifier_names_a_user_of_this_server() {
        const ISSUER: &str = "https://id.example/oidc";
        let named = |value: Value| identified(Some(&value), ISSUER);
        let ada = || Ok(SubjectHint::Subject("ada".to_owned()));
        let own = json!({"format": "iss_sub", "iss": ISSUER, "sub": "ada"});
        assert_eq!(named(own), ada());
        assert_eq!(named(json!({"format": "opaque", "id": "ada"})), ada());
        assert_eq!(
            named(json!({"format": "email", "email": "ada@example.org"})),
            Ok(SubjectHint::Name("ada@example.org".to_owned()))
        );
        for wrong in [
            json!(null),
            json!("ada"),
            json!({"format": "opaque"}),
            json!({"format": "opaque", "id": ""}),
            json!({"format": "email", "email": 7}),
            json!({"format": "iss_sub", "iss": "https://other.example", "sub": "ada"}),
            json!({"format": "iss_sub", "sub": "ada"}),
            json!({"format": "phone_number", "phone_number": "+12065550100"}),
            json!({"id": "ada"}),
        ] {
            assert!(named(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(identified(None, ISSUER).is_err());
    }

    #[test]
    fn a_token_is_valid_for_ten_minutes_at_most() {
        let check = |claims: Value| check_times(1_000, claims.as_object().expect("members"));
        assert_eq!(check(json!({"exp": 1_600, "iat": 1_020})), Ok(()));
        assert_eq!(check(json!({"exp": 1_000})), Err(TokenTimeError::Expired));
        for claims in [
            json!({}),
            json!({"exp": "1600"}),
            json!({"exp": 1_601}),
            json!({"exp": 1e300}),
            json!({"exp": 1_600, "nbf": 1_031}),
        ] {
            let error = check(claims.clone());
            assert!(matches!(error, Err(TokenTimeError::Invalid(_))), "{claims}");
        }
    }
}
