//! The place at which a page of applications begins.

use std::fmt;
use std::str::FromStr;

use assent_model::id::{Did, IdError};

/// A place in a list of applications. It contains the name, because the application may be deleted before the next page
/// is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationCursor {
    /// The id of the last application of a page.
    pub id: Did,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ApplicationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

impl FromStr for ApplicationCursor {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let (id, name) = text.split_once(' ').ok_or(IdError)?;
        Ok(Self {
            id: id.parse()?,
            name: name.to_owned(),
        })
    }
}
