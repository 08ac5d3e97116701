//! Requested authorization details (`authorization_details`, RFC 9396 section 2), and their check.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::name::{TYPE, TypeName};
use super::type_definition::DetailsType;
use super::values::ValueError;
use crate::id::GroupId;
use crate::language::Language;

/// The largest length of the parameter, in bytes.
const LONGEST: usize = 4096;
/// The largest number of elements in a request.
pub const MOST: usize = 5;

/// The elements of a request. Only their number and their types' names are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedDetails(Vec<(TypeName, Map<String, Value>)>);

/// The reason to reject `authorization_details` (RFC 9396 section 5), for the application's developer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetailsError {
    /// The parameter is too long.
    #[error("authorization_details is longer than {LONGEST} bytes")]
    TooLong,
    /// The parameter is not an array of objects with types.
    #[error(
        "authorization_details must be a JSON array of objects, each with the name of its type in the member type"
    )]
    Malformed,
    /// There are too many elements, or none.
    #[error("authorization_details must have 1 to {MOST} elements")]
    Number,
    /// A type is not registered.
    #[error(
        "authorization_details[{0}].type is unknown; authorization_details_types_supported of the discovery document \
         lists the types"
    )]
    UnknownType(usize),
    /// The application may not use a type.
    #[error(
        "authorization_details[{index}].type is {name}, which the application may not use; an administrator adds it to \
         the authorization_details_types of the application"
    )]
    NotPermitted {
        /// The position of the element.
        index: usize,
        /// The type.
        name: TypeName,
    },
    /// A type needs a second approval, which this kind of request cannot have.
    #[error(
        "authorization_details[{index}].type is {name}, which needs a second approval: only back-channel requests \
         (OpenID CIBA) can have one"
    )]
    SecondApproval {
        /// The position of the element.
        index: usize,
        /// The type.
        name: TypeName,
    },
    /// A value does not match the schema of its type.
    #[error("authorization_details[{index}].{error}")]
    Value {
        /// The position of the element.
        index: usize,
        /// The reason.
        error: ValueError,
    },
}

impl RequestedDetails {
    /// Parses the parameter.
    ///
    /// # Errors
    /// [`DetailsError`] if it is too long or malformed, or has too many elements.
    pub fn parse(text: &str) -> Result<Self, DetailsError> {
        if text.len() > LONGEST {
            return Err(DetailsError::TooLong);
        }
        let elements: Vec<Map<String, Value>> =
            serde_json::from_str(text).map_err(|_| DetailsError::Malformed)?;
        if !(1..=MOST).contains(&elements.len()) {
            return Err(DetailsError::Number);
        }
        let typed = elements.into_iter().map(|element| {
            let name = element.get(TYPE).and_then(Value::as_str);
            let name: Option<TypeName> = name.and_then(|name| name.parse().ok());
            Ok((name.ok_or(DetailsError::Malformed)?, element))
        });
        typed.collect::<Result<_, _>>().map(Self)
    }

    /// The names of the types, each once.
    pub fn types(&self) -> Vec<TypeName> {
        let mut names: Vec<TypeName> = self.0.iter().map(|(name, _)| name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The elements whose types need a second approval. The registered types are among those of the elements.
    pub fn second_demands(&self, registered: &[DetailsType]) -> Vec<SecondDemand> {
        let demanded = self.0.iter().enumerate().filter_map(|(index, (name, _))| {
            let known = registered.iter().find(|one| one.name() == name)?;
            Some(SecondDemand {
                index,
                name: name.clone(),
                group: known.second_approver_group()?,
            })
        });
        demanded.collect()
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.0.iter().map(|(_, element)| element)
    }

    /// Checks the elements with the registered types among theirs, and those that the application may use.
    ///
    /// # Errors
    /// [`DetailsError`] for the first element with a mistake.
    pub fn check(
        self,
        registered: &[DetailsType],
        is_permitted: impl Fn(&TypeName) -> bool,
    ) -> Result<AuthorizationDetails, DetailsError> {
        let checked = self
            .0
            .into_iter()
            .enumerate()
            .map(|(index, (name, value))| {
                let known = registered.iter().find(|one| *one.name() == name);
                let known = known.ok_or(DetailsError::UnknownType(index))?;
                if !is_permitted(&name) {
                    return Err(DetailsError::NotPermitted { index, name });
                }
                let texts = known
                    .texts(&value)
                    .map_err(|error| DetailsError::Value { index, error })?;
                Ok(AuthorizationDetail { value, texts })
            });
        checked.collect::<Result<_, _>>().map(AuthorizationDetails)
    }
}

/// The demand of an element's type for a second approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondDemand {
    index: usize,
    name: TypeName,
    /// The group of which a member must approve.
    pub group: GroupId,
}

impl SecondDemand {
    /// Returns the error of a kind of request that cannot have a second approval.
    pub fn refusal(self) -> DetailsError {
        DetailsError::SecondApproval {
            index: self.index,
            name: self.name,
        }
    }
}

/// Checked authorization details with the texts that the user sees. The texts stay as they were at the request, even
/// if an administrator changes a type meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AuthorizationDetails(Vec<AuthorizationDetail>);

/// A checked element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AuthorizationDetail {
    value: Map<String, Value>,
    texts: BTreeMap<Language, String>,
}

impl AuthorizationDetails {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the texts of the elements.
    pub fn texts(&self) -> DetailsTexts {
        DetailsTexts(self.0.iter().map(|one| one.texts.clone()).collect())
    }

    /// Returns the elements without their texts.
    pub(super) fn elements(&self) -> Vec<Map<String, Value>> {
        self.0.iter().map(|one| one.value.clone()).collect()
    }
}

/// The texts of authorization details, which a device shows and signs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DetailsTexts(Vec<BTreeMap<Language, String>>);

impl DetailsTexts {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the text of each element in a language.
    pub fn in_language(&self, language: Language) -> Vec<String> {
        let texts = self.0.iter();
        let first = |texts: &BTreeMap<_, String>| texts.values().next().cloned();
        texts
            .filter_map(|texts| texts.get(&language).cloned().or_else(|| first(texts)))
            .collect()
    }
}
