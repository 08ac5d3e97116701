//! Claim mappers: they decide which claims about a user an application receives.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Description;
use crate::bindings::claims::exports::assent::claims::mapper as wit;

/// The claims that only the server writes, independent of plugins and settings. They carry promises of the protocol.
pub const PROTECTED: [&str; 29] = include!("protected_claims.in");

/// A plugin that decides which claims about a user an application receives.
pub trait ClaimMapper {
    /// The plugin's table of the operator's settings. Use `#[serde(deny_unknown_fields)]`, so that the server finds a
    /// typing error in the settings when it starts.
    type Config: DeserializeOwned;

    /// Returns the name, the version and the claims that the plugin writes.
    fn describe() -> Description;

    /// Checks the settings beyond their types. Each error is one plain sentence.
    fn validate(_config: &Self::Config) -> Result<(), Vec<String>> {
        Ok(())
    }

    /// Returns the edits for one token, response or assertion.
    fn map(config: &Self::Config, input: &Input) -> Result<Vec<Edit>, Failure>;
}

/// The protocol that the application speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// OpenID Connect.
    #[default]
    Oidc,
    /// SAML 2.0.
    Saml,
}

/// The destination of the claims. In settings the names are `id-token`, `userinfo`, `introspection` and
/// `saml-assertion`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sink {
    /// OpenID Connect Core 1.0, section 2.
    #[default]
    IdToken,
    /// OpenID Connect Core 1.0, section 5.3.
    Userinfo,
    /// RFC 7662.
    Introspection,
    /// SAML 2.0 Core, section 2.7.3.
    SamlAssertion,
}

/// One entry of the request's `claims` parameter (OpenID Connect Core 1.0, section 5.5).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestedClaim {
    /// The claim's name.
    pub name: String,
    /// Whether the claim is essential for the application.
    #[serde(default)]
    pub essential: bool,
    /// The requested values, in the order of preference. Empty if the application accepts any value.
    #[serde(default)]
    pub values: Vec<Value>,
}

/// The input of a claim mapper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// The protocol that the application speaks.
    pub protocol: Protocol,
    /// The destination of the claims.
    pub sink: Sink,
    /// The current time, in seconds since the Unix epoch.
    pub now: u64,
    /// The application, a JSON object. It has `id` and `name`. With OIDC it also has `application_type` (`web`, `spa`,
    /// `native`), and with SAML `entity_id` and `custom_attributes`, a list of objects with `name` and `values`. A
    /// plugin must ignore unknown members of this object and of the next two, because a new release may add some.
    pub application: Value,
    /// The user's account in this application, a JSON object. It has `id`, `name`, `short_code` and `state`.
    pub account: Value,
    /// The user, a JSON object.
    ///
    /// | Member | Content |
    /// |---|---|
    /// | `did` | the identifier, a text |
    /// | `name` | the name that the user types at the sign-in |
    /// | `email` | the email address, or null |
    /// | `groups` | the names of the groups that are assigned to the application, a list |
    /// | `profile` | an object with the claims of OpenID Connect Core 1.0, section 5.1, such as `given_name` |
    ///
    /// An unknown claim is null or missing. `profile` also has `email_verified` and `phone_number_verified`.
    ///
    /// ```
    /// # use assent_plugin_sdk::{claims::Input, json};
    /// # let mut input = Input::default();
    /// # input.user = json!({ "email": "ada@example.org", "profile": { "email_verified": true } });
    /// let email = input.user["email"].as_str().unwrap_or_default();
    /// let is_verified = input.user["profile"]["email_verified"] == true;
    /// # assert!(email == "ada@example.org" && is_verified);
    /// ```
    pub user: Value,
    /// The user's roles in this application.
    pub roles: Vec<String>,
    /// The granted scopes of which the application receives claims in this sink. Empty for SAML.
    pub scopes: Vec<String>,
    /// The entries of the request's `claims` parameter for this sink.
    pub requested: Vec<RequestedClaim>,
    /// The authentication context class of the sign-in (OpenID Connect Core 1.0, section 2).
    pub acr: Option<String>,
    /// The authentication methods of the sign-in (RFC 8176).
    pub amr: Vec<String>,
    /// The claims from the server, with the edits of earlier plugins.
    pub current: Map<String, Value>,
}

impl Input {
    /// Returns whether the scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|granted| granted == scope)
    }
}

