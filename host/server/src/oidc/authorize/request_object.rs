//! Request objects (RFC 9101, OpenID Connect Core 1.0 section 6): authorization requests in JWTs that the application
//! signed, by value in `request`, or at an address in `request_uri` that the application registered.

use std::borrow::Cow;

use serde_json::{Map, Value};
use url::Url;

use super::super::error::AuthorizeErrorCode;
use super::super::parameters::Parameters;
use super::checks::{CheckError, MUST_PUSH, fail, must_push};
use super::source::RequestSource;
use crate::domain::Services;
use crate::domain::keys::client_keys;
use crate::keys::client::{JwtError, header_of};
use crate::keys::jws_verifier::own_algorithms;
use assent_model::application::Application;
use assent_model::id::Did;
use assent_model::purpose::SignInPurpose;

/// The largest request object at an address, in bytes.
const LARGEST: usize = 15 * 1024;
/// The maximum age and the maximum remaining lifetime of a request object, in seconds (FAPI 2.0 Message Signing section
/// 5.3.1).
const LONGEST_LIFETIME: i64 = 60 * 60;
/// The maximum time by which an application's clock may be ahead of the server's, in seconds.
const SKEW: i64 = 30;
/// The types of request objects in the header `typ`; a missing one counts as one of them (RFC 9101 section 10.8).
const TYPES: [&str; 4] = [
    "oauth-authz-req+jwt",
    "application/oauth-authz-req+jwt",
    "jwt",
    "application/jwt",
];

/// The parameters of a request that count: only those of its request object, if it has one (RFC 9101 section 6.3).
#[derive(Debug)]
pub struct EffectiveRequest<'a> {
    /// The parameters.
    pub parameters: Cow<'a, Parameters>,
    /// Whether the application signed them.
    is_signed: bool,
    /// The reason why the request object is not valid. The parameters are then those beside it, if nothing of it is
    /// verified.
    fault: Option<CheckError>,
    /// The request object that the server fetched, for the administrator of the application.
    fetched: Option<String>,
}

impl<'a> EffectiveRequest<'a> {
    /// A request without a request object.
    const fn plain(parameters: &'a Parameters) -> Self {
        Self {
            parameters: Cow::Borrowed(parameters),
            is_signed: false,
            fault: None,
            fetched: None,
        }
    }

    /// A request whose request object is not valid. The application learns of it at the address beside the object, as
    /// of any other error.
    fn faulty(parameters: &'a Parameters, fault: CheckError) -> Self {
        Self {
            parameters: Cow::Borrowed(parameters),
            is_signed: false,
            fault: Some(fault),
            fetched: None,
        }
    }

    /// The same request with other parameters.
    pub fn with(self, parameters: Parameters) -> EffectiveRequest<'static> {
        EffectiveRequest {
            parameters: Cow::Owned(parameters),
            is_signed: self.is_signed,
            fault: self.fault,
            fetched: self.fetched,
        }
    }

    /// Takes the request object that the server fetched from `request_uri`, if it did.
    pub const fn take_fetched(&mut self) -> Option<String> {
        self.fetched.take()
    }

    /// Takes the reason why the request object is not valid.
    pub(super) const fn take_fault(&mut self) -> Option<CheckError> {
        self.fault.take()
    }

    /// Requires a request object, if the application does. A pushed request was checked when it arrived. A test of a
    /// sign-in by an administrator needs none, because only the application has the key.
    pub(super) fn signed_if_required(
        &self,
        application: &Application,
        source: RequestSource,
        purpose: SignInPurpose,
    ) -> Result<(), CheckError> {
        let is_exempt = matches!(source, RequestSource::Pushed(_)) || !purpose.is_application();
        if !self.is_signed && application.settings.require_signed_request_object && !is_exempt {
            return fail(
                AuthorizeErrorCode::InvalidRequest,
                "the request must be a signed request object in the parameter request (RFC 9101)",
            );
        }
        Ok(())
    }
}

/// Returns the parameters of a request that count. An invalid request object is a fault of the result, so that the
/// answer goes where the other errors go.
pub async fn effective<'a>(
    services: &Services,
    application: &Application,
    parameters: &'a Parameters,
    source: RequestSource,
) -> EffectiveRequest<'a> {
    if parameters.get("request").is_none() && parameters.get("request_uri").is_none() {
        return EffectiveRequest::plain(parameters);
    }
    if matches!(source, RequestSource::Browser) && must_push(services, application) {
        // Nothing is fetched for a request that another check rejects.
        let fault = CheckError {
            code: AuthorizeErrorCode::InvalidRequest,
            description: MUST_PUSH.to_owned(),
        };
        return EffectiveRequest::faulty(parameters, fault);
    }
    let object = match object_of(services, application, parameters, source).await {
        Ok(object) => object,
        Err(fault) => return EffectiveRequest::faulty(parameters, fault),
    };
    let mut request = match verified(services, application, &object).await {
        Ok(claims) => EffectiveRequest {
            fault: check(services, application, &claims).err(),
            parameters: Cow::Owned(parameters_of(application, claims)),
            is_signed: true,
            fetched: None,
        },
        Err(fault) => EffectiveRequest::faulty(parameters, fault),
    };
    if let Cow::Owned(object) = object {
        request.fetched = Some(object);
    }
    request
}

