//! A service provider whose messages the tests write themselves.

use std::io::Write;

use assent_saml_core::xml::{Document, Element, Name, Namespace, Signer, Writer, XmlLimits};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use reqwest::Method;
use serde_json::{Value, json};
use url::form_urlencoded;

use super::schema::validate;
use crate::harness::{
    Admin, Application, Browser, EncodedCertificate, Json, Page, TestHost, TestUser, Text,
    certificate, id, rsa_key, utf8,
};

pub const SAMLP: Namespace = Namespace::new("samlp", "urn:oasis:names:tc:SAML:2.0:protocol");
pub const SAML: Namespace = Namespace::new("saml", "urn:oasis:names:tc:SAML:2.0:assertion");
pub const ISSUER: Name = SAML.name("Issuer");

pub const ENTITY_ID: &str = "https://sp.example/saml";
pub const ACS: &str = "https://sp.example/acs";
pub const SLO: &str = "https://sp.example/slo";
pub const RESPONDER: &str = "urn:oasis:names:tc:SAML:2.0:status:Responder";

/// A service provider.
pub struct TestServiceProvider {
    pub id: String,
    pub base: String,
    pub entity_id: String,
    pub signer: Signer,
}

impl TestServiceProvider {
    /// Registers a service provider with these settings, in addition to its entity ID, ACS and single logout. It signs
    /// with its own key, which is registered.
    pub async fn register(host: &Admin, changes: Value) -> Self {
        let key = rsa_key();
        let certificate = certificate(&key);
        let pem = certificate.pem();
        let mut settings = json!({
            "protocol": "saml",
            "name": "Engines & Co",
            "entity_id": ENTITY_ID,
            "acs": [{"url": ACS}],
            "single_logout": {"url": SLO, "binding": "redirect"},
            "certificates": [pem],
        });
        for (name, value) in changes.members() {
            settings[name] = value.clone();
        }
        let created = host.admin_ok(Method::POST, "/applications", settings).await;
        let entity_id = created["entity_id"].text().to_owned();
        let signer = Signer::new(key.clone(), &certificate).expect("a signer");
        Self {
            id: id(&created).to_owned(),
            base: host.base.clone(),
            entity_id,
            signer,
        }
    }

    pub fn sign_on(&self) -> String {
        format!("/sso/SingleSignOnService/{}", self.id)
    }

    pub fn single_logout(&self) -> String {
        format!("/sso/SingleLogoutService/{}", self.id)
    }

    /// Returns the application in the form of the harness.
    pub fn application(&self) -> Application {
        Application {
            id: self.id.clone(),
            secret: None,
            redirect_uri: ACS.to_owned(),
        }
    }

    /// Starts an instance with a service provider and Ada.
    pub async fn start_with_ada() -> (TestHost, Self, TestUser) {
        let host = TestHost::start().await;
        let service_provider = Self::register(&host, json!({})).await;
        let ada = service_provider.ada(&host).await;
        (host, service_provider, ada)
    }

    /// Creates Ada, with a device and an account in the application.
    pub async fn ada(&self, host: &TestHost) -> TestUser {
        host.user_with_account("ada", self.application()).await
    }

    /// Returns an AuthnRequest with only the required content.
    pub fn request(&self, host: &TestHost) -> Request {
        Request {
            id: format!("_{}", hex::encode(openssl_random())),
            issuer: self.entity_id.clone(),
            issue_instant: instant(host, 0),
            destination: Some(format!("{}{}", self.base, self.sign_on())),
            attributes: Vec::new(),
            content: String::new(),
        }
    }

    /// Returns the path of a signed redirect with this message.
    pub fn signed_redirect(&self, xml: &str, relay_state: Option<&str>) -> String {
        format!(
            "{}?{}",
            self.sign_on(),
            self.signed_query("SAMLRequest", xml, relay_state)
        )
    }

