//! Writes the attributes of SAML assertions (SAML 2.0 Core, section 2.7.3).
//!
//! There are two sources, in this order. The first is the application's own `custom_attributes`, which administrators
//! set: strings with basic names. The second is this plugin's settings:
//!
//! ```toml
//! [[plugins.claim_mappers]]
//! name = "saml-attributes"
//! file = "/usr/lib/assent/plugins/saml-attributes.wasm"
//! writes = ["attribute:*"]
//!
//! [[plugins.claim_mappers.config.attributes]]
//! name = "urn:oid:0.9.2342.19200300.100.1.3"
//! friendly_name = "mail"
//! name_format = "uri"
//! values = ["{email}"]
//!
//! [[plugins.claim_mappers.config.attributes]]
//! name = "groups"
//! values = ["assent-{roles}", "everybody"]
//! ```
//!
//! The keys of an attribute:
//! - `name`: its `Name`.
//! - `values`: its values. `{email}` in a value stands for the user's claim `email`. Every claim from the server or an
//!   earlier plugin is available under its name in OpenID Connect: `{name}`, `{preferred_username}`, `{upn}` (the name
//!   of the account in the application) and so on. `{roles}` stands for the roles of the account. A value with a list,
//!   such as `{roles}`, is repeated for each member. `{{` and `}}` stand for braces.
//! - `friendly_name`: its `FriendlyName`, if it has one.
//! - `name_format`: `basic`, the default, `uri`, `unspecified` or another URI.
//! - `type`: the type of the values: `string`, the default, `boolean`, `integer`, `date_time`, `any_uri` or
//!   `base64_binary`.
//!
//! A value that names missing data is omitted for that user, and so is an attribute without values. A value with a
//! wrong type is a fault, because an application that receives it could grant wrong permissions. For attributes of some
//! applications only, add another entry to `[[plugins.claim_mappers]]` with `applications`.

use assent_plugin_sdk::claims::{
    ClaimMapper, Edit, Failure, Input, SamlAttribute, Sink, ValueType,
};
use assent_plugin_sdk::values::{self, Template, UnknownNameFormat};
use assent_plugin_sdk::{Description, Value, json};
use serde::Deserialize;

/// Writes the attributes of SAML assertions.
pub struct SamlAttributes;

/// The plugin's settings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    attributes: Vec<Attribute>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attribute {
    name: String,
    friendly_name: Option<String>,
    name_format: Option<String>,
    #[serde(rename = "type", default)]
    value_type: ValueType,
    values: Vec<String>,
}

/// A custom attribute in the record of an application.
#[derive(Deserialize)]
struct CustomAttribute {
    name: String,
    values: Vec<String>,
}

impl ClaimMapper for SamlAttributes {
    type Config = Config;

    fn describe() -> Description {
        let text = || json!({ "type": "string" });
        let types = [
            "string",
            "boolean",
            "integer",
            "date_time",
            "any_uri",
            "base64_binary",
        ];
        Description::new(
            "saml-attributes",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_DESCRIPTION"),
        )
        .writes(["attribute:*"])
        .sinks(["saml-assertion"])
        .config_schema(json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "attributes": {
                    "type": "array",
                    "default": [],
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["name", "values"],
                        "properties": {
                            "name": text(),
                            "values": { "type": "array", "items": text() },
                            "friendly_name": text(),
                            "name_format": { "type": "string", "default": "basic" },
                            "type": { "enum": types, "default": "string" },
                        },
                    },
                },
            },
        }))
    }

    fn validate(config: &Config) -> Result<(), Vec<String>> {
        let errors: Vec<String> = config
            .attributes
            .iter()
            .flat_map(Attribute::errors)
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    fn map(config: &Config, input: &Input) -> Result<Vec<Edit>, Failure> {
        if input.sink != Sink::SamlAssertion {
            return Ok(Vec::new());
        }
        let custom = custom_attributes(&input.application)?;
        let made = custom
            .iter()
            .chain(&config.attributes)
            .map(|attribute| attribute.build(input));
        let made: Vec<SamlAttribute> = made.collect::<Result<_, _>>().map_err(Failure::Fault)?;
        Ok(made
            .into_iter()
            .filter(|attribute| !attribute.values.is_empty())
            .map(Edit::Attribute)
            .collect())
    }
}

