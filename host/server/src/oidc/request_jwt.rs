//! Requests in JWTs that the application signed: request objects of the authorization endpoint (RFC 9101), and signed
//! back-channel requests (OpenID CIBA Core 1.0 section 7.1.1).

use serde_json::{Map, Value};

use super::parameters::Parameters;
use crate::domain::Services;
use crate::domain::keys::client_keys;
use crate::keys::client::{JwtError, header_of};
use crate::keys::jws_verifier::own_algorithms;
use assent_model::application::Application;
use assent_model::client_algorithm::ClientAlgorithm;

/// The maximum age and the maximum remaining lifetime of a request, in seconds (FAPI 2.0 Message Signing section 5.3.1,
/// FAPI-CIBA section 5.2.2).
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

/// Returns the claims of a request that the application signed with a registered key and the algorithm `fixed`, or one
/// of its profile.
///
/// # Errors
/// The reason, for the developer of the application.
pub(super) async fn verified(
    services: &Services,
    application: &Application,
    fixed: Option<ClientAlgorithm>,
    jwt: &str,
) -> Result<Map<String, Value>, String> {
    let invalid = |reason: &str| Err(reason.to_owned());
    let Some(header) = header_of(jwt) else {
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
        return invalid("the application has no registered keys (jwks or jwks_uri)");
    };
    let accepted = own_algorithms(fixed, settings.security_profile);
    client_keys::verify(services, keys, jwt, &accepted)
        .await
        .map_err(|error| match error {
            JwtError::Algorithm => format!(
                "the alg of the request object must be {}",
                accepted.join(", ")
            ),
            other => format!("the request object is not valid: {other}"),
        })
}

/// Checks the claims of a request that are not parameters. Those that are `required` must be present, and the lifetime
/// of such a request is limited.
///
/// # Errors
/// The reason, for the developer of the application.
pub(super) fn check(
    services: &Services,
    application: &Application,
    claims: &Map<String, Value>,
    required: &[&str],
) -> Result<(), String> {
    let invalid = |reason: &str| Err(reason.to_owned());
    let client = application.id.as_str();
    let is_client = |name: &str| {
        claims.get(name).map_or(!required.contains(&name), |value| {
            value.as_str() == Some(client)
        })
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
    if !is_for_server(services, claims).unwrap_or(!required.contains(&"aud")) {
        return invalid("the aud of the request object must contain the issuer");
    }
    check_times(services.now().seconds(), claims, required)
}

/// Whether the audience contains the issuer. `None` if there is no audience.
pub(super) fn is_for_server(services: &Services, claims: &Map<String, Value>) -> Option<bool> {
    let is_issuer = |one: &Value| one.as_str() == Some(&services.issuer);
    Some(match claims.get("aud")? {
        Value::Array(audience) => audience.iter().any(is_issuer),
        one => is_issuer(one),
    })
}

/// Checks the times of a request.
fn check_times(now: i64, claims: &Map<String, Value>, required: &[&str]) -> Result<(), String> {
    for name in ["exp", "nbf", "iat"] {
        let is_required = required.contains(&name);
        let moment = match claims.get(name) {
            None if is_required => return Err(format!("the request object has no {name}")),
            None => continue,
            Some(value) => match value.as_f64() {
                Some(seconds) => seconds as i64,
                None => return Err(format!("the {name} of the request object is no number")),
            },
        };
        let fault = if name == "exp" {
            if moment <= now {
                "the request object has expired"
            } else if is_required && moment.saturating_sub(now) > LONGEST_LIFETIME {
                "the exp of the request object must be at most 60 minutes ahead"
            } else {
                continue;
            }
        } else if moment.saturating_sub(now) > SKEW {
            "the request object is from the future: check the client's clock"
        } else if is_required && name == "nbf" && now.saturating_sub(moment) > LONGEST_LIFETIME {
            "the nbf of the request object must be at most 60 minutes ago"
        } else {
            continue;
        };
        return Err(fault.to_owned());
    }
    Ok(())
}

/// Returns the parameters in a request: text as it is, any other value in JSON.
pub(super) fn parameters_of(application: &Application, claims: Map<String, Value>) -> Parameters {
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

    fn times(claims: &Value, required: &[&str]) -> Option<String> {
        let claims = claims.as_object().cloned().unwrap_or_default();
        check_times(100_000, &claims, required).err()
    }

    #[test]
    fn the_times_of_a_request_object_are_within_an_hour() {
        const STRICT: [&str; 2] = ["exp", "nbf"];
        let permitted = json!({"exp": 100_300, "nbf": 100_008, "iat": 99_000.5});
        assert_eq!(times(&permitted, &STRICT), None);
        assert_eq!(times(&json!({}), &[]), None);
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
            assert!(times(&claims, &STRICT).is_some(), "{claims}");
        }
        let without_iat = json!({"exp": 100_300, "nbf": 100_000});
        assert!(times(&without_iat, &["exp", "nbf", "iat"]).is_some());
    }

    proptest! {
        #[test]
        fn no_times_panic(exp in any::<f64>(), nbf in any::<f64>(), now in any::<i64>()) {
            let claims = json!({"exp": exp, "nbf": nbf});
            let _ = check_times(now, claims.as_object().unwrap(), &["exp", "nbf"]);
        }
    }
}
