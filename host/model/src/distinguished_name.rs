//! Distinguished names as text (RFC 4514), compared with the subject of a certificate.
//!
//! Texts are never compared: a value may contain `,O=`, and one name has many texts. The text becomes a sequence of
//! attributes, which is compared with the DER form of the certificate's subject.

use serde::{Deserialize, Serialize};

use crate::printable::is_printable;

/// The longest text, in bytes.
const LONGEST: usize = 2048;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;

/// The names of attribute types (RFC 4514 section 3, RFC 4519 section 2), and those that OpenSSL and Java write.
const TYPES: [(&str, &str); 34] = [
    ("CN", "2.5.4.3"),
    ("commonName", "2.5.4.3"),
    ("SN", "2.5.4.4"),
    ("surname", "2.5.4.4"),
    ("serialNumber", "2.5.4.5"),
    ("C", "2.5.4.6"),
    ("countryName", "2.5.4.6"),
    ("L", "2.5.4.7"),
    ("localityName", "2.5.4.7"),
    ("ST", "2.5.4.8"),
    ("stateOrProvinceName", "2.5.4.8"),
    ("STREET", "2.5.4.9"),
    ("streetAddress", "2.5.4.9"),
    ("O", "2.5.4.10"),
    ("organizationName", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("organizationalUnitName", "2.5.4.11"),
    ("title", "2.5.4.12"),
    ("description", "2.5.4.13"),
    ("businessCategory", "2.5.4.15"),
    ("postalCode", "2.5.4.17"),
    ("name", "2.5.4.41"),
    ("GN", "2.5.4.42"),
    ("givenName", "2.5.4.42"),
    ("initials", "2.5.4.43"),
    ("generationQualifier", "2.5.4.44"),
    ("dnQualifier", "2.5.4.46"),
    ("pseudonym", "2.5.4.65"),
    ("organizationIdentifier", "2.5.4.97"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("UID", "0.9.2342.19200300.100.1.1"),
    ("userId", "0.9.2342.19200300.100.1.1"),
    ("emailAddress", "1.2.840.113549.1.9.1"),
    ("E", "1.2.840.113549.1.9.1"),
];

/// A distinguished name, such as `CN=reports,O=Example AG,C=DE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DistinguishedName {
    text: String,
    /// The relative names in the order of the certificate, which is the reverse order of the text.
    relative: Vec<Vec<Attribute>>,
}

/// An attribute type and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Attribute {
    /// The content of the object identifier in DER.
    kind: Vec<u8>,
    value: AttributeValue,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AttributeValue {
    /// A text without escapes.
    Text(String),
    /// A value in DER form, after `#`.
    Der(Vec<u8>),
}

/// The reason why a text is not a distinguished name. The message says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DistinguishedNameError {
    /// It is empty or too long.
    #[error(
        "expected a distinguished name of 1 to 2,048 bytes (RFC 4514), such as CN=reports,O=Example AG,C=DE"
    )]
    Length,
    /// An attribute lacks its type or the equals sign.
    #[error(
        "expected attributes such as CN=reports, with a comma and no spaces between them (RFC 4514); this text is \
         printed by `openssl x509 -noout -subject -nameopt RFC2253`"
    )]
    Form,
    /// An attribute type is unknown.
    #[error(
        "{0:?} is no known attribute type; enter its object identifier, such as 2.5.4.3, without spaces around it"
    )]
    Type(String),
    /// A relative name has the same type twice.
    #[error("an attribute type is twice between two commas")]
    RepeatedType,
    /// A value has a character that needs an escape, or a wrong escape.
    #[error(
        "a value has a wrong escape, or a character that needs one (RFC 4514 section 2.4): write `\\,` for a comma"
    )]
    Escape,
    /// A value is empty, or is no value in DER form after `#`.
    #[error("a value is empty, or is no value in DER form after # (RFC 4514 section 2.4)")]
    Value,
}

impl DistinguishedName {
    /// Reads the text of RFC 4514. Attribute types are case-insensitive. Spaces around commas and equals signs are
    /// errors: other programs write them in texts with the opposite order.
    ///
    /// # Errors
    /// [`DistinguishedNameError`] if it is not such a text.
    pub fn parse(text: &str) -> Result<Self, DistinguishedNameError> {
        if text.is_empty() || text.len() > LONGEST {
            return Err(DistinguishedNameError::Length);
        }
        let mut relative = Vec::new();
        for part in split_unescaped(text, ',') {
            let mut attributes: Vec<Attribute> = Vec::new();
            for text in split_unescaped(part, '+') {
                let attribute = attribute(text)?;
                if attributes.iter().any(|one| one.kind == attribute.kind) {
                    return Err(DistinguishedNameError::RepeatedType);
                }
                attributes.push(attribute);
            }
            relative.push(attributes);
        }
        relative.reverse();
        Ok(Self {
            text: text.to_owned(),
            relative,
        })
    }