/// Returns the text of the request object.
async fn object_of<'a>(
    services: &Services,
    application: &Application,
    parameters: &'a Parameters,
    source: RequestSource,
) -> Result<Cow<'a, str>, CheckError> {
    // A parameter that is repeated has no value.
    parameters
        .refuse_repeated()
        .or_else(|error| fail(AuthorizeErrorCode::InvalidRequest, error.to_string()))?;
    let settings = &application.settings;
    match (parameters.get("request"), parameters.get("request_uri")) {
        (Some(_), Some(_)) => fail(
            AuthorizeErrorCode::InvalidRequest,
            "expected one of request and request_uri",
        ),
        (_, Some(_)) if matches!(source, RequestSource::Pushing) => fail(
            AuthorizeErrorCode::InvalidRequest,
            "a pushed request must not have a request_uri (RFC 9126 section 2.1)",
        ),
        _ if settings.signing_keys().is_none() => {
            let code = match parameters.get("request") {
                Some(_) => AuthorizeErrorCode::RequestNotSupported,
                None => AuthorizeErrorCode::RequestUriNotSupported,
            };
            fail(
                code,
                "the application has no registered keys (jwks or jwks_uri) that could verify a request object",
            )
        }
        (Some(object), None) => Ok(Cow::Borrowed(object)),
        (None, named) => fetch(services, application, named.unwrap_or_default())
            .await
            .map(Cow::Owned),
    }
}

/// Fetches the request object at a registered address. Concurrent requests share a fetch.
async fn fetch(
    services: &Services,
    application: &Application,
    named: &str,
) -> Result<String, CheckError> {
    let without_fragment = |text: &str| {
        let mut uri = Url::parse(text).ok()?;
        uri.set_fragment(None);
        Some(uri)
    };
    let registered = &application.settings.request_uris;
    let Some(uri) = without_fragment(named).filter(|uri| registered.contains(uri)) else {
        return fail(
            match registered.is_empty() {
                true => AuthorizeErrorCode::RequestUriNotSupported,
                false => AuthorizeErrorCode::InvalidRequestUri,
            },
            "request_uri is not one of the application's request_uris",
        );
    };
    let fetched = services.fetched_objects.object_at(
        &uri,
        || services.now(),
        fetch_object(services, &application.id, &uri),
    );
    match fetched.await {
        Some(object) => Ok(object.as_ref().to_owned()),
        None => fail(
            AuthorizeErrorCode::InvalidRequestUri,
            "the request object could not be fetched from request_uri",
        ),
    }
}

async fn fetch_object(services: &Services, application: &Did, uri: &Url) -> Option<String> {
    let accept = "application/oauth-authz-req+jwt, application/jwt";
    let fetched = match services.egress.get(uri, accept, LARGEST).await {
        Ok(answer) if answer.status == 200 => {
            let text = String::from_utf8(answer.body).map(|text| text.trim().to_owned());
            text.map_err(|_| "it is not a JWT".to_owned())
        }
        Ok(answer) => Err(format!("it was answered with the status {}", answer.status)),
        Err(failure) => Err(failure.to_string()),
    };
    fetched
        .inspect_err(|reason| {
            tracing::warn!(%application, %uri, reason, "request object of an application not fetched");
        })
        .ok()
}

fn invalid<T>(description: impl Into<String>) -> Result<T, CheckError> {
    fail(AuthorizeErrorCode::InvalidRequestObject, description)
}

/// Returns the claims of a request object that the application signed.
async fn verified(
    services: &Services,
    application: &Application,
    object: &str,
) -> Result<Map<String, Value>, CheckError> {
    let Some(header) = header_of(object) else {
        return invalid("the request object is not a signed JWT");
    };
    // A JWE has five parts.
    if header.contains_key("enc") {
        return invalid("encrypted request objects are not supported");
    }
    let kind = header.get("typ").map(|kind| kind.as_str().unwrap_or("?"));
    if kind.is_some_and(|kind| !TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known))) {
        return invalid("the typ of the request object must be oauth-authz-req+jwt");
    }
    let settings = &application.settings;
    let Some(keys) = settings.signing_keys() else {
        return invalid("the application has no keys");
    };
    let accepted = own_algorithms(settings.request_object_algorithm, settings.security_profile);
    client_keys::verify(services, keys, object, &accepted)
        .await
        .or_else(|error| match error {
            JwtError::Algorithm => invalid(format!(
                "the alg of the request object must be {}",
                accepted.join(", ")
            )),
            other => invalid(format!("the request object is not valid: {other}")),
        })
}