/// The type of an attribute's values, as in `xsi:type` (XML Schema Part 2). A value with another type is a fault. In
/// settings the names are `string`, `boolean`, `integer`, `date_time`, `any_uri` and `base64_binary`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    /// `xs:string`, which most service providers expect.
    #[default]
    String,
    /// `xs:boolean`: `true` or `false`.
    Boolean,
    /// `xs:integer`
    Integer,
    #[serde(alias = "date-time")]
    /// `xs:dateTime`, such as `2026-11-21T12:00:00Z`.
    DateTime,
    #[serde(alias = "any-uri")]
    /// `xs:anyURI`
    AnyUri,
    #[serde(alias = "base64-binary")]
    /// `xs:base64Binary`
    Base64Binary,
}

/// An attribute of the assertion's AttributeStatement (SAML 2.0 Core, section 2.7.3.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamlAttribute {
    /// `Name`.
    pub name: String,
    /// `NameFormat`. Without it, the server's default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_format: Option<String>,
    /// `FriendlyName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friendly_name: Option<String>,
    /// The type of the values.
    #[serde(default)]
    pub value_type: ValueType,
    /// The values; each becomes an `AttributeValue`.
    pub values: Vec<String>,
}

impl SamlAttribute {
    /// Creates an attribute with strings and a basic name. The server omits an attribute without values from the
    /// assertion.
    ///
    /// ```
    /// use assent_plugin_sdk::claims::{Edit, SamlAttribute, ValueType};
    ///
    /// let groups = Edit::attribute(SamlAttribute::new("groups", ["staff", "press"]));
    /// let mail = SamlAttribute::new("urn:oid:0.9.2342.19200300.100.1.3", ["ada@example.org"])
    ///     .name_format("urn:oasis:names:tc:SAML:2.0:attrname-format:uri")
    ///     .friendly_name("mail");
    /// let badge = SamlAttribute::new("badge", ["1815"]).value_type(ValueType::Integer);
    /// # assert!(matches!(groups, Edit::Attribute(SamlAttribute { values, .. }) if values.len() == 2));
    /// # assert_eq!((mail.friendly_name.as_deref(), badge.value_type), (Some("mail"), ValueType::Integer));
    /// ```
    pub fn new<V: Into<String>>(name: &str, values: impl IntoIterator<Item = V>) -> Self {
        Self {
            name: name.to_owned(),
            name_format: None,
            friendly_name: None,
            value_type: ValueType::String,
            values: values.into_iter().map(Into::into).collect(),
        }
    }

    /// Sets the `NameFormat`, a URI.
    #[must_use]
    pub fn name_format(mut self, uri: &str) -> Self {
        self.name_format = Some(uri.to_owned());
        self
    }

    /// Sets the `FriendlyName`.
    #[must_use]
    pub fn friendly_name(mut self, name: &str) -> Self {
        self.friendly_name = Some(name.to_owned());
        self
    }

    /// Sets the type of the values.
    #[must_use]
    pub fn value_type(mut self, value_type: ValueType) -> Self {
        self.value_type = value_type;
        self
    }
}

/// A change of the claims or attributes that the application receives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edit {
    /// Sets a claim.
    Set(String, Value),
    /// Removes a claim that this plugin may write.
    Remove(String),
    /// Adds an attribute; only for [`Sink::SamlAssertion`].
    Attribute(SamlAttribute),
}

impl Edit {
    /// Returns an edit that sets a claim.
    pub fn set(name: &str, value: Value) -> Self {
        Self::Set(name.to_owned(), value)
    }

    /// Returns an edit that adds an attribute; only for [`Sink::SamlAssertion`].
    pub fn attribute(attribute: SamlAttribute) -> Self {
        Self::Attribute(attribute)
    }

    /// Returns an edit that removes a claim.
    pub fn remove(name: &str) -> Self {
        Self::Remove(name.to_owned())
    }
}

/// The reason why a mapper returns no edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The user is denied access to this application. The text is the reason, in one sentence. The user sees it, and
    /// the server logs it. The description must declare it with [`Description::denies`]. Otherwise it is a fault, which
    /// ends the sign-in.
    Deny(String),
    /// The plugin reports a failure of its own.
    Fault(String),
}