    /// The text as it was entered.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether this is the name in DER form, such as the subject of a certificate: the same attributes in the same
    /// order, with the same characters. A certificate may write them as UTF8String, PrintableString or IA5String. A
    /// value in another string type only matches its DER form after `#`.
    pub fn is(&self, der: &[u8]) -> bool {
        let Some((SEQUENCE, mut rest, [])) = element(der) else {
            return false;
        };
        for attributes in &self.relative {
            let Some((SET, set, next)) = element(rest) else {
                return false;
            };
            if !is_relative(attributes, set) {
                return false;
            }
            rest = next;
        }
        rest.is_empty()
    }
}

impl TryFrom<String> for DistinguishedName {
    type Error = DistinguishedNameError;

    fn try_from(text: String) -> Result<Self, DistinguishedNameError> {
        Self::parse(&text)
    }
}

impl From<DistinguishedName> for String {
    fn from(name: DistinguishedName) -> Self {
        name.text
    }
}

/// Returns the parts of a text between separators without a backslash before them.
fn split_unescaped(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    text.split(move |character| {
        let splits = character == separator && !escaped;
        escaped = character == '\\' && !escaped;
        splits
    })
}

fn attribute(text: &str) -> Result<Attribute, DistinguishedNameError> {
    let (kind, value) = text.split_once('=').ok_or(DistinguishedNameError::Form)?;
    if kind.is_empty() || kind.contains([' ', '\\', '#', '"']) {
        return Err(DistinguishedNameError::Form);
    }
    Ok(Attribute {
        kind: type_of(kind).ok_or_else(|| DistinguishedNameError::Type(kind.to_owned()))?,
        value: value_of(value)?,
    })
}

/// Returns the content of an attribute type's object identifier in DER.
fn type_of(text: &str) -> Option<Vec<u8>> {
    let known = TYPES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    identifier(known.map_or(text, |(_, dotted)| dotted))
}

/// Returns the content of an object identifier in DER (X.690 section 8.19).
fn identifier(dotted: &str) -> Option<Vec<u8>> {
    let arc = |text: &str| -> Option<u32> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let is_shortest = text == "0" || !text.starts_with('0');
        (is_number && is_shortest).then(|| text.parse().ok())?
    };
    let mut arcs = dotted.split('.');
    let (first, second) = (arc(arcs.next()?)?, arc(arcs.next()?)?);
    if first > 2 || (first < 2 && second > 39) {
        return None;
    }
    let joined = first.checked_mul(40)?.checked_add(second)?;
    let mut content = base128(joined);
    for text in arcs {
        content.extend(base128(arc(text)?));
    }
    Some(content)
}

/// Returns a number in groups of seven bits, each but the last with the highest bit set.
fn base128(number: u32) -> Vec<u8> {
    let groups = [28, 21, 14, 7, 0].map(|shift| (number >> shift) as u8 & 0x7f);
    let begin = groups.iter().position(|group| *group != 0).unwrap_or(4);
    let mut groups: Vec<u8> = groups.into_iter().skip(begin).collect();
    if let Some((_, leading)) = groups.split_last_mut() {
        leading.iter_mut().for_each(|group| *group |= 0x80);
    }
    groups
}