assent_plugin_sdk::claim_mapper!(SamlAttributes);

impl Attribute {
    /// Returns the errors in the attribute, as sentences.
    fn errors(&self) -> Vec<String> {
        let mut errors = Vec::new();
        if self.name.is_empty() {
            errors.push("an attribute has an empty `name`".to_owned());
        }
        if let Err(error) = self.name_format() {
            errors.push(format!("the attribute `{}`: {error}", self.name));
        }
        for value in &self.values {
            let checked = self.template(value).and_then(|template| {
                // Without names, the values are the same for every user, so they can be checked here.
                if template.is_literal() {
                    self.fill(value, &template, &Input::default()).map(drop)
                } else {
                    Ok(())
                }
            });
            errors.extend(checked.err());
        }
        errors
    }

    /// Returns the attribute of one user. An error is a sentence.
    fn build(&self, input: &Input) -> Result<SamlAttribute, String> {
        let name_format = self
            .name_format()
            .map_err(|error| format!("the attribute `{}`: {error}", self.name))?;
        let mut values = Vec::new();
        for value in &self.values {
            values.extend(self.fill(value, &self.template(value)?, input)?);
        }
        Ok(SamlAttribute {
            name: self.name.clone(),
            name_format: name_format.map(str::to_owned),
            friendly_name: self.friendly_name.clone(),
            value_type: self.value_type,
            values,
        })
    }

    fn template(&self, value: &str) -> Result<Template, String> {
        Template::parse(value)
            .map_err(|error| format!("the attribute `{}`: the value `{value}` {error}", self.name))
    }

    /// Returns the values of one setting. An error is logged, so it must not contain data of the user.
    fn fill(&self, value: &str, template: &Template, input: &Input) -> Result<Vec<String>, String> {
        let texts = template
            .fill(|name| texts_of(input, name))
            .map_err(|error| {
                format!("the attribute `{}`: the value `{value}` {error}", self.name)
            })?;
        let typed = texts
            .into_iter()
            .map(|text| values::write(self.value_type, text))
            .collect::<Option<_>>();
        let expected = values::type_name(self.value_type);
        typed.ok_or_else(|| {
            format!(
                "the attribute `{}`: the value `{value}` is not a valid {expected}",
                self.name
            )
        })
    }

    /// Returns the name format. `None` means the server's default, which is the basic format.
    fn name_format(&self) -> Result<Option<&str>, UnknownNameFormat> {
        self.name_format
            .as_deref()
            .map_or(Ok(None), values::name_format)
    }
}

/// Returns the application's own attributes.
fn custom_attributes(application: &Value) -> Result<Vec<Attribute>, Failure> {
    let Some(custom) = application.get("custom_attributes") else {
        return Ok(Vec::new());
    };
    let custom = Vec::<CustomAttribute>::deserialize(custom).map_err(|error| {
        Failure::Fault(format!(
            "the application's custom attributes are not as expected: {error}"
        ))
    })?;
    let attribute = |CustomAttribute { name, values }| Attribute {
        name,
        friendly_name: None,
        name_format: None,
        value_type: ValueType::String,
        values,
    };
    Ok(custom.into_iter().map(attribute).collect())
}

/// Returns the texts for a name in a value: one for each member of a list, none if there is no value.
fn texts_of(input: &Input, name: &str) -> Vec<String> {
    if name == "roles" {
        return input.roles.clone();
    }
    let member = || {
        name.split_once('.')
            .and_then(|(claim, member)| input.current.get(claim)?.get(member))
    };
    input
        .current
        .get(name)
        .or_else(member)
        .map(values::texts)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