/// Exports `$mapper`, which implements [`ClaimMapper`], as the component's claim mapper. Use it once in a crate, at the
/// top level.
#[macro_export]
macro_rules! claim_mapper {
    ($mapper:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(
            unsafe_code,
            reason = "the exports of a component are symbols with fixed names"
        )]
        const _: () = {
            use $crate::bindings::claims::exports::assent::claims::mapper as wit;

            struct Component;

            impl wit::Guest for Component {
                fn describe() -> String {
                    $crate::claims::describe::<$mapper>()
                }
                fn validate(config: String) -> Result<(), Vec<String>> {
                    $crate::claims::validate::<$mapper>(&config)
                }
                fn map_claims(input: wit::Input) -> Result<Vec<wit::Edit>, wit::Failure> {
                    $crate::claims::map::<$mapper>(input)
                }
            }

    $crate::bindings::claims::export!(Component with_types_in $crate::bindings::claims);
        };
    };
}

#[doc(hidden)]
pub fn describe<M: ClaimMapper>() -> String {
    crate::log::report_panics();
    M::describe().to_json()
}

#[doc(hidden)]
pub fn validate<M: ClaimMapper>(config: &str) -> Result<(), Vec<String>> {
    crate::log::report_panics();
    let config = crate::read_config(config).map_err(|error| vec![error])?;
    M::validate(&config)
}

#[doc(hidden)]
pub fn map<M: ClaimMapper>(input: wit::Input) -> Result<Vec<wit::Edit>, wit::Failure> {
    crate::log::report_panics();
    let config = crate::read_config(&input.config).map_err(wit::Failure::Fault)?;
    let input = Input::try_from(input)
        .map_err(|error| wit::Failure::Fault(format!("the input is not JSON: {error}")))?;
    match M::map(&config, &input) {
        Ok(edits) => Ok(edits.into_iter().map(wit::Edit::from).collect()),
        Err(Failure::Deny(reason)) => Err(wit::Failure::Deny(reason)),
        Err(Failure::Fault(reason)) => Err(wit::Failure::Fault(reason)),
    }
}

impl TryFrom<wit::Input> for Input {
    type Error = serde_json::Error;

    fn try_from(input: wit::Input) -> Result<Self, Self::Error> {
        let requested = input.requested.into_iter().map(|claim| {
            let values = claim
                .values
                .iter()
                .map(|value| serde_json::from_str(value))
                .collect::<Result<_, _>>()?;
            Ok(RequestedClaim {
                name: claim.name,
                essential: claim.essential,
                values,
            })
        });
        Ok(Self {
            protocol: match input.protocol {
                wit::Protocol::Oidc => Protocol::Oidc,
                wit::Protocol::Saml => Protocol::Saml,
            },
            sink: match input.sink {
                wit::Sink::IdToken => Sink::IdToken,
                wit::Sink::Userinfo => Sink::Userinfo,
                wit::Sink::Introspection => Sink::Introspection,
                wit::Sink::SamlAssertion => Sink::SamlAssertion,
            },
            now: input.now,
            application: serde_json::from_str(&input.application)?,
            account: serde_json::from_str(&input.account)?,
            user: serde_json::from_str(&input.user)?,
            roles: input.roles,
            scopes: input.scopes,
            requested: requested.collect::<Result<_, serde_json::Error>>()?,
            acr: input.acr,
            amr: input.amr,
            current: serde_json::from_str(&input.current)?,
        })
    }
}

impl From<ValueType> for wit::ValueType {
    fn from(value_type: ValueType) -> Self {
        match value_type {
            ValueType::String => Self::String,
            ValueType::Boolean => Self::Boolean,
            ValueType::Integer => Self::Integer,
            ValueType::DateTime => Self::DateTime,
            ValueType::AnyUri => Self::AnyUri,
            ValueType::Base64Binary => Self::Base64Binary,
        }
    }
}

/// Serializes JSON to text. This takes a third of the work of its `Display` implementation, and JSON always has a text.
fn json_text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl From<Edit> for wit::Edit {
    fn from(edit: Edit) -> Self {
        match edit {
            Edit::Set(name, value) => Self::Set((name, json_text(&value))),
            Edit::Remove(name) => Self::Remove(name),
            Edit::Attribute(SamlAttribute {
                name,
                name_format,
                friendly_name,
                value_type,
                values,
            }) => {
                let value_type = value_type.into();
                Self::Attribute(wit::SamlAttribute {
                    name,
                    name_format,
                    friendly_name,
                    value_type,
                    values,
                })
            }
        }
    }
}
