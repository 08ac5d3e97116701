//! The claim `department`: where the person works, by their roles in the application.
//!
//! Settings:
//! - `departments`: the department of each role.
//! - `otherwise`: the department of everybody else. Without it they do not get into the application.

use std::collections::BTreeMap;

use assent_plugin_sdk::claims::{ClaimMapper, Edit, Failure, Input};
use assent_plugin_sdk::{Description, json};
use serde::Deserialize;

/// Makes the claim.
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
        Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_DESCRIPTION"))
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
        let errors: Vec<String> = empty.map(|(role, _)| format!("the department of the role `{role}` is empty")).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn map(config: &Config, input: &Input) -> Result<Vec<Edit>, Failure> {
        let department = input.roles.iter().find_map(|role| config.departments.get(role));
        match department.or(config.otherwise.as_ref()) {
            Some(department) => Ok(vec![Edit::set("department", json!(department))]),
            None => Err(Failure::Deny("Your account belongs to no department.".to_owned())),
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
    fn the_first_role_with_a_department_counts() {
        let departments = [("editor", "Press"), ("reader", "Library")];
        let departments = departments.map(|(role, department)| (role.to_owned(), department.to_owned())).into();
        let config = Config { departments, otherwise: None };
        let edits = Plugin::map(&config, &Input::example());
        assert_eq!(edits, Ok(vec![Edit::set("department", json!("Library"))]));
    }
}
