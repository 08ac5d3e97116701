//! Signed elements: the signature is created when the element is complete, and inserted at its place.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::xml::chars::is_ncname;
use crate::xml::names::{
    CANONICALIZATION_METHOD, DIGEST_METHOD, DIGEST_VALUE, DSIG, ENVELOPED_SIGNATURE, EXC_C14N,
    INCLUSIVE_NAMESPACES, KEY_INFO, REFERENCE, SIGNATURE, SIGNATURE_METHOD, SIGNATURE_VALUE,
    SIGNED_INFO, TRANSFORM, TRANSFORMS, X509_CERTIFICATE, X509_DATA,
};
use crate::xml::sign::Signer;
use crate::xml::writer::{ElementStart, SignedElement, WriteError, Writer};

impl Writer {
    /// Signs the last written element, which begins at `from`. The signature is inserted at `place`.
    fn sign(&mut self, id: &str, signer: &Signer, from: usize, place: usize) {
        let Some(element) = self.signed.pop() else {
            return;
        };
        if !is_ncname(id) {
            self.fail(WriteError::Id);
        }
        if self.error.is_some() {
            return;
        }
        let inclusive = element.inclusive.into_iter().collect::<Vec<_>>().join(" ");
        match signer.signature(self.out.get(from..).unwrap_or_default(), id, &inclusive) {
            Ok(signature) => self.out.insert_str(place, &signature),
            Err(error) => self.fail(error),
        }
    }
}

impl<'w, 'v> ElementStart<'w, 'v> {
    /// Writes the element with the attribute `ID`, and signs it. The signature stands between the output of the two
    /// functions, because SAML requires it directly after the issuer (SAML core section 5.4.1).
    pub fn signed(
        self,
        id: &'v str,
        signer: &Signer,
        before: impl FnOnce(&mut Writer),
        after: impl FnOnce(&mut Writer),
    ) {
        let (name, from, outer_scope) = (self.name, self.writer.out.len(), self.writer.scope.len());
        self.writer.signed.push(SignedElement {
            outer_scope,
            inclusive: BTreeSet::new(),
        });
        let writer = self.attribute("ID", id).tag();
        before(writer);
        let place = writer.out.len();
        if writer
            .scope
            .iter()
            .any(|declared| declared.prefix == DSIG.prefix)
        {
            writer.fail(WriteError::Namespace(DSIG.uri));
        }
        after(writer);
        writer.end(name, outer_scope);
        writer.sign(id, signer, from, place);
    }
}

impl Signer {
    /// Returns the `ds:Signature` over an element in canonical form with this ID. `inclusive` are the prefixes that are
    /// written at their declaration.
    fn signature(&self, covered: &str, id: &str, inclusive: &str) -> Result<String, WriteError> {
        let digest = STANDARD.encode(Self::DIGEST.digest(covered.as_bytes())?);
        // Written separately, `SignedInfo` equals its own canonical form, because it declares the namespace of its
        // parent itself.
        let mut separate = Writer::new();
        signed_info(&mut separate, id, inclusive, &digest);
        let value = STANDARD.encode(self.sign(separate.finish()?.as_bytes())?);
        let mut whole = Writer::new();
        whole.open(SIGNATURE).content(|signature| {
            signed_info(signature, id, inclusive, &digest);
            signature.open(SIGNATURE_VALUE).text(&value);
            signature.open(KEY_INFO).content(|info| {
                info.open(X509_DATA)
                    .content(|data| data.open(X509_CERTIFICATE).text(self.certificate()));
            });
        });
        whole.finish()
    }
}

fn signed_info(writer: &mut Writer, id: &str, inclusive: &str, digest: &str) {
    writer.open(SIGNED_INFO).content(|info| {
        info.open(CANONICALIZATION_METHOD)
            .attribute("Algorithm", EXC_C14N.uri)
            .empty();
        info.open(SIGNATURE_METHOD)
            .attribute("Algorithm", Signer::ALGORITHM.uri())
            .empty();
        info.open(REFERENCE)
            .attribute("URI", format!("#{id}"))
            .content(|reference| {
                reference.open(TRANSFORMS).content(|transforms| {
                    transforms
                        .open(TRANSFORM)
                        .attribute("Algorithm", ENVELOPED_SIGNATURE)
                        .empty();
                    transforms
                        .open(TRANSFORM)
                        .attribute("Algorithm", EXC_C14N.uri)
                        .content(|form| {
                            if !inclusive.is_empty() {
                                form.open(INCLUSIVE_NAMESPACES)
                                    .attribute("PrefixList", inclusive)
                                    .empty();
                            }
                        });
                });
                reference
                    .open(DIGEST_METHOD)
                    .attribute("Algorithm", Signer::DIGEST.uri())
                    .empty();
                reference.open(DIGEST_VALUE).text(digest);
            });
    });
}