    pub fn signed_query(&self, parameter: &str, xml: &str, relay_state: Option<&str>) -> String {
        let algorithm = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
        let query = format!(
            "{}&SigAlg={}",
            query(parameter, xml, relay_state),
            escaped(algorithm)
        );
        let signature = STANDARD.encode(self.signer.sign(query.as_bytes()).expect("a signature"));
        format!("{query}&Signature={}", escaped(&signature))
    }

    /// Posts a message to the sign-on service, as a browser does from another site: without cookies.
    pub async fn post(&self, browser: &Browser, xml: &str, relay_state: Option<&str>) -> Page {
        let encoded = STANDARD.encode(xml);
        let mut form = vec![("SAMLRequest", encoded.as_str())];
        form.extend(relay_state.map(|state| ("RelayState", state)));
        browser.post(&self.sign_on(), &form).await
    }

    /// Begins a sign-on by redirect. Returns the page that asks for the name, or the response.
    pub async fn begin(
        &self,
        browser: &Browser,
        request: &Request,
        relay_state: Option<&str>,
    ) -> Page {
        let stored = browser
            .get(&self.signed_redirect(&request.xml(), relay_state))
            .await;
        if !stored.status.is_redirection() {
            // The session was sufficient.
            return stored;
        }
        let next = stored.followed().await;
        if next.status.is_redirection() {
            next.followed().await
        } else {
            next
        }
    }

    /// Sends a request by redirect. Returns the first response.
    pub async fn begin_raw(&self, browser: &Browser, request: &Request) -> Page {
        browser
            .get(&self.signed_redirect(&request.xml(), None))
            .await
    }

    /// Signs a user in by redirect and device. Returns the page with the SAML response.
    pub async fn sign_in(&self, ada: &TestUser, browser: &Browser, request: &Request) -> Page {
        let login = self
            .begin(browser, request, Some("back to /here?a=b&c"))
            .await;
        let waiting = identify(ada, &login).await;
        ada.approve(&waiting).await;
        browser.finish(&waiting.url).await
    }
}

/// Submits the user's name. Returns the waiting page.
pub async fn identify(ada: &TestUser, login: &Page) -> Page {
    let name = ada.user["name"].text();
    login.submit_name(name).await
}

fn openssl_random() -> [u8; 16] {
    let mut bytes = [0; 16];
    openssl::rand::rand_bytes(&mut bytes).expect("randomness");
    bytes
}

/// Returns the time of the instance plus `seconds`, as XML text.
pub fn instant(host: &TestHost, seconds: i64) -> String {
    let at = host.host.now().seconds() + seconds;
    assent_saml_core::message::instant_text(assent_model::clock::Timestamp::from_seconds(at))
}

pub fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("compressed")
}

