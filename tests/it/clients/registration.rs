//! Applications with each method of client authentication, and what their own developers know of them.

use std::path::{Path, PathBuf};

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
use josekit::jwk::alg::rsa::RsaKeyPair;
use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Name};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{TestHost, id};

/// A method of client authentication, with how its key is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authentication {
    SecretBasic,
    SecretPost,
    SecretJwt,
    /// With an EC key, registered as a JSON Web Key.
    PrivateKeyJwk,
    /// With an RSA key, registered in PEM form.
    PrivateKeyPem,
    /// With an RSA key, registered by a certificate.
    PrivateKeyCertificate,
    TlsCertificate,
    None,
}

impl Authentication {
    /// The name in the application's settings.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
            Self::SecretJwt => "client_secret_jwt",
            Self::PrivateKeyJwk | Self::PrivateKeyPem | Self::PrivateKeyCertificate => "private_key_jwt",
            Self::TlsCertificate => "tls_client_certificate",
            Self::None => "none",
        }
    }
}

/// An application as its own developer knows it.
pub(super) struct Registration {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// What a relying party of these tests is told of the application.
    pub(super) told: Value,
    /// Where its private key and its certificate are in PEM form, if it has a certificate.
    pub(super) key_files: [PathBuf; 2],
}

/// Registers an application that authenticates itself so, with further settings of the admin API.
pub(super) async fn register(host: &TestHost, authentication: Authentication, settings: Value) -> Registration {
    let public = authentication == Authentication::None;
    let own = if public { "http://127.0.0.1" } else { "https://rp.example" };
    let mut body = json!({
        "name": "Books & <Co>",
        "application_type": if public { "native" } else { "web" },
        "redirect_uris": [format!("{own}/callback")],
        "post_logout_redirect_uris": [format!("{own}/signed-out")],
    });
    let mut told = json!({
        "issuer": host.issuer(),
        "method": authentication.as_str(),
    });
    if !public {
        body["token_endpoint_auth_method"] = authentication.as_str().into();
    }
    let key_files = ["client-key.pem", "client-certificate.pem"].map(|name| host.folder().join(name));
    give_key(&key_files, authentication, &mut body, &mut told);
    merge(&mut body, settings);
    told["redirect_uri"] = body["redirect_uris"][0].clone();
    told["signed_out_uri"] = body["post_logout_redirect_uris"][0].clone();
    told["id_token_alg"] = body.get("id_token_signed_response_alg").cloned().unwrap_or("RS256".into());

    let application = host.admin_ok(Method::POST, "/applications", body).await;
    told["client_id"] = id(&application).into();
    let secret = if told["method"].as_str().is_some_and(|method| method.starts_with("client_secret")) {
        let path = format!("/applications/{}/secret", id(&application));
        told["client_secret"] = host.admin_ok(Method::POST, &path, Value::Null).await["client_secret"].clone();
        told["client_secret"].as_str().map(str::to_owned)
    } else {
        None
    };
    Registration { id: id(&application).to_owned(), secret, told, key_files }
}

/// Makes the application's key, where the method has one: the public half for the host, the private one for the
/// application.
fn give_key(files: &[PathBuf; 2], authentication: Authentication, body: &mut Value, told: &mut Value) {
    match authentication {
        Authentication::PrivateKeyJwk => {
            let mut pair = EcKeyPair::generate(EcCurve::P256).expect("a key");
            pair.set_key_id(Some("first"));
            body["jwks"] = json!({"keys": [pair.to_jwk_public_key()]});
            told["private_key"] = json!(pair.to_jwk_key_pair());
        }
        Authentication::PrivateKeyPem => {
            let key = rsa();
            body["public_key"] = text(key.public_key_to_pem().expect("PEM")).into();
            told["private_key"] = json!(jwk(&key));
        }
        Authentication::PrivateKeyCertificate | Authentication::TlsCertificate => {
            let [key_file, certificate_file] = files;
            let key = rsa();
            let certificate = certificate(&key, "Books & Co").to_pem().expect("PEM");
            write(key_file, key.private_key_to_pem_pkcs8().expect("PEM"));
            write(certificate_file, certificate.clone());
            body["certificate"] = text(certificate).into();
            told["certificate_key_file"] = json!(key_file);
            told["certificate_file"] = json!(certificate_file);
        }
        _ => {}
    }
}

/// The certificate of the listener for clients with certificates, with its key.
pub(super) struct ServerCertificate(tempfile::TempDir);

impl ServerCertificate {
    pub(super) fn new() -> Self {
        let (made, key) = (Self(tempfile::tempdir().expect("a folder")), rsa());
        write(&made.file(), certificate(&key, "localhost").to_pem().expect("PEM"));
        write(&made.key_file(), key.private_key_to_pem_pkcs8().expect("PEM"));
        made
    }

    /// The settings of a host that serves with it.
    pub(super) fn settings(&self) -> String {
        format!(
            "[http]\nmtls_url = \"https://localhost:{{mtls_port}}\"\n[http.mtls]\nlisten = \"127.0.0.1:{{mtls_port}}\"\n\
             certificate_file = {:?}\nkey_file = {:?}\n",
            self.file(),
            self.key_file()
        )
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.path().join("certificate.pem")
    }

    fn key_file(&self) -> PathBuf {
        self.0.path().join("key.pem")
    }
}

/// A self-signed certificate, good for a day.
fn certificate(key: &PKey<Private>, name: &str) -> X509 {
    let mut subject = X509Name::builder().expect("a name");
    subject.append_entry_by_text("CN", name).expect("a name");
    let subject = subject.build();
    let mut builder = X509::builder().expect("a certificate");
    builder.set_version(2).expect("set");
    builder.set_serial_number(&BigNum::from_u32(1).and_then(|one| one.to_asn1_integer()).expect("one")).expect("set");
    builder.set_subject_name(&subject).expect("set");
    builder.set_issuer_name(&subject).expect("set");
    builder.set_not_before(&Asn1Time::days_from_now(0).expect("a time")).expect("set");
    builder.set_not_after(&Asn1Time::days_from_now(1).expect("a time")).expect("set");
    builder.set_pubkey(key).expect("set");
    builder.append_extension(BasicConstraints::new().critical().ca().build().expect("an extension")).expect("set");
    let names = SubjectAlternativeName::new().dns("localhost").build(&builder.x509v3_context(None, None));
    builder.append_extension(names.expect("an extension")).expect("set");
    builder.sign(key, MessageDigest::sha256()).expect("signed");
    builder.build()
}

fn rsa() -> PKey<Private> {
    Rsa::generate(2048).and_then(PKey::from_rsa).expect("a key")
}

fn jwk(key: &PKey<Private>) -> Jwk {
    let der = key.private_key_to_pkcs8().expect("DER");
    RsaKeyPair::from_der(der).expect("a key").to_jwk_key_pair()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("text")
}

fn write(file: &Path, bytes: Vec<u8>) {
    std::fs::write(file, bytes).expect("written");
}

fn merge(body: &mut Value, settings: Value) {
    let Value::Object(settings) = settings else { return };
    for (name, value) in settings {
        body[name] = value;
    }
}
