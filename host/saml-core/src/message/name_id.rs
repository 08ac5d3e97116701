//! The identifiers of users.

use super::names::{BASE_ID, ENCRYPTED_ID, NAME_ID};
use super::{FormError, Header, MessageError, UnsupportedError, read};
use crate::xml::{Element, ShapeError, Writer};

/// The identifier of a user (SAML core section 2.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameId {
    /// The received identifier, unchanged: 1 to 4096 bytes.
    pub value: String,
    /// The format of the identifier: a URI.
    pub format: Option<String>,
    /// The entity ID of the identity provider that assigned the identifier.
    pub name_qualifier: Option<String>,
    /// The entity ID of the service provider that the identifier is for.
    pub sp_name_qualifier: Option<String>,
}

impl NameId {
    fn read(element: Element<'_>) -> Result<Self, FormError> {
        Ok(Self {
            value: read::text(element, "a NameID")?,
            format: read::uri(element, "Format")?,
            name_qualifier: read::string(element, "NameQualifier")?,
            sp_name_qualifier: read::string(element, "SPNameQualifier")?,
        })
    }

    /// Reads the identifier of a subject or a request, if there is one. It may have one of three forms.
    ///
    /// # Errors
    /// [`UnsupportedError`] for each of the other two forms; [`ShapeError::Repeated`] for several identifiers.
    pub(super) fn within(
        parent: Element<'_>,
        header: &Header,
    ) -> Result<Option<Self>, MessageError> {
        let mut identifiers = parent.children().filter(|child| {
            [NAME_ID, BASE_ID, ENCRYPTED_ID]
                .into_iter()
                .any(|name| child.is(name))
        });
        let Some(identifier) = identifiers.next() else {
            return Ok(None);
        };
        if identifiers.next().is_some() {
            return Err(ShapeError::Repeated("identifier").into());
        }
        if identifier.is(ENCRYPTED_ID) {
            return Err(header.unsupported(UnsupportedError::EncryptedId));
        }
        if identifier.is(BASE_ID) {
            return Err(header.unsupported(UnsupportedError::BaseId));
        }
        Ok(Some(Self::read(identifier)?))
    }

    /// Writes `saml:NameID`.
    pub fn write(&self, writer: &mut Writer) {
        let start = writer
            .open(NAME_ID)
            .optional_attribute("Format", self.format.as_deref());
        let start = start.optional_attribute("NameQualifier", self.name_qualifier.as_deref());
        start
            .optional_attribute("SPNameQualifier", self.sp_name_qualifier.as_deref())
            .text(&self.value);
    }
}
