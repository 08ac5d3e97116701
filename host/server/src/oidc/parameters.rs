//! Request parameters (RFC 6749 section 3.1): each at most once, and an empty one counts as missing.

use std::borrow::Cow;

use crate::oidc::error::TokenError;
use assent_model::language::Language;

/// The maximum number of parameters of a request.
const MOST: usize = 64;
/// The maximum length of a parameter's value, in bytes.
const LONGEST: usize = 8 * 1024;
/// The maximum length of a JWT: of an ID token, which depends on the plugins, and of a request object. It still fits in
/// an address.
const LONGEST_JWT: usize = 15 * 1024;

/// A request's parameters.
#[derive(Clone, Debug)]
pub struct Parameters(Vec<(Cow<'static, str>, String)>);

/// The reason why parameters are not usable. The message is for the application's developer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParametersError {
    /// A parameter is repeated.
    #[error("the parameter {0} is repeated")]
    Repeated(&'static str),
    /// There are too many parameters, or one is too long.
    #[error("the request has too many parameters, or one that is too long")]
    TooMuch,
}

/// The known parameters. Others are ignored (RFC 6749 section 3.1), but none of these may be repeated.
const KNOWN: [&str; 41] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "scope",
    "state",
    "nonce",
    "prompt",
    "max_age",
    "login_hint",
    "id_token_hint",
    "acr_values",
    "claims",
    "authorization_details",
    "ui_locales",
    "claims_locales",
    "display",
    "request",
    "request_uri",
    "code_challenge",
    "code_challenge_method",
    "dpop_jkt",
    "grant_type",
    "code",
    "code_verifier",
    "client_secret",
    "client_assertion",
    "client_assertion_type",
    "refresh_token",
    "token",
    "token_type_hint",
    "access_token",
    "registration",
    "post_logout_redirect_uri",
    "logout_hint",
    "auth_req_id",
    "binding_message",
    "requested_expiry",
    "login_hint_token",
    "user_code",
    "client_notification_token",
];

impl Parameters {
    /// Parses `application/x-www-form-urlencoded` text of a query or a body.
    ///
    /// # Errors
    /// [`ParametersError`] if there are too many parameters, or one is too long.
    pub fn parse(encoded: &[u8]) -> Result<Self, ParametersError> {
        let mut pairs = Vec::new();
        for (name, value) in form_urlencoded::parse(encoded) {
            let longest = match &*name {
                "id_token_hint" | "login_hint_token" | "request" => LONGEST_JWT,
                _ => LONGEST,
            };
            if pairs.len() == MOST || value.len() > longest {
                return Err(ParametersError::TooMuch);
            }
            let known = KNOWN.into_iter().find(|known| *known == name);
            let name = known.map_or_else(|| Cow::Owned(name.into_owned()), Cow::Borrowed);
            pairs.push((name, value.into_owned()));
        }
        Ok(Self(pairs))
    }

    /// Returns stored parameters.
    pub fn of_pairs(pairs: Vec<(String, String)>) -> Self {
        let pairs = pairs.into_iter();
        Self(pairs.map(|(name, value)| (name.into(), value)).collect())
    }

    /// The parameters with these names, for storage.
    pub fn pairs(&self, is_stored: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let stored = self.0.iter().filter(|(name, _)| is_stored(name));
        stored
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect()
    }

    /// Checks that no known parameter is repeated.
    ///
    /// # Errors
    /// [`ParametersError::Repeated`] with the parameter.
    pub fn refuse_repeated(&self) -> Result<(), ParametersError> {
        let count = |known: &str| self.0.iter().filter(|(name, _)| name == known).count();
        KNOWN
            .into_iter()
            .find(|known| count(known) > 1)
            .map_or(Ok(()), |known| Err(ParametersError::Repeated(known)))
    }

    /// Returns the value of a parameter.
    ///
    /// # Errors
    /// [`TokenError::InvalidRequest`] if the parameter is missing, empty or repeated.
    pub fn required(&self, name: &str) -> Result<&str, TokenError> {
        self.get(name)
            .ok_or_else(|| TokenError::InvalidRequest(format!("{name} is missing")))
    }

    /// Whether there is such a parameter, even an empty or repeated one.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(name, _)| name == key)
    }

    /// The value of a parameter, unless it is missing, empty or repeated.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut values = self
            .0
            .iter()
            .filter(|(name, _)| name == key)
            .map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (Some(value), None) if !value.is_empty() => Some(value),
            _ => None,
        }
    }

    /// The first language of `ui_locales` that the pages support (OpenID Connect Core section 3.1.2.1).
    pub fn language(&self) -> Option<Language> {
        Language::of_ranges(self.get("ui_locales").unwrap_or_default().split(' '))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_repeated_parameter_has_no_value() {
        let parameters =
            Parameters::parse(b"client_id=a&client_id=b&x=1&x=2&scope=&state=%20s+t").unwrap();
        assert_eq!(parameters.get("client_id"), None);
        assert_eq!(parameters.get("scope"), None);
        assert_eq!(parameters.get("state"), Some(" s t"));
        assert_eq!(
            parameters.refuse_repeated(),
            Err(ParametersError::Repeated("client_id"))
        );
    }

    #[test]
    fn the_number_and_length_of_parameters_are_limited() {
        assert_eq!(
            Parameters::parse("a=1&".repeat(65).as_bytes()).unwrap_err(),
            ParametersError::TooMuch
        );
        for (name, longest) in [("a", LONGEST), ("id_token_hint", LONGEST_JWT)] {
            let of_length =
                |length| Parameters::parse(format!("{name}={}", "x".repeat(length)).as_bytes());
            assert!(of_length(longest).is_ok(), "{name}");
            assert_eq!(
                of_length(longest + 1).unwrap_err(),
                ParametersError::TooMuch,
                "{name}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            if let Ok(parameters) = Parameters::parse(&bytes) {
                let _ = parameters.refuse_repeated();
                let _ = parameters.get("state");
            }
        }
    }
}
