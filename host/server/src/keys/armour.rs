//! Keys and certificates in the text forms of other programs.
//!
//! Programs write the same bytes in many ways: PEM with a preamble, with indented lines, in one line, or with `\n` as
//! two characters; base64 without armour; a whole chain; or PEM that was encoded in base64 once more.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use openssl::x509::X509;

const BEGIN: &str = "-----BEGIN";
const DASHES: &str = "-----";
/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The content of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The label of the armour in PEM without spaces, such as `PUBLICKEY`. `None` for base64 without armour.
    pub label: Option<String>,
    /// The encoded object.
    pub der: Vec<u8>,
}

pub(super) fn has_private_key(text: &str) -> bool {
    text.contains("PRIVATE KEY")
        || inner_text(text).is_some_and(|text| text.contains("PRIVATE KEY"))
}

/// Returns the objects in a text, in their order.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let inner = inner_text(text);
    let text = inner.as_deref().unwrap_or(text);
    if !text.contains(BEGIN) {
        let der = decode_base64(text).filter(|der| !der.is_empty());
        return der
            .map(|der| Block { label: None, der })
            .into_iter()
            .collect();
    }
    text.split(BEGIN)
        .skip(1)
        .filter_map(|block| {
            let (label, rest) = block.split_once(DASHES)?;
            let (body, _) = rest.split_once(DASHES)?;
            Some(Block {
                label: Some(label.split_whitespace().collect()),
                der: decode_base64(body)?,
            })
        })
        .collect()
}

/// Returns the first certificate in a text. The others of a chain are its issuers.
pub fn first_certificate(text: &str) -> Option<X509> {
    certificates(text).into_iter().next()
}

/// Returns the certificates in a text, in their order.
pub(super) fn certificates(text: &str) -> Vec<X509> {
    blocks(text)
        .into_iter()
        .filter(|block| block.label.as_deref().is_none_or(is_certificate))
        .filter_map(|block| X509::from_der(&block.der).ok())
        .collect()
}

/// Whether this is the label of a certificate. OpenSSL also writes `X509 CERTIFICATE` and `TRUSTED CERTIFICATE`.
pub(super) fn is_certificate(label: &str) -> bool {
    label.ends_with("CERTIFICATE")
}

/// Returns the PEM text in base64, if the text is one.
fn inner_text(text: &str) -> Option<String> {
    if text.contains(BEGIN) {
        return None;
    }
    let text = String::from_utf8(decode_base64(text)?).ok()?;
    text.contains(BEGIN).then_some(text)
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.replace("\\n", "").replace("\\r", "");
    let base64: String = text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '\u{feff}')
        .collect();
    BASE64.decode(base64).ok()
}

#[cfg(test)]
mod tests;