/// Reads a value (RFC 4514 section 3).
fn value_of(text: &str) -> Result<AttributeValue, DistinguishedNameError> {
    use DistinguishedNameError::{Escape, Value};
    if let Some(digits) = text.strip_prefix('#') {
        let der = hex::decode(digits).map_err(|_| Value)?;
        return match element(&der) {
            Some((_, _, [])) => Ok(AttributeValue::Der(der)),
            _ => Err(Value),
        };
    }
    if text.is_empty() {
        return Err(Value);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    let mut last_is_space = false;
    if text.starts_with(' ') {
        return Err(Escape);
    }
    while let Some(character) = rest.next() {
        last_is_space = character == ' ';
        match character {
            '\\' => bytes.extend(escaped(&mut rest).ok_or(Escape)?),
            '"' | '+' | ',' | ';' | '<' | '>' => return Err(Escape),
            // An administrator who approves the name must see it as it is.
            other if !is_printable(other) => return Err(Escape),
            other => bytes.extend(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    if last_is_space {
        return Err(Escape);
    }
    String::from_utf8(bytes)
        .map(AttributeValue::Text)
        .map_err(|_| Escape)
}

/// Returns the bytes of the character or of the two hexadecimal digits after a backslash.
fn escaped(rest: &mut std::str::Chars<'_>) -> Option<Vec<u8>> {
    let first = rest.next()?;
    if "\"+,;<>\\ #=".contains(first) {
        return Some(vec![u8::try_from(first).ok()?]);
    }
    let byte = first.to_digit(16)? * 16 + rest.next()?.to_digit(16)?;
    Some(vec![u8::try_from(byte).ok()?])
}

/// Whether the content of a SET has exactly these attributes, whose types differ.
fn is_relative(attributes: &[Attribute], set: &[u8]) -> bool {
    let mut rest = set;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let Some((SEQUENCE, pair, next)) = element(rest) else {
            return false;
        };
        let Some((OBJECT_IDENTIFIER, kind, value)) = element(pair) else {
            return false;
        };
        found.push((kind, value));
        rest = next;
    }
    let has = |attribute: &Attribute| {
        found
            .iter()
            .any(|(kind, value)| *kind == attribute.kind && is_value(&attribute.value, value))
    };
    found.len() == attributes.len() && attributes.iter().all(has)
}

/// Whether the value in DER form is this value.
fn is_value(value: &AttributeValue, der: &[u8]) -> bool {
    match (value, element(der)) {
        (AttributeValue::Der(known), Some((_, _, []))) => known == der,
        (AttributeValue::Text(text), Some((UTF8_STRING, content, []))) => {
            text.as_bytes() == content
        }
        (AttributeValue::Text(text), Some((PRINTABLE_STRING | IA5_STRING, content, []))) => {
            content.is_ascii() && text.as_bytes() == content
        }
        _ => false,
    }
}

/// Splits DER into the tag and the content of its first element, and the rest (X.690 section 8.1).
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    // No name has an element with a longer tag.
    if tag & 0x1f == 0x1f {
        return None;
    }
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81 => {
            let (length, rest) = rest.split_first()?;
            (Some(usize::from(*length)).filter(|it| *it >= 0x80)?, rest)
        }
        0x82 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            let length = usize::from(u16::from_be_bytes(*length));
            (Some(length).filter(|it| *it >= 0x100)?, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use openssl::asn1::Asn1Type;
    use openssl::x509::X509NameBuilder;
    use proptest::prelude::*;

    use super::*;

    fn name(text: &str) -> DistinguishedName {
        DistinguishedName::parse(text).unwrap()
    }

    /// Returns a name in DER form. Each entry has a relative name of its own.
    fn der(entries: &[(&str, &str, Asn1Type)]) -> Vec<u8> {
        let mut builder = X509NameBuilder::new().unwrap();
        for (kind, value, form) in entries {
            builder
                .append_entry_by_text_with_type(kind, value, *form)
                .unwrap();
        }
        builder.build().to_der().unwrap()
    }

    /// Returns an element in DER. Its content has less than 128 bytes.
    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        assert!(length < 0x80);
        [&[tag, length][..], content].concat()
    }

    #[test]
    fn a_name_is_compared_with_the_subject_of_a_certificate() {
        let subject = der(&[
            ("C", "DE", Asn1Type::PRINTABLESTRING),
            ("O", "Beispiel, Söhne & Co", Asn1Type::UTF8STRING),
            ("CN", "reports", Asn1Type::UTF8STRING),
        ]);
        for same in [
            "CN=reports,O=Beispiel\\, Söhne & Co,C=DE",
            "cn=reports,o=Beispiel\\2C S\\C3\\B6hne & Co,c=DE",
            "2.5.4.3=reports,ORGANIZATIONNAME=Beispiel\\, Söhne & Co,countryName=DE",
        ] {
            assert!(name(same).is(&subject), "{same}");
        }
        for other in [
            "C=DE,O=Beispiel\\, Söhne & Co,CN=reports",
            "CN=reports,O=Beispiel\\, Söhne & Co",
            "O=Beispiel\\, Söhne & Co,C=DE",
            "CN=Reports,O=Beispiel\\, Söhne & Co,C=DE",
            "CN=reports,O=Beispiel\\,  Söhne & Co,C=DE",
            "CN=reports+O=Beispiel\\, Söhne & Co,C=DE",
            "OU=reports,O=Beispiel\\, Söhne & Co,C=DE",
            "CN=reports,O=Beispiel\\, Söhne & Co,C=DE,C=DE",
        ] {
            assert!(!name(other).is(&subject), "{other}");
        }
    }

    /// An attacker whose authority issues a common name of the attacker's choice cannot inject an attribute.
    #[test]
    fn a_separator_within_a_value_is_no_separator() {
        let injected = der(&[("CN", "reports,O=Example", Asn1Type::UTF8STRING)]);
        let real = der(&[
            ("O", "Example", Asn1Type::UTF8STRING),
            ("CN", "reports", Asn1Type::UTF8STRING),
        ]);
        assert!(name("CN=reports,O=Example").is(&real));
        assert!(!name("CN=reports,O=Example").is(&injected));
        assert!(name("CN=reports\\,O=Example").is(&injected));
        assert!(!name("CN=reports\\,O=Example").is(&real));
        let plus = der(&[("CN", "reports+O=Example", Asn1Type::UTF8STRING)]);
        assert!(!name("CN=reports+O=Example").is(&plus));
        assert!(name("CN=reports\\+O=Example").is(&plus));
        let ends = der(&[("CN", "reports\0.example", Asn1Type::UTF8STRING)]);
        assert!(!name("CN=reports").is(&ends));
    }

    /// Other string types have several readings, so they only match their exact bytes.
    #[test]
    fn the_same_text_in_another_encoding_is_another_value() {
        for form in [Asn1Type::UTF8STRING, Asn1Type::PRINTABLESTRING] {
            assert!(name("CN=reports").is(&der(&[("CN", "reports", form)])));
        }
        for form in [Asn1Type::BMPSTRING, Asn1Type::TELETEXSTRING] {
            // A BMPString has an even length.
            assert!(!name("CN=report").is(&der(&[("CN", "report", form)])));
        }
        let wide = der(&[("CN", "\0a\0b", Asn1Type::BMPSTRING)]);
        assert!(name("CN=#1E0400610062").is(&wide));
        assert!(!name("CN=#0C026162").is(&wide));
        let plain = der(&[("CN", "ab", Asn1Type::UTF8STRING)]);
        assert!(name("CN=#0c026162").is(&plain));
        assert!(!name("CN=#13026162").is(&plain));
        // Bytes beyond ASCII in a PrintableString are no text.
        let kind = tlv(OBJECT_IDENTIFIER, &[0x55, 4, 3]);
        let value = tlv(PRINTABLE_STRING, "ü".as_bytes());
        let pair = tlv(SEQUENCE, &[kind, value].concat());
        assert!(!name("CN=ü").is(&tlv(SEQUENCE, &tlv(SET, &pair))));
    }

    #[test]
    fn a_relative_name_may_have_several_attributes() {
        let pair = |kind: u8, value: &str| {
            let kind = tlv(OBJECT_IDENTIFIER, &[0x55, 4, kind]);
            tlv(
                SEQUENCE,
                &[kind, tlv(UTF8_STRING, value.as_bytes())].concat(),
            )
        };
        let (common, unit) = (pair(3, "reports"), pair(11, "IT"));
        let both = tlv(
            SEQUENCE,
            &tlv(SET, &[common.clone(), unit.clone()].concat()),
        );
        let apart = tlv(SEQUENCE, &[tlv(SET, &unit), tlv(SET, &common)].concat());
        for text in ["CN=reports+OU=IT", "OU=IT+CN=reports"] {
            assert!(name(text).is(&both), "{text}");
            assert!(!name(text).is(&apart), "{text}");
        }
        assert!(name("CN=reports,OU=IT").is(&apart));
        assert!(!name("CN=reports").is(&both));
        let twice = tlv(SEQUENCE, &tlv(SET, &[common.clone(), common].concat()));
        assert!(!name("CN=reports+OU=IT").is(&twice));
        let more = [both, vec![0]].concat();
        assert!(!name("CN=reports+OU=IT").is(&more));
    }

    #[test]
    fn a_text_that_is_no_name_is_rejected() {
        use DistinguishedNameError::{Escape, Form, Length, RepeatedType, Type, Value};
        for (text, error) in [
            ("", Length),
            ("a".repeat(LONGEST + 1).as_str(), Length),
            ("reports", Form),
            ("CN=a,", Form),
            (",CN=a", Form),
            ("CN=a,,C=DE", Form),
            ("CN=a, C=DE", Form),
            ("CN = a", Form),
            ("=a", Form),
            ("CN=a+CN=b", RepeatedType),
            ("CN=a+2.5.4.3=b", RepeatedType),
            ("X=a", Type("X".to_owned())),
            ("2.5=a,9.1=b", Type("9.1".to_owned())),
            ("2.05.4.3=a", Type("2.05.4.3".to_owned())),
            ("2.5.4.=a", Type("2.5.4.".to_owned())),
            ("1.40=a", Type("1.40".to_owned())),
            ("CN=", Value),
            ("CN=#", Value),
            ("CN=#0C", Value),
            ("CN=#0C0261", Value),
            ("CN=#0C01616", Value),
            ("CN=#0C016162", Value),
            ("CN= a", Escape),
            ("CN=a ", Escape),
            ("CN=a\\", Escape),
            ("CN=a\\x", Escape),
            ("CN=a\\C3", Escape),
            ("CN=a\\ü", Escape),
            ("CN=\"a\"", Escape),
            ("CN=a;C=DE", Escape),
            ("CN=<a>", Escape),
            ("CN=a\0", Escape),
            ("CN=a\u{202e}", Escape),
        ] {
            assert_eq!(DistinguishedName::parse(text), Err(error), "{text}");
        }
        for text in ["CN=\\ a\\ ", "CN=\\#a", "CN=a=b", "CN=a\\=b", "2.999.1=a"] {
            assert_eq!(name(text).as_str(), text);
        }
    }

    #[test]
    fn object_identifiers_are_those_of_openssl() {
        for (name, dotted) in TYPES {
            let known = openssl::asn1::Asn1Object::from_str(dotted).unwrap();
            assert_eq!(
                identifier(dotted).unwrap(),
                known.as_slice(),
                "{name} {dotted}"
            );
        }
    }

    fn escape(value: &str) -> String {
        let is_plain = |character: char| character.is_alphanumeric();
        value
            .chars()
            .map(|character| match is_plain(character) {
                true => character.to_string(),
                false => {
                    let mut bytes = [0; 4];
                    let bytes = character.encode_utf8(&mut bytes).bytes();
                    bytes.map(|byte| format!("\\{byte:02x}")).collect()
                }
            })
            .collect()
    }

    proptest! {
        #[test]
        fn no_text_and_no_der_panics(text in any::<String>(), der in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(name) = DistinguishedName::parse(&text) {
                name.is(&der);
            }
            name("CN=a+OU=b,C=DE").is(&der);
        }

        #[test]
        fn no_similar_text_panics(text in "[CNOU=+,;#\\\\ \"<>.0-9a-fü]{0,40}") {
            if let Ok(name) = DistinguishedName::parse(&text) {
                prop_assert_eq!(DistinguishedName::try_from(String::from(name.clone())), Ok(name));
            }
        }

        #[test]
        fn an_escaped_value_matches_only_its_own_subject(
            value in "[a-z,=+#\\\\ ü<>;\"]{1,20}", other in "[a-z,=+#\\\\ ü<>;\"]{1,20}",
        ) {
            let subject = der(&[("O", "Example", Asn1Type::UTF8STRING), ("CN", &value, Asn1Type::UTF8STRING)]);
            let same = name(&format!("CN={},O=Example", escape(&value)));
            prop_assert!(same.is(&subject));
            let name = name(&format!("CN={},O=Example", escape(&other)));
            prop_assert_eq!(name.is(&subject), value == other);
        }

        #[test]
        fn a_changed_subject_is_another_name(at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let mut subject = der(&[("C", "DE", Asn1Type::PRINTABLESTRING), ("CN", "reports", Asn1Type::UTF8STRING)]);
            let at = at.index(subject.len());
            let was = std::mem::replace(&mut subject[at], to);
            let is_string_type = [UTF8_STRING, PRINTABLE_STRING, IA5_STRING];
            let is_same = was == to || (is_string_type.contains(&was) && is_string_type.contains(&to));
            prop_assert_eq!(name("CN=reports,C=DE").is(&subject), is_same);
        }
    }
}
