//! Applications with each method of client authentication, and the registration data of their developers.

use std::path::{Path, PathBuf};

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
use josekit::jwk::alg::rsa::RsaKeyPair;
use openssl::pkey::{PKey, Private};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::tls::{certificate_of, files, mtls_settings};
use crate::harness::{EncodedCertificate, EncodedKey, TestHost, id, rsa_key, temp_folder};

/// A method of client authentication, with the format in which its key is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authentication {
    SecretBasic,
    SecretPost,
    SecretJwt,
    /// An EC key, registered as a JSON Web Key.
    PrivateKeyJwk,
    /// An RSA key, registered in PEM form.
    PrivateKeyPem,
    /// An RSA key, registered as a certificate.
    PrivateKeyCertificate,
    TlsCertificate,
    None,
}

impl Authentication {
    /// Returns the name in the application's settings.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::SecretBasic => "client_secret_basic",
            Self::SecretPost => "client_secret_post",
            Self::SecretJwt => "client_secret_jwt",
            Self::PrivateKeyJwk | Self::PrivateKeyPem | Self::PrivateKeyCertificate => {
                "private_key_jwt"
            }
            Self::TlsCertificate => "tls_client_certificate",
            Self::None => "none",
        }
    }
}

/// The registration data of an application's developer.
pub(super) struct Registration {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// The configuration of a relying party of these tests.
    pub(super) returned: Value,
    /// The folder with `certificate.pem` and `key.pem`, if the application has a certificate.
    pub(super) folder: PathBuf,
}

/// Registers an application with this authentication method and with further settings of the admin API.
pub(super) async fn register(
    host: &TestHost,
    authentication: Authentication,
    settings: Value,
) -> Registration {
    let public = authentication == Authentication::None;
    let own = if public {
        "http://127.0.0.1"
    } else {
        "https://rp.example"
    };
    let mut body = json!({
        "name": "Books & <Co>",
        "application_type": if public { "native" } else { "web" },
        "redirect_uris": [format!("{own}/callback")],
        "post_logout_redirect_uris": [format!("{own}/signed-out")],
    });
    let mut returned = json!({
        "issuer": host.issuer(),
        "method": authentication.as_str(),
    });
    if !public {
        body["token_endpoint_auth_method"] = authentication.as_str().into();
    }
    let folder = host.folder().join("client");
    give_key(&folder, authentication, &mut body, &mut returned);
    merge(&mut body, settings);
    returned["redirect_uri"] = body["redirect_uris"][0].clone();
    returned["signed_out_uri"] = body["post_logout_redirect_uris"][0].clone();
    returned["id_token_alg"] = body
        .get("id_token_signed_response_alg")
        .cloned()
        .unwrap_or("RS256".into());

    let application = host.admin_ok(Method::POST, "/applications", body).await;
    returned["client_id"] = id(&application).into();
    let secret = if returned["method"]
        .as_str()
        .is_some_and(|method| method.starts_with("client_secret"))
    {
        let path = format!("/applications/{}/secret/rotate", id(&application));
        returned["client_secret"] =
            host.admin_ok(Method::POST, &path, Value::Null).await["client_secret"].clone();
        returned["client_secret"].as_str().map(str::to_owned)
    } else {
        None
    };
    Registration {
        id: id(&application).to_owned(),
        secret,
        returned,
        folder,
    }
}

/// Creates the application's key if the method has one. The instance receives the public key, and the application the
/// private key.
fn give_key(folder: &Path, authentication: Authentication, body: &mut Value, returned: &mut Value) {
    match authentication {
        Authentication::PrivateKeyJwk => {
            let mut pair = EcKeyPair::generate(EcCurve::P256).expect("a key");
            pair.set_key_id(Some("first"));
            body["jwks"] = json!({"keys": [pair.to_jwk_public_key()]});
            returned["private_key"] = json!(pair.to_jwk_key_pair());
        }
        Authentication::PrivateKeyPem => {
            let key = rsa_key();
            body["public_key"] = key.public_pem().into();
            returned["private_key"] = json!(jwk(&key));
        }
        Authentication::PrivateKeyCertificate | Authentication::TlsCertificate => {
            let (certificate, key) = certificate_of("books");
            std::fs::create_dir_all(folder).expect("a folder");
            files(folder, &certificate, &key);
            body["certificate"] = certificate.pem().into();
            returned["certificate_file"] = json!(folder.join("certificate.pem"));
            returned["certificate_key_file"] = json!(folder.join("key.pem"));
        }
        _ => {}
    }
}

/// The listener of an instance for clients with certificates. It has its own certificate and key.
pub(super) struct Listener {
    folder: tempfile::TempDir,
    /// The settings of an instance with this listener.
    pub(super) settings: String,
}

impl Listener {
    pub(super) fn new() -> Self {
        let folder = temp_folder();
        let (settings, _) = mtls_settings(folder.path(), "");
        Self { folder, settings }
    }

    /// Returns the path of the listener's certificate, for clients to trust.
    pub(super) fn certificate_file(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }
}

fn jwk(key: &PKey<Private>) -> Jwk {
    let der = key.pkcs8_der();
    RsaKeyPair::from_der(der).expect("a key").to_jwk_key_pair()
}

/// Adds these members, and replaces existing members of the same names.
pub fn merge(body: &mut Value, settings: Value) {
    let Value::Object(settings) = settings else {
        return;
    };
    for (name, value) in settings {
        body[name] = value;
    }
}
