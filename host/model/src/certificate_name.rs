//! The name of an application in the certificates of an authority (RFC 8705 section 2.1.2).

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::distinguished_name::{DistinguishedName, DistinguishedNameError};

/// The longest URI or email address, in bytes.
const LONGEST: usize = 2048;

/// The one name that an authority must have certified for an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateName {
    /// The whole subject.
    SubjectDn(DistinguishedName),
    /// A subject alternative name of the kind dNSName.
    SanDns(DnsName),
    /// A subject alternative name of the kind uniformResourceIdentifier.
    SanUri(UriName),
    /// A subject alternative name of the kind iPAddress.
    SanIp(IpAddr),
    /// A subject alternative name of the kind rfc822Name.
    SanEmail(EmailName),
}

/// The kinds of names, by their registered metadata members (RFC 8705 section 2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateNameKind {
    /// See [`CertificateName::SubjectDn`].
    SubjectDn,
    /// See [`CertificateName::SanDns`].
    SanDns,
    /// See [`CertificateName::SanUri`].
    SanUri,
    /// See [`CertificateName::SanIp`].
    SanIp,
    /// See [`CertificateName::SanEmail`].
    SanEmail,
}

impl CertificateNameKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::SubjectDn,
        Self::SanDns,
        Self::SanUri,
        Self::SanIp,
        Self::SanEmail,
    ];

    /// The member that registers a name of this kind.
    pub const fn member(self) -> &'static str {
        match self {
            Self::SubjectDn => "tls_client_auth_subject_dn",
            Self::SanDns => "tls_client_auth_san_dns",
            Self::SanUri => "tls_client_auth_san_uri",
            Self::SanIp => "tls_client_auth_san_ip",
            Self::SanEmail => "tls_client_auth_san_email",
        }
    }
}

/// The reason why a text is not such a name. The message says what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateNameError {
    /// No distinguished name.
    #[error(transparent)]
    SubjectDn(#[from] DistinguishedNameError),
    /// No host name.
    #[error("expected a host name without wildcards, such as reports.example.org")]
    Dns,
    /// No URI.
    #[error("expected an absolute URI without spaces, such as spiffe://example.org/reports")]
    Uri,
    /// No IP address.
    #[error("expected an IP address, such as 192.0.2.7 or 2001:db8::7")]
    Ip,
    /// No email address.
    #[error("expected an email address in ASCII, such as reports@example.org")]
    Email,
}

impl CertificateName {
    /// Reads a name of this kind.
    ///
    /// # Errors
    /// [`CertificateNameError`] if the text is not such a name.
    pub fn parse(kind: CertificateNameKind, text: &str) -> Result<Self, CertificateNameError> {
        Ok(match kind {
            CertificateNameKind::SubjectDn => Self::SubjectDn(DistinguishedName::parse(text)?),
            CertificateNameKind::SanDns => Self::SanDns(DnsName::parse(text)?),
            CertificateNameKind::SanUri => Self::SanUri(UriName::parse(text)?),
            CertificateNameKind::SanIp => {
                Self::SanIp(text.parse().map_err(|_| CertificateNameError::Ip)?)
            }
            CertificateNameKind::SanEmail => Self::SanEmail(EmailName::parse(text)?),
        })
    }

    /// The kind of the name.
    pub const fn kind(&self) -> CertificateNameKind {
        match self {
            Self::SubjectDn(_) => CertificateNameKind::SubjectDn,
            Self::SanDns(_) => CertificateNameKind::SanDns,
            Self::SanUri(_) => CertificateNameKind::SanUri,
            Self::SanIp(_) => CertificateNameKind::SanIp,
            Self::SanEmail(_) => CertificateNameKind::SanEmail,
        }
    }

    /// The name as text.
    pub fn to_text(&self) -> String {
        match self {
            Self::SubjectDn(name) => name.as_str().to_owned(),
            Self::SanDns(DnsName(text))
            | Self::SanUri(UriName(text))
            | Self::SanEmail(EmailName(text)) => text.clone(),
            Self::SanIp(address) => address.to_string(),
        }
    }
}

/// A host name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DnsName(String);

impl DnsName {
    fn parse(text: &str) -> Result<Self, CertificateNameError> {
        match is_host_name(text) {
            true => Ok(Self(text.to_owned())),
            false => Err(CertificateNameError::Dns),
        }
    }

    /// Whether a dNSName is this name. ASCII letters are equal in both cases. A wildcard in the certificate matches
    /// nothing.
    pub fn is(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

/// A URI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UriName(String);

impl UriName {
    fn parse(text: &str) -> Result<Self, CertificateNameError> {
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
        };
        let is_absolute = text
            .split_once(':')
            .is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty());
        let is_graphic = text.bytes().all(|byte| byte.is_ascii_graphic());
        match is_absolute && is_graphic && text.len() <= LONGEST {
            true => Ok(Self(text.to_owned())),
            false => Err(CertificateNameError::Uri),
        }
    }

