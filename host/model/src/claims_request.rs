//! The `claims` parameter (OpenID Connect Core 1.0 section 5.5): individual claims that an application requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scope::{Scope, Scopes};

/// The maximum number of claims in a request.
const MOST: usize = 64;

/// The claims of the `claims` parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimsRequest {
    /// The claims for the ID token.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub id_token: BTreeMap<String, ClaimRequirement>,
    /// The claims for UserInfo.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub userinfo: BTreeMap<String, ClaimRequirement>,
}

/// The requirements for one claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRequirement {
    /// Whether the application declares the claim as essential.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub essential: bool,
    /// The acceptable values. If empty, any value is acceptable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
}

/// An invalid `claims` parameter. The message is for the application's developer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimsRequestError {
    /// The text is not the JSON object of OpenID Connect Core section 5.5.
    #[error(
        "claims must be a JSON object with the members userinfo and id_token, each an object of claims that are null \
         or an object"
    )]
    Malformed,
    /// Too many claims.
    #[error("claims requests more than 64 claims")]
    TooMany,
}

impl ClaimsRequest {
    /// Parses the parameter. Undefined members are ignored (section 5.5).
    ///
    /// # Errors
    /// [`ClaimsRequestError`] if the text is malformed, or requests too many claims.
    pub fn parse(text: &str) -> Result<Self, ClaimsRequestError> {
        let value: Value = serde_json::from_str(text).map_err(|_| ClaimsRequestError::Malformed)?;
        let members = value.as_object().ok_or(ClaimsRequestError::Malformed)?;
        let request = Self {
            id_token: section(members.get("id_token"))?,
            userinfo: section(members.get("userinfo"))?,
        };
        if request.id_token.len() + request.userinfo.len() > MOST {
            return Err(ClaimsRequestError::TooMany);
        }
        Ok(request)
    }

    /// Returns the number of acceptable values in the request.
    pub fn values(&self) -> usize {
        self.id_token
            .values()
            .chain(self.userinfo.values())
            .map(|claim| claim.values.len())
            .sum()
    }

    /// Whether the request contains no claims.
    pub fn is_empty(&self) -> bool {
        self.id_token.is_empty() && self.userinfo.is_empty()
    }

    /// Returns the request with only the claims that `fits` accepts.
    pub fn retaining(mut self, fits: impl Fn(&str) -> bool) -> Self {
        self.id_token.retain(|name, _| fits(name));
        self.userinfo.retain(|name, _| fits(name));
        self
    }

    /// Returns the request without the claims of scopes outside this set.
    pub fn within_scopes(&self, scopes: &Scopes) -> Self {
        self.clone()
            .retaining(|name| Scope::of_claim(name).is_none_or(|scope| scopes.has(scope)))
    }

    /// Returns the requirements for a claim in the ID token and at UserInfo.
    pub fn requirements_of<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a ClaimRequirement> {
        [self.id_token.get(name), self.userinfo.get(name)]
            .into_iter()
            .flatten()
    }

    /// Returns the names of all requested claims.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.id_token
            .keys()
            .chain(self.userinfo.keys())
            .map(String::as_str)
    }
}

impl ClaimRequirement {
    /// Whether the value is acceptable.
    pub fn admits(&self, value: &Value) -> bool {
        self.values.is_empty() || self.values.contains(value)
    }
}

fn section(
    value: Option<&Value>,
) -> Result<BTreeMap<String, ClaimRequirement>, ClaimsRequestError> {
    match value {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(claims)) => claims
            .iter()
            .map(|(name, value)| {
                Ok((
                    name.clone(),
                    parse_requirement(value).ok_or(ClaimsRequestError::Malformed)?,
                ))
            })
            .collect(),
        Some(_) => Err(ClaimsRequestError::Malformed),
    }
}

fn parse_requirement(value: &Value) -> Option<ClaimRequirement> {
    if value.is_null() {
        return Some(ClaimRequirement::default());
    }
    let members = value.as_object()?;
    let essential = match members.get("essential") {
        None => false,
        Some(value) => value.as_bool()?,
    };
    let values = match (members.get("value"), members.get("values")) {
        (None, None) => Vec::new(),
        (Some(value), None) => vec![value.clone()],
        (None, Some(values)) => values.as_array()?.clone(),
        (Some(_), Some(_)) => return None,
    };
    Some(ClaimRequirement { essential, values })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_example_of_section_5_5_is_parsed() {
        let text = r#"{"userinfo": {"given_name": {"essential": true}, "nickname": null, "picture": null},
                       "id_token": {"auth_time": {"essential": true}, "acr": {"values": ["urn:a", "urn:b"]}, "sub": {"value": "248289761001"}},
                       "other": 7}"#;
        let request = ClaimsRequest::parse(text).unwrap();
        assert!(
            request.userinfo["given_name"].essential && !request.userinfo["nickname"].essential
        );
        assert_eq!(
            request.id_token["acr"].values,
            [json!("urn:a"), json!("urn:b")]
        );
        assert!(
            request.id_token["sub"].admits(&json!("248289761001"))
                && !request.id_token["sub"].admits(&json!("x"))
        );
        assert_eq!(request.names().count(), 6);
    }

    #[test]
    fn malformed_and_oversized_requests_are_rejected() {
        for text in [
            "",
            "[]",
            "7",
            "{\"userinfo\": 7}",
            "{\"userinfo\": {\"a\": 7}}",
            "{\"id_token\": {\"a\": {\"essential\": 1}}}",
        ] {
            assert_eq!(
                ClaimsRequest::parse(text),
                Err(ClaimsRequestError::Malformed),
                "{text}"
            );
        }
        let many: serde_json::Map<String, Value> =
            (0..65).map(|n| (format!("c{n}"), Value::Null)).collect();
        assert_eq!(
            ClaimsRequest::parse(&json!({"userinfo": many}).to_string()),
            Err(ClaimsRequestError::TooMany)
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = ClaimsRequest::parse(&text);
        }
    }
}
