//! The claim `department`: the user's department, by the user's roles in the application.
//!
//! Settings:
//! - `departments`: the department of each role.
//! - `otherwise`: the department of all other users. Without it they have no department and no claim.

use std::collections::BTreeMap;

use assent_plugin_sdk::claims::{ClaimMapper, Edit, Failure, Input};
use assent_plugin_sdk::{Description, json};
use serde::Deserialize;

/// Writes the claim.
pub struct Plugin;

/// The plugin's settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    departments: BTreeMap<String, String>,
    otherwise: Option<String>,
}

impl ClaimMapper for Plugin {
    type Config = Config;

    fn describe() -> Description {
        let summary = "Sends applications the department of a user";
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), summary)
            .writes(["department"])
            .config_schema(json!({
                "type": "object",
                "required": ["departments"],
                "additionalProperties": false,
                "properties": {
                    "departments": { "type": "object", "additionalProperties": { "type": "string" } },
                    "otherwise": { "type": "string" },
                },
            }))
    }

    fn validate(config: &Config) -> Result<(), Vec<String>> {
        let empty = config.departments.iter().filter(|(_, department)| department.is_empty());
        let errors: Vec<String> = empty.map(|(role, _)| format!("the department of the role `{role}` is \
             empty")).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn map(config: &Config, input: &Input) -> Result<Vec<Edit>, Failure> {
        let department = input.roles.iter().find_map(|role| config.departments.get(role));
        match department.or(config.otherwise.as_ref()) {
            Some(department) => Ok(vec![Edit::set("department", json!(department))]),
            None => Ok(Vec::new()),
        }
    }
}

assent_plugin_sdk::claim_mapper!(Plugin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixtures_hold() {
        assent_plugin_sdk::fixtures::assert_mapper::<Plugin>("fixtures");
    }

    #[test]
    fn an_empty_department_is_an_error() {
        let departments = ["editor", "reader"].map(|role| (role.to_owned(), String::new())).into();
        let errors = Plugin::validate(&Config { departments, otherwise: None });
        assert_eq!(errors.map_err(|errors| errors.len()), Err(2));
    }
}
