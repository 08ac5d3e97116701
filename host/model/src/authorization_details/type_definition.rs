//! Types of authorization details, as an administrator registers them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::TypeName;
use super::schema::{DetailsSchema, SchemaError};
use super::shown::{CheckedValue, text_of};
use super::template::{Template, TemplateError};
use super::values::ValueError;
use crate::id::GroupId;
use crate::language::Language;

/// The largest length of a filled template, in characters.
const LONGEST_SHOWN: usize = 1000;

/// A type: its schema, and its text in each language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TypeSource", into = "TypeSource")]
pub struct DetailsType {
    name: TypeName,
    schema: DetailsSchema,
    templates: BTreeMap<Language, Template>,
    second_approver_group: Option<GroupId>,
}

/// A type as it is written and stored, before its check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeSource {
    /// The name.
    #[serde(rename = "type")]
    pub name: TypeName,
    /// The schema.
    pub schema: Value,
    /// The template of each language.
    pub templates: BTreeMap<Language, String>,
    /// The group of which a member must approve each request with the type, beside its user; `None` if none must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_approver_group: Option<GroupId>,
}

/// An invalid type, for the administrator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// The schema is not valid.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A language has no template.
    #[error("templates.{}: is missing", .0.tag())]
    NoTemplate(Language),
    /// A template is not valid.
    #[error("templates.{}: {error}", .language.tag())]
    Template {
        /// The language.
        language: Language,
        /// The reason.
        error: TemplateError,
    },
    /// A template does not show a member, which a user would permit without having seen it.
    #[error("templates.{}: does not show {{{member}}}; each member must be shown", .language.tag())]
    NotShown {
        /// The language.
        language: Language,
        /// The path of the member.
        member: String,
    },
    /// A template shows a member that the schema lacks.
    #[error("templates.{}: shows a member that the schema does not have", .language.tag())]
    Unknown {
        /// The language.
        language: Language,
    },
    /// The text could be too long for a device.
    #[error(
        "templates.{}: could have {length} characters; reduce the maxLength and maxItems of the schema, so that \
         {LONGEST_SHOWN} are enough",
        .language.tag()
    )]
    TooLong {
        /// The language.
        language: Language,
        /// The largest length of the text.
        length: usize,
    },
}

impl DetailsType {
    /// Checks a type.
    ///
    /// # Errors
    /// [`TypeError`] for the first mistake.
    pub fn new(source: TypeSource) -> Result<Self, TypeError> {
        let schema = DetailsSchema::parse(&source.schema)?;
        let mut templates = BTreeMap::new();
        for language in Language::ALL {
            let text = source
                .templates
                .get(&language)
                .ok_or(TypeError::NoTemplate(language))?;
            let template =
                Template::parse(text).map_err(|error| TypeError::Template { language, error })?;
            check_template(&schema, language, &template)?;
            templates.insert(language, template);
        }
        Ok(Self {
            name: source.name,
            schema,
            templates,
            second_approver_group: source.second_approver_group,
        })
    }

    /// The name.
    pub const fn name(&self) -> &TypeName {
        &self.name
    }

    /// The schema as it was written.
    pub const fn schema(&self) -> &Value {
        self.schema.source()
    }

    /// The template of each language.
    pub const fn templates(&self) -> &BTreeMap<Language, Template> {
        &self.templates
    }

    /// The group of which a member must approve each request with the type, beside its user.
    pub const fn second_approver_group(&self) -> Option<GroupId> {
        self.second_approver_group
    }

    /// Checks an element of this type, and returns its text in each language.
    ///
    /// # Errors
    /// [`ValueError`] for the first member that does not match.
    pub fn texts(
        &self,
        element: &Map<String, Value>,
    ) -> Result<BTreeMap<Language, String>, ValueError> {
        let values: BTreeMap<String, CheckedValue<'_>> =
            self.schema.values(element)?.into_iter().collect();
        let texts = self.templates.iter().map(|(language, template)| {
            let text = template.filled(|member| text_of(values.get(member).copied(), *language));
            (*language, text)
        });
        Ok(texts.collect())
    }
}

/// Checks that a template shows each member of the schema, and nothing else.
fn check_template(
    schema: &DetailsSchema,
    language: Language,
    template: &Template,
) -> Result<(), TypeError> {
    let members = schema.members();
    let shown: BTreeSet<&str> = template.members().collect();
    if let Some((member, _)) = members
        .iter()
        .find(|(member, _)| !shown.contains(member.as_str()))
    {
        return Err(TypeError::NotShown {
            language,
            member: member.clone(),
        });
    }
    if shown.len() != members.len() {
        return Err(TypeError::Unknown { language });
    }
    let text = template.filled(|_| String::new()).chars().count();
    let values: usize = members.iter().map(|(_, longest)| longest).sum();
    match text + values {
        length if length > LONGEST_SHOWN => Err(TypeError::TooLong { language, length }),
        _ => Ok(()),
    }
}

impl TryFrom<TypeSource> for DetailsType {
    type Error = TypeError;

    fn try_from(source: TypeSource) -> Result<Self, TypeError> {
        Self::new(source)
    }
}

impl From<DetailsType> for TypeSource {
    fn from(stored: DetailsType) -> Self {
        let templates = stored.templates.iter();
        Self {
            templates: templates
                .map(|(language, template)| (*language, template.as_str().to_owned()))
                .collect(),
            schema: stored.schema.source().clone(),
            name: stored.name,
            second_approver_group: stored.second_approver_group,
        }
    }
}
