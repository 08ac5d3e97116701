//! The service providers, as a browser and an administrator use them.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{
    Browser, EncodedCertificate, Page, Text, after, between, certificate, parse_json, read_file,
    rsa_key, temp_folder, utf8, write_file,
};
use crate::programs::html::unescaped;
use crate::programs::{Apache, Php, Program, target, write_page};

/// The software of a service provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Software {
    Mellon,
    SimpleSamlPhp,
    Pysaml2,
    NodeSaml,
}

/// A running service provider, with a key of its own.
pub(super) struct ServiceProvider {
    /// The base URL, without a slash at the end.
    pub(super) base: String,
    pub(super) entity_id: String,
    /// The metadata that it publishes.
    pub(super) metadata: String,
    folder: TempDir,
    running: Running,
}

enum Running {
    Apache(Apache),
    Php { _server: Php },
    Program(Program),
}

impl ServiceProvider {
    /// Starts a service provider, with signed or unsigned requests. It trusts no identity provider yet.
    pub(super) async fn start(software: Software, signs: bool) -> Self {
        let folder = temp_folder();
        write_key(folder.path());
        match software {
            Software::Mellon => mellon(folder, signs).await,
            Software::SimpleSamlPhp => simplesamlphp(folder, signs).await,
            Software::Pysaml2 => {
                program(folder, signs, Program::python("service_provider.py")).await
            }
            Software::NodeSaml => {
                program(folder, signs, Program::node("service_provider.mjs")).await
            }
        }
    }

    /// Makes the service provider trust the identity provider that publishes this metadata at this URL.
    pub(super) async fn trust(&mut self, url: &str, metadata: &str) {
        match &mut self.running {
            // These two read the file on its first use.
            Running::Apache(apache) => write_metadata(apache.folder(), metadata),
            Running::Php { .. } => write_metadata(self.folder.path(), metadata),
            Running::Program(program) => {
                let certificate = self.folder.path().join("identity-provider.pem");
                write_file(&certificate, signing_certificate(metadata));
                let returned =
                    json!({"url": url, "metadata": metadata, "certificate": certificate});
                assert_eq!(program.ask(&returned).await, json!({}));
            }
        }
    }

    /// Returns the settings that an administrator enters for the application.
    pub(super) fn registration(&self) -> Value {
        let (acs, single_logout, binding) = match self.running {
            Running::Apache(_) => (
                "/private/mellon/postResponse",
                "/private/mellon/logout",
                "redirect",
            ),
            Running::Php { .. } => {
                let [acs, logout] = ["acs", "logout"]
                    .map(|end| format!("/module.php/saml/sp/saml2-{end}.php/assent"));
                return self.registered(&acs, &logout, "redirect");
            }
            Running::Program(_) => ("/acs", "/slo", "post"),
        };
        self.registered(acs, single_logout, binding)
    }

    fn registered(&self, acs: &str, single_logout: &str, binding: &str) -> Value {
        let certificate = read_file(self.folder.path().join("certificate.pem"));
        json!({
            "entity_id": self.entity_id,
            "acs": [{"url": format!("{}{acs}", self.base), "index": 0, "default": true}],
            "single_logout": {"url": format!("{}{single_logout}", self.base), "binding": binding},
            "certificates": [certificate],
        })
    }

    /// Returns the URL that begins a sign-on with these parameters.
    pub(super) fn login(&self, parameters: &[(&str, &str)]) -> String {
        match self.running {
            Running::Apache(_) => {
                let back = format!("{}/private/", self.base);
                self.address(
                    "/private/mellon/login",
                    &[&[("ReturnTo", back.as_str())], parameters].concat(),
                )
            }
            _ => self.address("/login", parameters),
        }
    }

    /// Returns the URL that begins a logout with these parameters.
    pub(super) fn logout(&self, parameters: &[(&str, &str)]) -> String {
        match self.running {
            Running::Apache(_) => {
                let back = format!("{}/signed-out/", self.base);
                self.address("/private/mellon/logout", &[("ReturnTo", back.as_str())])
            }
            _ => self.address("/logout", parameters),
        }
    }

