//! The header of a received message.

use crate::message::header::Header;
use crate::message::{FormError, MessageError, UnsupportedError, read};
use crate::xml::{Element, Name};

impl Header {
    /// Reads the header of a message with this element name.
    ///
    /// # Errors
    /// [`FormError`], and [`UnsupportedError::Version`] for a message of another version.
    pub(super) fn read(root: Element<'_>, name: Name) -> Result<Self, MessageError> {
        if !root.is(name) {
            return Err(FormError::Root(name.local).into());
        }
        let version = read::require("Version", read::attribute(root, "Version"))?;
        let header = Self {
            id: read::require("ID", read::id(root, "ID")?)?,
            issuer: read::issuer(root)?,
            issue_instant: read::require("IssueInstant", read::moment(root, "IssueInstant")?)?,
            destination: read::uri(root, "Destination")?,
        };
        if version == "2.0" {
            Ok(header)
        } else {
            Err(header.unsupported(UnsupportedError::Version))
        }
    }

    pub(super) fn unsupported(&self, what: UnsupportedError) -> MessageError {
        MessageError::Unsupported {
            header: Box::new(self.clone()),
            what,
        }
    }
}
