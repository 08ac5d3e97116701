use base64::engine::general_purpose::STANDARD;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;

use super::*;
use crate::keys::client::{certificate, key_of_pem};
use crate::keys::saml::partner_certificate;

/// A certificate of a service provider, and one of its issuer.
const LEAF: &str = include_str!("tests/leaf.pem");
const ISSUER: &str = include_str!("tests/issuer.pem");

fn base64_of(pem: &str) -> String {
    pem.lines().filter(|line| !line.starts_with('-')).collect()
}

/// The texts in which common programs write a certificate.
fn texts_of_certificate() -> Vec<(&'static str, String)> {
    let base64 = base64_of(LEAF);
    let indented: String = LEAF
        .lines()
        .map(|line| format!("        {line}\n"))
        .collect();
    vec![
        ("OpenSSL", LEAF.to_owned()),
        ("Windows", LEAF.replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{LEAF}")),
        (
            "openssl x509 -text",
            format!("Certificate:\n    Data:\n        Version: 3 (0x2)\n{LEAF}"),
        ),
        (
            "openssl pkcs12",
            format!("Bag Attributes\n    localKeyID: 01\nsubject=CN=sp\n{LEAF}"),
        ),
        (
            "TRUSTED CERTIFICATE",
            LEAF.replace("CERTIFICATE", "TRUSTED CERTIFICATE"),
        ),
        (
            "X509 CERTIFICATE",
            LEAF.replace("CERTIFICATE", "X509 CERTIFICATE"),
        ),
        ("an indented element of metadata", indented),
        ("one line", LEAF.replace('\n', "")),
        ("one line with spaces", LEAF.replace('\n', " ")),
        (
            "a value of an environment variable",
            LEAF.replace('\n', "\\n"),
        ),
        ("AWS Secrets Manager", LEAF.replace('\n', "\\r\\n")),
        (
            "white space inside the armour removed",
            LEAF.split_whitespace().collect(),
        ),
        ("metadata of Shibboleth", base64.clone()),
        ("metadata of ADFS", format!("\n{base64}\n")),
        ("lines of 76 characters", wrapped(&base64, 76)),
        ("no padding", base64.trim_end_matches('=').to_owned()),
        ("a secret of Kubernetes", STANDARD.encode(LEAF)),
        ("a chain", format!("{LEAF}{ISSUER}")),
        (
            "a chain in one line",
            format!("{LEAF}{ISSUER}").replace('\n', ""),
        ),
        (
            "a key before the certificate",
            format!("{}{LEAF}", public_key_pem()),
        ),
    ]
}

fn wrapped(text: &str, length: usize) -> String {
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(length)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    lines.join("\n")
}

fn public_key_pem() -> String {
    let key = X509::from_pem(LEAF.as_bytes())
        .unwrap()
        .public_key()
        .unwrap();
    String::from_utf8(key.public_key_to_pem().unwrap()).unwrap()
}

#[test]
fn a_certificate_is_read_from_each_text_of_common_programs() {
    for (program, text) in texts_of_certificate() {
        let partner =
            partner_certificate(&text).unwrap_or_else(|error| panic!("{program}: {error}"));
        assert_eq!(partner.pem, LEAF, "{program}");
        assert_eq!(certificate(&text).unwrap().pem(), LEAF, "{program}");
    }
}

#[test]
fn a_public_key_is_read_from_each_text_of_common_programs() {
    let pem = public_key_pem();
    let expected = key_of_pem(&pem).unwrap();
    let rsa = X509::from_pem(LEAF.as_bytes())
        .unwrap()
        .public_key()
        .unwrap()
        .rsa()
        .unwrap();
    let pkcs1 = String::from_utf8(rsa.public_key_to_pem_pkcs1().unwrap()).unwrap();
    let texts = [
        ("OpenSSL, .NET", pem.clone()),
        ("ssh-keygen -m PKCS8, Java", pem.replace('\n', "\r\n")),
        ("PKCS #1", pkcs1),
        ("AWS KMS, Java getEncoded", base64_of(&pem)),
        ("one line", pem.replace('\n', "")),
        ("an environment variable", pem.replace('\n', "\\n")),
        ("a secret of Kubernetes", STANDARD.encode(&pem)),
    ];
    for (program, text) in texts {
        let key = key_of_pem(&text).unwrap_or_else(|error| panic!("{program}: {error}"));
        assert_eq!(key, expected, "{program}");
    }
    for (program, text) in texts_of_certificate() {
        // The first key of a file counts.
        assert_eq!(key_of_pem(&text).unwrap(), expected, "{program}");
    }
}

#[test]
fn private_keys_and_other_texts_are_rejected() {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let pem = String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    for text in [pem.clone(), format!("{LEAF}{pem}"), STANDARD.encode(&pem)] {
        assert!(has_private_key(&text));
        assert!(
            partner_certificate(&text)
                .unwrap_err()
                .to_string()
                .contains("private key")
        );
        assert!(
            key_of_pem(&text)
                .unwrap_err()
                .to_string()
                .contains("private key")
        );
    }
    for text in [
        "",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----",
        "not a certificate",
        "AAAA",
        ISSUER.get(..200).unwrap(),
    ] {
        assert!(first_certificate(text).is_none(), "{text}");
        assert!(key_of_pem(text).is_err(), "{text}");
    }
    // A private key without armour has no public key in the expected place.
    let bare = STANDARD.encode(key.private_key_to_pkcs8().unwrap());
    assert!(key_of_pem(&bare).is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text: String, label in "[A-Z ]{0,12}", body in "[A-Za-z0-9+/= \\n]{0,40}") {
        let _ = blocks(&text);
        let _ = blocks(&format!("-----BEGIN {label}-----{body}-----END{text}"));
        let _ = has_private_key(&text);
    }
}
