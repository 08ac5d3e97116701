//! The settings: the operator's rules.

use std::fmt;
use std::marker::PhantomData;

use assent_plugin_sdk::claims::{Sink, ValueType};
use assent_plugin_sdk::{Map, Value};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    Deserialize, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

/// The plugin's settings.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    #[serde(deserialize_with = "rules")]
    pub(crate) rules: Vec<Rule>,
}

/// A rule: its output, its source, its steps and its conditions.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rule {
    pub(crate) claim: Option<String>,
    pub(crate) attribute: Option<String>,
    pub(crate) remove: Option<String>,
    pub(crate) deny: Option<String>,

    pub(crate) from: Option<Several<String>>,
    pub(crate) value: Option<Value>,

    pub(crate) split: Option<String>,
    pub(crate) only: Option<Several<String>>,
    pub(crate) except: Option<Several<String>>,
    pub(crate) strip_prefix: Option<String>,
    pub(crate) lookup: Option<Map<String, Value>>,
    pub(crate) keep_unknown: bool,
    pub(crate) add_prefix: Option<String>,
    pub(crate) join: Option<String>,
    pub(crate) default: Option<Value>,

    pub(crate) friendly_name: Option<String>,
    pub(crate) name_format: Option<String>,
    #[serde(rename = "type")]
    pub(crate) value_type: Option<ValueType>,

    pub(crate) scopes: Option<Several<String>>,
    pub(crate) when: Option<Conditions>,
    pub(crate) unless: Option<Conditions>,
}

/// Conditions. All of them must hold. A condition with a list holds if one of the list's values does.
#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Conditions {
    pub(crate) role: Option<Several<String>>,
    pub(crate) scope: Option<Several<String>>,
    pub(crate) sink: Option<Several<Sink>>,
    pub(crate) requested: Option<Several<String>>,
    pub(crate) is: Option<Map<String, Value>>,
}

/// The output of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output<'a> {
    Claim(&'a str),
    Attribute(&'a str),
    Removal(&'a str),
    Denial(&'a str),
}

impl Rule {
    /// Returns all outputs that the rule names. A valid rule names one.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = Output<'_>> {
        let claim = self.claim.as_deref().map(Output::Claim);
        let attribute = self.attribute.as_deref().map(Output::Attribute);
        let removal = self.remove.as_deref().map(Output::Removal);
        let denial = self.deny.as_deref().map(Output::Denial);
        [claim, attribute, removal, denial].into_iter().flatten()
    }
}

impl Output<'_> {
    /// Returns the key of the settings for this output.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Claim(_) => "claim",
            Self::Attribute(_) => "attribute",
            Self::Removal(_) => "remove",
            Self::Denial(_) => "deny",
        }
    }
}

/// A rule's name in messages: its number, from 1, and its output. The text of a denial is omitted.
pub(crate) struct Named<'a>(pub(crate) usize, pub(crate) &'a Rule);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, rule) = self;
        match rule.outputs().next() {
            Some(Output::Denial(_)) => write!(f, "rule {number} (deny)"),
            Some(
                output @ (Output::Claim(name) | Output::Attribute(name) | Output::Removal(name)),
            ) => {
                write!(f, "rule {number} ({} `{name}`)", output.key())
            }
            None => write!(f, "rule {number}"),
        }
    }
}

/// One value or a list of them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Several<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrList<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrList<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let text: StrDeserializer<'_, E> = text.into_deserializer();
                Ok(vec![T::deserialize(text)?])
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = list.next_element()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer
            .deserialize_any(OneOrList(PhantomData))
            .map(Self)
    }
}

/// Reads the rules. An error names the number of its rule.
fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Rule>, D::Error> {
    struct Numbered(usize);

    impl<'de> serde::de::DeserializeSeed<'de> for Numbered {
        type Value = Rule;

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Rule, D::Error> {
            deserializer.deserialize_map(self)
        }
    }

    impl<'de> Visitor<'de> for Numbered {
        type Value = Rule;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a table as rule {}", self.0)
        }
        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Rule, A::Error> {
            let rule = Rule::deserialize(MapAccessDeserializer::new(table));
            rule.map_err(|error| A::Error::custom(format_args!("rule {}: {error}", self.0)))
        }
    }

    struct List;

    impl<'de> Visitor<'de> for List {
        type Value = Vec<Rule>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of rules")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Rule>, A::Error> {
            let mut rules = Vec::new();
            while let Some(rule) = list.next_element_seed(Numbered(rules.len() + 1))? {
                rules.push(rule);
            }
            Ok(rules)
        }
    }

    deserializer.deserialize_seq(List)
}
