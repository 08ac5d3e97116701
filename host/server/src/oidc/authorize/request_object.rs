//! Request objects (RFC 9101, OpenID Connect Core 1.0 section 6): authorization requests in JWTs that the application
//! signed, by value in `request`, or at an address in `request_uri` that the application registered.

use std::borrow::Cow;

use serde_json::{Map, Value};
use url::Url;

use super::super::error::AuthorizeErrorCode;
use super::super::parameters::Parameters;
use super::super::request_jwt;
use super::checks::{CheckError, MUST_PUSH, fail, must_push};
use super::source::RequestSource;
use crate::domain::Services;
use assent_model::application::Application;
use assent_model::id::Did;
use assent_model::purpose::SignInPurpose;

/// The largest request object at an address, in bytes.
const LARGEST: usize = 15 * 1024;

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
            parameters: Cow::Owned(request_jwt::parameters_of(application, claims)),
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

/// Returns the claims of a request object that the application signed.
async fn verified(
    services: &Services,
    application: &Application,
    object: &str,
) -> Result<Map<String, Value>, CheckError> {
    let fixed = application.settings.request_object_algorithm;
    request_jwt::verified(services, application, fixed, object)
        .await
        .or_else(invalid)
}

fn invalid<T>(description: String) -> Result<T, CheckError> {
    fail(AuthorizeErrorCode::InvalidRequestObject, description)
}

/// Checks the claims of a request object that are not parameters. Where the application must sign its requests, its
/// audience and its times are required, so that none can be used elsewhere or much later. Otherwise a plain request
/// could be, too.
fn check(
    services: &Services,
    application: &Application,
    claims: &Map<String, Value>,
) -> Result<(), CheckError> {
    let settings = &application.settings;
    let is_strict = settings.require_signed_request_object || settings.security_profile.is_some();
    let required: &[&str] = match is_strict {
        true => &["aud", "exp", "nbf"],
        false => &[],
    };
    request_jwt::check(services, application, claims, required).or_else(invalid)
}
