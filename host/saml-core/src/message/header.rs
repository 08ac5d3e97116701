//! What every message begins with.

use super::{Flaw, MessageError, Unsupported, instant_text, read};
use crate::xml::{Element, Name, Signer, WriteError, Writer};
use assent_model::clock::Timestamp;

/// What every request and every response begins with (SAML core sections 3.2.1 and 3.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its ID, an `xs:ID` of at most 256 bytes that its sender uses for no other.
    pub id: String,
    /// The entity ID of its sender.
    pub issuer: Option<String>,
    /// When it was made.
    pub issue_instant: Timestamp,
    /// The address that it is meant for.
    pub destination: Option<String>,
}

impl Header {
    /// Reads the header of a message that has this name.
    ///
    /// # Errors
    /// [`Flaw`], and [`Unsupported::Version`] if it is a message of another version.
    pub(super) fn read(root: Element<'_>, name: Name) -> Result<Self, MessageError> {
        if !root.is(name) {
            return Err(Flaw::Root(name.local).into());
        }
        let version = read::required("Version", root.attribute("Version"))?;
        let header = Self {
            id: read::required("ID", read::id(root, "ID")?)?,
            issuer: read::issuer(root)?,
            issue_instant: read::required("IssueInstant", read::moment(root, "IssueInstant")?)?,
            destination: read::uri(root, "Destination")?,
        };
        if version == "2.0" {
            Ok(header)
        } else {
            Err(header.unsupported(Unsupported::Version))
        }
    }

    /// The error for a message that has this header.
    pub(super) fn unsupported(&self, what: Unsupported) -> MessageError {
        MessageError::Unsupported {
            header: Box::new(self.clone()),
            what,
        }
    }

    /// Writes a whole message. With a signer the message is signed, right after the issuer.
    pub(super) fn write<const N: usize>(
        &self,
        name: Name,
        signer: Option<&Signer>,
        attributes: [(&'static str, Option<&str>); N],
        content: impl FnOnce(&mut Writer),
    ) -> Result<String, WriteError> {
        let mut writer = Writer::new();
        let start = writer.open(name).attribute("Version", "2.0");
        let start = start.attribute("IssueInstant", instant_text(self.issue_instant));
        let start = start.optional_attribute("Destination", self.destination.as_deref());
        let start = attributes.into_iter().fold(start, |start, (name, value)| {
            start.optional_attribute(name, value)
        });
        let issuer = |writer: &mut Writer| {
            if let Some(issuer) = &self.issuer {
                writer.open(super::names::ISSUER).text(issuer);
            }
        };
        match signer {
            Some(signer) => start.signed(&self.id, signer, issuer, content),
            None => start.attribute("ID", &self.id).content(|message| {
                issuer(message);
                content(message);
            }),
        }
        writer.finish()
    }
}
