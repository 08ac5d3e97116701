//! The common header of all messages.

use assent_model::clock::Timestamp;

use super::instant_text;
use crate::xml::{Name, Signer, WriteError, Writer};

/// The common attributes and the issuer of a request or a response (SAML core sections 3.2.1 and 3.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The message's ID: an `xs:ID` of at most 256 bytes, unique for its sender.
    pub id: String,
    /// The entity ID of the sender.
    pub issuer: Option<String>,
    /// The time of creation.
    pub issue_instant: Timestamp,
    /// The intended address.
    pub destination: Option<String>,
}

impl Header {
    /// Writes a complete message. With a signer, the signature follows the issuer.
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