/// Checks the claims of a request object that are not parameters.
fn check(
    services: &Services,
    application: &Application,
    claims: &Map<String, Value>,
) -> Result<(), CheckError> {
    let client = application.id.as_str();
    let is_client = |name: &str| {
        claims
            .get(name)
            .is_none_or(|value| value.as_str() == Some(client))
    };
    if !is_client("iss") {
        return invalid("the iss of the request object must be the Client ID");
    }
    if !is_client("client_id") {
        return invalid("the client_id of the request object differs from the request");
    }
    // With them it could be used as a client assertion (RFC 9101 section 10.8).
    if claims.get("sub").and_then(Value::as_str) == Some(client) {
        return invalid("the request object must not have the Client ID as its sub");
    }
    if ["request", "request_uri"]
        .iter()
        .any(|name| claims.contains_key(*name))
    {
        return invalid("the request object must not contain request or request_uri");
    }
    let settings = &application.settings;
    let is_strict = settings.require_signed_request_object || settings.security_profile.is_some();
    let for_this_server = match claims.get("aud") {
        None => !is_strict,
        Some(Value::Array(audience)) => audience
            .iter()
            .any(|one| one.as_str() == Some(&services.issuer)),
        Some(one) => one.as_str() == Some(&services.issuer),
    };
    if !for_this_server {
        return invalid("the aud of the request object must contain the issuer");
    }
    check_times(services.now().seconds(), claims, is_strict)
}

/// Checks the times of a request object. Where the application must sign its requests, they are required, so that none
/// can be used much later. Otherwise a plain request could be, too.
fn check_times(now: i64, claims: &Map<String, Value>, is_strict: bool) -> Result<(), CheckError> {
    for name in ["exp", "nbf", "iat"] {
        let moment = match claims.get(name) {
            None if is_strict && name != "iat" => {
                return invalid(format!("the request object has no {name}"));
            }
            None => continue,
            Some(value) => match value.as_f64() {
                Some(seconds) => seconds as i64,
                None => return invalid(format!("the {name} of the request object is no number")),
            },
        };
        if name == "exp" {
            if moment <= now {
                return invalid("the request object has expired");
            }
            if is_strict && moment.saturating_sub(now) > LONGEST_LIFETIME {
                return invalid("the exp of the request object must be at most 60 minutes ahead");
            }
        } else if moment.saturating_sub(now) > SKEW {
            return invalid("the request object is from the future: check the client's clock");
        } else if is_strict && name == "nbf" && now.saturating_sub(moment) > LONGEST_LIFETIME {
            return invalid("the nbf of the request object must be at most 60 minutes ago");
        }
    }
    Ok(())
}

/// Returns the parameters in a request object: text as it is, any other value in JSON.
fn parameters_of(application: &Application, claims: Map<String, Value>) -> Parameters {
    let mut pairs = vec![("client_id".to_owned(), application.id.to_string())];
    pairs.extend(
        claims
            .into_iter()
            .filter(|(name, value)| name != "client_id" && !value.is_null())
            .map(|(name, value)| match value {
                Value::String(text) => (name, text),
                other => (name, other.to_string()),
            }),
    );
    Parameters::of_pairs(pairs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn times(claims: &Value, is_strict: bool) -> Option<String> {
        let claims = claims.as_object().cloned().unwrap_or_default();
        check_times(100_000, &claims, is_strict)
            .err()
            .map(|error| error.description)
    }

    #[test]
    fn the_times_of_a_request_object_are_within_an_hour() {
        let permitted = json!({"exp": 100_300, "nbf": 100_008, "iat": 99_000.5});
        assert_eq!(times(&permitted, true), None);
        assert_eq!(times(&json!({}), false), None);
        for claims in [
            json!({}),
            json!({"exp": 100_300}),
            json!({"nbf": 100_000}),
            json!({"exp": 100_000, "nbf": 100_000}),
            json!({"exp": 104_200, "nbf": 100_000}),
            json!({"exp": 100_300, "nbf": 95_800}),
            json!({"exp": 100_300, "nbf": 100_062}),
            json!({"exp": 100_300, "nbf": 100_000, "iat": 100_062}),
            json!({"exp": "100300", "nbf": 100_000}),
            json!({"exp": 1e300, "nbf": 100_000}),
            json!({"exp": 100_300, "nbf": -1e300}),
        ] {
            assert!(times(&claims, true).is_some(), "{claims}");
        }
    }

    proptest! {
        #[test]
        fn no_times_panic(exp in any::<f64>(), nbf in any::<f64>(), now in any::<i64>()) {
            let claims = json!({"exp": exp, "nbf": nbf});
            let _ = check_times(now, claims.as_object().unwrap(), true);
        }
    }
}
