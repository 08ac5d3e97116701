//! Writes the claim `account`: a string of JSON with the user's account in the application.
//!
//! ```json
//! {"name":"ada","roles":["admin"],"short_code":"7KQ2M9T4VX"}
//! ```
//!
//! The plugin writes it for ID tokens and UserInfo, if the scope `profile` was granted or the request names the claim.
//! SAML assertions have attributes instead, which another plugin writes.
//!
//! Settings, all optional:
//! - `include`: the members of the account in addition to `roles`. The default is `["name", "short_code"]`. A member
//!   that the account does not have is omitted.
//! - `roles`: `"all"`, the default, or a list of the only roles that the application receives.

use assent_plugin_sdk::claims::{ClaimMapper, Edit, Failure, Input, Sink};
use assent_plugin_sdk::{Description, Value, json};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// Writes the `account` claim.
pub struct AccountRoles;

/// The plugin's settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    include: Vec<String>,
    roles: Roles,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            include: vec!["name".to_owned(), "short_code".to_owned()],
            roles: Roles::All(All::All),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Roles {
    All(All),
    Only(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum All {
    All,
}

impl Roles {
    fn shows(&self, role: &str) -> bool {
        match self {
            Self::All(All::All) => true,
            Self::Only(shown) => shown.iter().any(|name| name == role),
        }
    }
}

impl ClaimMapper for AccountRoles {
    type Config = Config;

    fn describe() -> Description {
        Description::new("account-roles", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
            .writes(["account"])
            .sinks(["id-token", "userinfo"])
            .config_schema(json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "include": { "type": "array", "items": { "type": "string" }, "default": ["name", "short_code"] },
                    "roles": {
                        "oneOf": [{ "const": "all" }, { "type": "array", "items": { "type": "string" } }],
                        "default": "all",
                    },
                },
            }))
    }

    fn validate(config: &Config) -> Result<(), Vec<String>> {
        if config.include.iter().any(|member| member == "roles") {
            return Err(vec![
                "`include` must not contain `roles`: the claim always has them, and `roles` filters them".to_owned(),
            ]);
        }
        Ok(())
    }

    fn map(config: &Config, input: &Input) -> Result<Vec<Edit>, Failure> {
        let asked = input.has_scope("profile")
            || input.requested.iter().any(|claim| claim.name == "account");
        if !matches!(input.sink, Sink::IdToken | Sink::Userinfo) || !asked {
            return Ok(Vec::new());
        }
        let account = Account { input, config };
        let text =
            serde_json::to_string(&account).map_err(|error| Failure::Fault(error.to_string()))?;
        Ok(vec![Edit::set("account", Value::String(text))])
    }
}

/// The content of the string. It borrows its values, because copies would be a large part of the plugin's work.
struct Account<'a> {
    input: &'a Input,
    config: &'a Config,
}

impl Serialize for Account<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut account = serializer.serialize_map(None)?;
        // The alphabetical order makes the string the same for the same account.
        let mut members: Vec<&str> = self
            .config
            .include
            .iter()
            .map(String::as_str)
            .chain(["roles"])
            .collect();
        members.sort_unstable();
        members.dedup();
        for member in members {
            if member == "roles" {
                let shown = |role: &&String| self.config.roles.shows(role);
                let roles: Vec<&String> = self.input.roles.iter().filter(shown).collect();
                account.serialize_entry(member, &roles)?;
            } else if let Some(value) = self
                .input
                .account
                .get(member)
                .filter(|value| !value.is_null())
            {
                account.serialize_entry(member, value)?;
            }
        }
        account.end()
    }
}

assent_plugin_sdk::claim_mapper!(AccountRoles);

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Input {
        Input {
            account: json!({ "name": "ada", "short_code": "7KQ2M9T4VX", "state": "active", "nickname": null }),
            roles: vec!["admin".to_owned(), "auditor".to_owned()],
            scopes: vec!["openid".to_owned(), "profile".to_owned()],
            ..Input::default()
        }
    }

    fn account(config: Value, input: &Input) -> Value {
        let config: Config = serde::Deserialize::deserialize(config).expect("settings");
        match AccountRoles::map(&config, input).expect("edits").as_slice() {
            [Edit::Set(name, Value::String(text))] if name == "account" => {
                text.parse().expect("JSON in the string")
            }
            other => panic!("expected the account claim, got {other:?}"),
        }
    }

    #[test]
    fn the_claim_is_a_json_string_with_the_roles() {
        assert_eq!(
            account(json!({}), &input()),
            json!({ "name": "ada", "short_code": "7KQ2M9T4VX", "roles": ["admin", "auditor"] })
        );
    }

    #[test]
    fn userinfo_receives_the_claim_too() {
        let input = Input {
            sink: Sink::Userinfo,
            ..input()
        };
        assert_eq!(account(json!({}), &input)["name"], "ada");
    }

    #[test]
    fn without_roles_the_list_is_empty() {
        let input = Input {
            roles: Vec::new(),
            ..input()
        };
        assert_eq!(account(json!({}), &input)["roles"], json!([]));
    }

    #[test]
    fn settings_choose_members_and_roles() {
        let chosen = account(
            json!({ "include": ["state", "nickname", "absent"], "roles": ["auditor"] }),
            &input(),
        );
        assert_eq!(chosen, json!({ "state": "active", "roles": ["auditor"] }));
    }

    #[test]
    fn without_the_profile_scope_and_for_other_sinks_there_is_no_claim() {
        let without_profile = Input {
            scopes: vec!["openid".to_owned()],
            ..input()
        };
        let saml = Input {
            sink: Sink::SamlAssertion,
            ..input()
        };
        let introspection = Input {
            sink: Sink::Introspection,
            ..input()
        };
        for input in [without_profile, saml, introspection] {
            assert_eq!(
                AccountRoles::map(&Config::default(), &input),
                Ok(Vec::new())
            );
        }
    }

    #[test]
    fn invalid_settings_are_rejected() {
        assert!(Config::deserialize(json!({ "inclde": [] })).is_err());
        assert!(Config::deserialize(json!({ "roles": "none" })).is_err());
        let config = Config {
            include: vec!["roles".to_owned()],
            ..Config::default()
        };
        assert!(AccountRoles::validate(&config).is_err());
    }
}