    fn address(&self, path: &str, parameters: &[(&str, &str)]) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        format!("{}{path}?{query}", self.base)
    }

    /// Returns the user's data in this browser's session: `issuer`, `name_id`, `format`, `attributes`.
    pub(super) async fn session_data(&self, browser: &Browser) -> Option<Value> {
        if let Running::Apache(apache) = &self.running {
            let page = browser.get(&format!("{}/known/", self.base)).await;
            let known: Value = serde_json::from_str(&page.body)
                .unwrap_or_else(|_| panic!("{} {}", page.body, apache.log()));
            return (known["name_id"] != "(none)").then(|| with_response_read(known));
        }
        let page = browser.get(&format!("{}/", self.base)).await;
        match page.status {
            StatusCode::OK => Some(parse_json(&page.body)),
            StatusCode::UNAUTHORIZED => None,
            _ => panic!("{} {}", page.status, page.body),
        }
    }

    /// Returns the service provider's message about an error response. `page` is its page after the response.
    pub(super) fn refusal(&self, page: &Page) -> String {
        assert_eq!(
            page.status,
            StatusCode::FORBIDDEN,
            "{} {}",
            page.url,
            page.body
        );
        match &self.running {
            Running::Apache(apache) => apache.log(),
            _ => page.body.clone(),
        }
    }

    /// Returns whether the page confirms that the identity provider completed the logout.
    pub(super) fn signed_out(&self, page: &Page) -> bool {
        let message = match self.running {
            Running::Apache(_) => "Signed out",
            _ => super::SUCCESS,
        };
        page.status == StatusCode::OK && page.body.contains(message)
    }

    /// Returns the log, for messages of failed tests.
    pub(super) fn log(&self) -> String {
        match &self.running {
            Running::Apache(apache) => apache.log(),
            Running::Php { .. } => {
                fs::read_to_string(self.folder.path().join("simplesamlphp.log")).unwrap_or_default()
            }
            Running::Program(_) => "see its error output above".to_owned(),
        }
    }
}

fn write_key(folder: &Path) {
    let key = rsa_key();
    let pem = key.private_key_to_pem_pkcs8().expect("PEM");
    write_file(folder.join("key.pem"), pem);
    write_file(
        folder.join("certificate.pem"),
        certificate(&key).to_pem().expect("PEM"),
    );
}

fn write_metadata(folder: &Path, metadata: &str) {
    write_file(folder.join("identity-provider.xml"), metadata);
}

/// Returns the certificate in the metadata in PEM form, as an administrator would save it.
fn signing_certificate(metadata: &str) -> String {
    let base64 = between(metadata, "X509Certificate>", "<");
    let der = STANDARD
        .decode(base64.split_whitespace().collect::<String>())
        .expect("base64");
    let certificate = openssl::x509::X509::from_der(&der).expect("a certificate");
    certificate.pem()
}

async fn program(folder: TempDir, signs: bool, mut program: Program) -> ServiceProvider {
    let returned = program
        .ask(&json!({"folder": folder.path(), "signed": signs}))
        .await;
    let message = |name: &str| returned[name].text().to_owned();
    let [base, entity_id, metadata] = ["base", "entity_id", "metadata"].map(message);
    ServiceProvider {
        base,
        entity_id,
        metadata,
        folder,
        running: Running::Program(program),
    }
}

/// Returns the folder of SimpleSAMLphp: the package that `scripts/setup` unpacked, or the installed one.
fn simplesamlphp_folder() -> PathBuf {
    let unpacked = target().join("simplesamlphp/usr/share/simplesamlphp");
    if unpacked.is_dir() {
        unpacked
    } else {
        PathBuf::from("/usr/share/simplesamlphp")
    }
}

async fn simplesamlphp(folder: TempDir, signs: bool) -> ServiceProvider {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("php");
    let server = Php::serve(&simplesamlphp_folder().join("www"), |command| {
        command
            .arg(own.join("service_provider.php"))
            .env("SIMPLESAMLPHP_CONFIG_DIR", &own)
            .env("SERVICE_PROVIDER_FOLDER", folder.path())
            .env("SERVICE_PROVIDER_SIGNS", if signs { "yes" } else { "no" });
    })
    .await;
    let base = server.base.clone();
    let entity_id = format!("{base}/module.php/saml/sp/metadata.php/assent");
    let metadata = Browser::new(&base).get(&entity_id).await.body;
    ServiceProvider {
        base,
        entity_id,
        metadata,
        folder,
        running: Running::Php { _server: server },
    }
}

