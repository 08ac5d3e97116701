//! What a request of a client contained, for its administrator: parameters and the claims of its JWTs. Neither secrets
//! and signatures, nor what identifies a user.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::client_auth::assertion::claimed_client;
use super::client_auth::basic;
use super::parameters::Parameters;
use assent_model::id::Did;

/// The shown parameters, also of request objects.
const SHOWN: [&str; 19] = [
    "client_id",
    "grant_type",
    "response_type",
    "response_mode",
    "redirect_uri",
    "scope",
    "state",
    "nonce",
    "prompt",
    "max_age",
    "acr_values",
    "ui_locales",
    "request_uri",
    "code_challenge",
    "code_challenge_method",
    "dpop_jkt",
    "client_assertion_type",
    "token_type_hint",
    "requested_expiry",
];
/// Parameters of which only the presence is shown: secrets, and what may identify a user.
const HIDDEN: [&str; 16] = [
    "client_secret",
    "client_assertion",
    "code",
    "code_verifier",
    "refresh_token",
    "token",
    "login_hint",
    "id_token_hint",
    "request",
    "claims",
    "authorization_details",
    "auth_req_id",
    "binding_message",
    "login_hint_token",
    "user_code",
    "client_notification_token",
];
/// The shown members of JWTs beside the shown parameters. Of others only the presence is shown.
const SHOWN_IN_JWTS: [&str; 14] = [
    "alg", "typ", "kid", "crit", "cty", "iss", "aud", "exp", "nbf", "iat", "jti", "htm", "htu",
    "ath",
];
/// The shown members of a key.
const SHOWN_OF_KEYS: [&str; 2] = ["kty", "crv"];
/// The schemes of the header `Authorization`. Any other beginning may be a secret.
const SCHEMES: [&str; 3] = ["Basic", "Bearer", "DPoP"];
/// The longest shown value, in characters, and the largest number of claims.
const LONGEST: usize = 300;
const MOST: usize = 40;
const OMITTED: &str = "…";
/// The part with a request object.
const REQUEST_OBJECT: &str = "request_object";

/// Returns the client that a request names. Nothing is verified.
pub fn named_client(parameters: &Parameters, authorization: Option<&str>) -> Option<Did> {
    let by_header = || basic::parse(authorization?).ok().map(|(id, _)| id);
    let by_name = || parameters.get("client_id")?.parse().ok();
    let by_assertion = || claimed_client(parameters.get("client_assertion")?);
    by_name().or_else(by_assertion).or_else(by_header)
}

/// Returns the parts of a request: its parameters, assertion, request object and proof.
pub fn parts_of(
    parameters: &Parameters,
    authorization: Option<&str>,
    proof: Option<&str>,
) -> Vec<Value> {
    let shown = SHOWN
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), json!(shortened(parameters.get(name)?)))));
    let hidden = HIDDEN
        .into_iter()
        .filter(|name| parameters.has(name))
        .map(|name| (name.to_owned(), json!(OMITTED)));
    let mut sent: Map<String, Value> = shown.chain(hidden).collect();
    if let Some(text) = authorization {
        let scheme = text.split(' ').next().unwrap_or_default();
        let known = SCHEMES
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(scheme));
        let scheme = known.unwrap_or_default();
        sent.insert(
            "Authorization".to_owned(),
            json!(format!("{} {OMITTED}", shortened(scheme))),
        );
    }
    let jwts = [
        ("assertion", parameters.get("client_assertion")),
        (REQUEST_OBJECT, parameters.get("request")),
        ("proof", proof),
    ];
    let mut parts = vec![json!({"part": "parameters", "header": {}, "members": sent})];
    let sent = jwts.into_iter();
    parts.extend(sent.filter_map(|(part, text)| Some(jwt_part(part, text?))));
    parts
}

/// Returns the part of a request object that the server fetched from `request_uri`.
pub fn fetched_object(text: &str) -> Value {
    jwt_part(REQUEST_OBJECT, text)
}

fn jwt_part(part: &str, text: &str) -> Value {
    let (header, claims) = decoded(text);
    json!({"part": part, "header": header, "members": claims})
}

/// Returns the header and the claims of a JWT, of which nothing is verified. Empty if it cannot be read.
fn decoded(text: &str) -> (Map<String, Value>, Map<String, Value>) {
    let mut parts = text.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
        let read: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
        read.into_iter().take(MOST).map(shown).collect()
    });
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

fn shown((name, value): (String, Value)) -> (String, Value) {
    let name = shortened(&name);
    let is_shown = SHOWN.contains(&&*name) || SHOWN_IN_JWTS.contains(&&*name);
    let value = match value {
        Value::Object(key) if name == "jwk" => {
            let members = SHOWN_OF_KEYS.into_iter();
            let known = members.filter_map(|member| Some((member, key.get(member)?.as_str()?)));
            let known = known.map(|(member, value)| (member.to_owned(), json!(shortened(value))));
            Value::Object(known.collect())
        }
        _ if !is_shown => json!(OMITTED),
        Value::String(text) => json!(shortened(&text)),
        Value::Array(_) | Value::Object(_) => json!(shortened(&value.to_string())),
        other => other,
    };
    (name, value)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}{OMITTED}", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_and_names_of_users_are_omitted() {
        let text =
            b"client_id=a&client_secret=hush&login_hint=ada&code=hush&request=eyJ&unknown=hush";
        let parameters = Parameters::parse(text).unwrap();
        let parts = parts_of(&parameters, Some("Basic aHVzaA=="), None);
        let shown = Value::Array(parts).to_string();
        assert!(!shown.contains("hush") && !shown.contains("ada") && !shown.contains("aHVz"));
        assert!(shown.contains("client_secret") && shown.contains("Basic"));
        for secret in ["hush", "Bearer:hush"] {
            let parts = parts_of(&parameters, Some(secret), None);
            assert!(!Value::Array(parts).to_string().contains("hush"));
        }
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let header =
            part(r#"{"alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":"hush","d":"hush"}}"#);
        let claims = part(r#"{"iss":"a","sub":"hush","code":"hush","claims":{"a":"hush"}}"#);
        let proof = format!("{header}.{claims}.hush");
        let shown = Value::Array(parts_of(&parameters, None, Some(&proof))).to_string();
        assert!(
            !shown.contains("hush") && shown.contains("P-256"),
            "{shown}"
        );
    }

    proptest! {
        #[test]
        fn no_request_panics(body in ".*", header in ".*", proof in ".*") {
            if let Ok(parameters) = Parameters::parse(body.as_bytes()) {
                let _ = parts_of(&parameters, Some(&header), Some(&proof));
                let _ = named_client(&parameters, Some(&header));
            }
        }
    }
}