pub fn escaped(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

pub fn query(parameter: &str, xml: &str, relay_state: Option<&str>) -> String {
    let message = escaped(&STANDARD.encode(deflated(xml.as_bytes())));
    match relay_state {
        Some(state) => format!("{parameter}={message}&RelayState={}", escaped(state)),
        None => format!("{parameter}={message}"),
    }
}

/// The content of an AuthnRequest.
#[derive(Clone)]
pub struct Request {
    pub id: String,
    pub issuer: String,
    pub issue_instant: String,
    pub destination: Option<String>,
    pub attributes: Vec<(&'static str, String)>,
    /// The XML after the issuer.
    pub content: String,
}

impl Request {
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.attributes.push((name, value.to_owned()));
        self
    }

    pub fn containing(mut self, content: &str) -> Self {
        self.content.push_str(content);
        self
    }

    /// Adds a `NameIDPolicy` for this format.
    pub fn name_id(self, format: &str) -> Self {
        self.containing(&format!(
            r#"<samlp:NameIDPolicy Format="{format}" AllowCreate="true"/>"#
        ))
    }

    pub fn xml(&self) -> String {
        let mut attributes = String::new();
        for (name, value) in &self.attributes {
            attributes.push_str(&format!(" {name}=\"{}\"", markup(value)));
        }
        if let Some(destination) = &self.destination {
            attributes.push_str(&format!(" Destination=\"{destination}\""));
        }
        format!(
            r#"<samlp:AuthnRequest xmlns:samlp="{}" xmlns:saml="{}" ID="{}" Version="2.0" IssueInstant="{}"{attributes}><saml:Issuer>{}</saml:Issuer>{}</samlp:AuthnRequest>"#,
            SAMLP.uri, SAML.uri, self.id, self.issue_instant, self.issuer, self.content,
        )
    }

    /// Returns the request with a signature in it, as the POST binding requires. It contains only the issuer and the
    /// fields of this value, without `content`.
    pub fn signed(&self, service_provider: &TestServiceProvider) -> String {
        let mut writer = Writer::new();
        let start = writer
            .open(SAMLP.name("AuthnRequest"))
            .attribute("Version", "2.0")
            .attribute("IssueInstant", self.issue_instant.as_str())
            .optional_attribute("Destination", self.destination.as_deref());
        let start = self.attributes.iter().fold(start, |start, (name, value)| {
            start.attribute(name, value.as_str())
        });
        start.signed(
            &self.id,
            &service_provider.signer,
            |inside| inside.open(ISSUER).text(&self.issuer),
            |_| {},
        );
        writer.finish().expect("written")
    }
}

fn markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

/// A response that was posted to the service provider.
pub struct Response {
    pub action: String,
    pub relay_state: Option<String>,
    pub xml: String,
    document: Document,
}

impl Response {
    /// Reads the response that this page posts. It must match the schema.
    pub fn from_page(page: &Page) -> Self {
        let (action, body) = page.form();
        let field = |name: &str| {
            let mut fields = form_urlencoded::parse(body.as_bytes());
            fields
                .find(|(other, _)| other == name)
                .map(|(_, value)| value.into_owned())
        };
        let message = field("SAMLResponse").unwrap_or_else(|| panic!("no response: {}", page.body));
        let xml = utf8(STANDARD.decode(message).expect("base64"));
        validate(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
        let document = Document::read(xml.as_bytes(), XmlLimits::MESSAGE).expect("XML");
        Self {
            action,
            relay_state: field("RelayState"),
            xml,
            document,
        }
    }

    pub fn root(&self) -> Element<'_> {
        self.document.unverified()
    }

    /// Returns the first element with this name, at any depth.
    pub fn element(&self, local: &str) -> Option<Element<'_>> {
        self.root()
            .descendants()
            .find(|element| element.local_name() == local)
    }

    pub fn text(&self, local: &str) -> &str {
        self.element(local)
            .unwrap_or_else(|| panic!("no {local} in {}", self.xml))
            .text()
            .expect("text")
    }

    pub fn attribute(&self, local: &str, name: &str) -> &str {
        let element = self
            .element(local)
            .unwrap_or_else(|| panic!("no {local} in {}", self.xml));
        element
            .attribute(name)
            .unwrap_or_else(|| panic!("no {name} in {}", self.xml))
    }

    /// Returns the status codes, from the first level on.
    pub fn status(&self) -> Vec<&str> {
        let codes = self
            .root()
            .descendants()
            .filter(|element| element.local_name() == "StatusCode");
        codes
            .map(|code| code.attribute("Value").expect("a value"))
            .collect()
    }

    pub fn is_success(&self) -> bool {
        self.status() == ["urn:oasis:names:tc:SAML:2.0:status:Success"]
    }

    /// Returns the values of an attribute of the assertion, each with its type.
    pub fn values(&self, name: &str) -> Vec<(&str, &str)> {
        let mut attributes = self
            .root()
            .descendants()
            .filter(|element| element.local_name() == "Attribute");
        let Some(attribute) = attributes.find(|one| one.attribute("Name") == Some(name)) else {
            return Vec::new();
        };
        let xsi = Namespace::new("xsi", "http://www.w3.org/2001/XMLSchema-instance");
        attribute
            .children()
            .map(|value| {
                (
                    value.qualified_attribute(xsi.name("type")).expect("a type"),
                    value.text().expect("text"),
                )
            })
            .collect()
    }
}