/// The page that shows Mellon's data about the user. No value needs escaping in JSON.
const KNOWN_PAGE: &str = r#"{"name_id": "<!--#echo encoding="none" var="MELLON_NAME_ID" -->",
"attributes": {"department": ["<!--#echo encoding="none" var="MELLON_department_0" -->",
"<!--#echo encoding="none" var="MELLON_department_1" -->"]},
"response": "<!--#echo encoding="none" var="MELLON_SAML_RESPONSE" -->"}"#;

async fn mellon(folder: TempDir, signs: bool) -> ServiceProvider {
    let mut metadata = String::new();
    let apache = Apache::start("auth_mellon", async |base, own| {
        for name in ["key.pem", "certificate.pem"] {
            fs::copy(folder.path().join(name), own.join(name)).expect("copied");
        }
        write_page(own, "private", "Private\n");
        write_page(own, "known", KNOWN_PAGE);
        write_page(own, "signed-out", "Signed out\n");
        metadata = mellon_metadata(base, &own.join("certificate.pem"), signs);
        write_file(own.join("service-provider.xml"), &metadata);
        // The file must exist when Apache starts. Apache reads it on the first use.
        write_metadata(own, "");
        mellon_directives(base, own)
    })
    .await;
    let (base, entity_id) = (
        apache.base.clone(),
        format!("{}/private/mellon/metadata", apache.base),
    );
    ServiceProvider {
        base,
        entity_id,
        metadata,
        folder,
        running: Running::Apache(apache),
    }
}

/// Returns metadata in the form of `mellon_create_metadata`, with which Mellon's own guide begins.
fn mellon_metadata(base: &str, certificate: &Path, signs: bool) -> String {
    let pem = read_file(certificate);
    let certificate: String = pem
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<EntityDescriptor entityID="{base}/private/mellon/metadata"
    xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
  <SPSSODescriptor AuthnRequestsSigned="{signs}" WantAssertionsSigned="true"
      protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    <KeyDescriptor use="signing">
      <ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
    </KeyDescriptor>
    <SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
        Location="{base}/private/mellon/logout"/>
    <AssertionConsumerService index="0" isDefault="true"
        Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="{base}/private/mellon/postResponse"/>
  </SPSSODescriptor>
</EntityDescriptor>
"#
    )
}

fn mellon_directives(base: &str, own: &Path) -> String {
    let own = own.display();
    format!(
        r#"
MellonLockFile {own}/mellon.lock
<Location />
  MellonEndpointPath /private/mellon
  MellonSPMetadataFile {own}/service-provider.xml
  MellonSPPrivateKeyFile {own}/key.pem
  MellonSPCertFile {own}/certificate.pem
  MellonIdPMetadataFile {own}/identity-provider.xml
  MellonRedirectDomains [self]
  MellonSamlResponseDump On
  MellonNoSuccessErrorPage {base}/refused/
  MellonEnable info
</Location>
<Location /private>
  MellonEnable auth
  AuthType Mellon
  Require valid-user
</Location>
<Location /refused>
  MellonEnable off
  Require all denied
</Location>
"#
    )
}

/// Adds the issuer of the assertion and the format of the NameID. Mellon does not show them, so they come from the
/// accepted response.
fn with_response_read(mut known: Value) -> Value {
    let response = STANDARD.decode(known["response"].text()).expect("base64");
    let response = utf8(response);
    // Both values are in the assertion. Each is the text or the attribute value after these words.
    let assertion = after(&response, "Assertion ");
    let behind = |words: &[&str], end| {
        let rest = words
            .iter()
            .try_fold(assertion, |rest, word| Some(rest.split_once(word)?.1));
        rest.and_then(|rest| rest.split_once(end))
            .unwrap_or_else(|| panic!("no {words:?}: {response}"))
            .0
    };
    known["issuer"] = behind(&["Issuer", ">"], '<').into();
    known["format"] = behind(&["NameID ", "Format=\""], '"').into();
    known["response"] = Value::Null;
    for value in known["attributes"]["department"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        // Mellon returns the XML of a value, not its text.
        *value = unescaped(value.text()).into();
    }
    known
}