    /// Whether a uniformResourceIdentifier is this URI, byte by byte.
    pub fn is(&self, uri: &str) -> bool {
        self.0 == uri
    }
}

/// An email address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EmailName(String);

impl EmailName {
    fn parse(text: &str) -> Result<Self, CertificateNameError> {
        let is_address = text
            .rsplit_once('@')
            .is_some_and(|(local, domain)| !local.is_empty() && is_host_name(domain));
        let is_graphic = text.bytes().all(|byte| byte.is_ascii_graphic());
        match is_address && is_graphic && text.len() <= LONGEST {
            true => Ok(Self(text.to_owned())),
            false => Err(CertificateNameError::Email),
        }
    }

    /// Whether an rfc822Name is this address: the part before the @ byte by byte, the domain in any case (RFC 5280
    /// section 7.5).
    pub fn is(&self, address: &str) -> bool {
        match (self.0.rsplit_once('@'), address.rsplit_once('@')) {
            (Some((local, domain)), Some((other_local, other_domain))) => {
                local == other_local && domain.eq_ignore_ascii_case(other_domain)
            }
            _ => false,
        }
    }
}

/// Whether a text has the form of a host name: no wildcard, no empty label, and A-labels in place of other letters.
fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(is_known)
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Reads and writes a name as its text.
macro_rules! as_text {
    ($($name:ident)*) => {$(
        impl TryFrom<String> for $name {
            type Error = CertificateNameError;

            fn try_from(text: String) -> Result<Self, CertificateNameError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    )*};
}
as_text!(DnsName UriName EmailName);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_compared_by_the_rules_of_their_kind() {
        let dns = DnsName::parse("Reports.example.org").unwrap();
        assert!(dns.is("reports.EXAMPLE.org"));
        for other in [
            "*.example.org",
            "reports.example.org.",
            "reports.example.org\0",
            "eports.example.org",
            "",
        ] {
            assert!(!dns.is(other), "{other}");
        }
        let uri = UriName::parse("spiffe://example.org/Reports").unwrap();
        assert!(uri.is("spiffe://example.org/Reports"));
        assert!(!uri.is("spiffe://example.org/reports"));
        assert!(!uri.is("SPIFFE://example.org/Reports"));
        let email = EmailName::parse("Reports@example.org").unwrap();
        assert!(email.is("Reports@EXAMPLE.org"));
        for other in [
            "reports@example.org",
            "example.org",
            "@example.org",
            "x@Reports@example.org",
        ] {
            assert!(!email.is(other), "{other}");
        }
    }

    #[test]
    fn a_text_of_another_form_is_rejected() {
        use CertificateNameKind::{SanDns, SanEmail, SanIp, SanUri, SubjectDn};
        for (kind, texts) in [
            (
                SanDns,
                &[
                    "",
                    "*.example.org",
                    "a..b",
                    "a.",
                    "ü.example",
                    "a b",
                    "a/b",
                    "[::1]",
                ][..],
            ),
            (
                SanUri,
                &["", "reports", "spiffe:", ":a", "1a:b", "a:b c", "a:ü"][..],
            ),
            (SanIp, &["", "192.0.2.0/24", "example.org", "[::1]"][..]),
            (
                SanEmail,
                &["", "a", "@a", "a@", "a@*.b", "a b@c", "ü@example.org"][..],
            ),
            (SubjectDn, &["", "reports"][..]),
        ] {
            for text in texts {
                assert!(CertificateName::parse(kind, text).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn a_name_is_stored_and_read_as_its_text() {
        for (kind, text) in [
            (CertificateNameKind::SubjectDn, "CN=reports,C=DE"),
            (CertificateNameKind::SanDns, "reports.example.org"),
            (CertificateNameKind::SanUri, "urn:example:reports"),
            (CertificateNameKind::SanIp, "2001:db8::7"),
            (CertificateNameKind::SanEmail, "reports@example.org"),
        ] {
            let name = CertificateName::parse(kind, text).unwrap();
            assert_eq!((name.kind(), name.to_text().as_str()), (kind, text));
            let stored = serde_json::to_string(&name).unwrap();
            assert_eq!(
                serde_json::from_str::<CertificateName>(&stored).unwrap(),
                name
            );
        }
        let damaged = serde_json::from_str::<CertificateName>(r#"{"san_dns": "*"}"#);
        assert!(damaged.is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), name in any::<String>()) {
            for kind in CertificateNameKind::ALL {
                match CertificateName::parse(kind, &text) {
                    Ok(CertificateName::SanDns(known)) => { known.is(&name); }
                    Ok(CertificateName::SanUri(known)) => { known.is(&name); }
                    Ok(CertificateName::SanEmail(known)) => { known.is(&name); }
                    Ok(known) => prop_assert_eq!(known.kind(), kind),
                    Err(_) => {}
                }
            }
        }
    }
}
