//! The world of a snapshot: an instance, and scripts that fill it and call it. A script has a step on each line:
//!
//! ```text
//! # A comment. A line that begins with a blank continues the step before.
//! GET /users/{ada} if-none-match="1"
//! POST /users as=support {"name": "carl"} => carl
//! ~ POST /groups {"name": "Readers"} => readers
//! ! PATCH /users/{ada} {"email": null}
//! @enrol ada
//! ```
//!
//! `{ada}` is the value that an earlier step stored with `=>`: the id of the response, or the value at a JSON pointer
//! (`=> secret:/items/0/id`). `~` is a preparation, which a snapshot does not show. `!` stands before a request whose
//! errors are generated. `@` is an action that is not a request to the admin API.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use assent::domain::audit::moment_text;
use assent_model::clock::Clock;
use assent_model::statement::CallStatement;
use jiff::Timestamp;
use openssl::x509::X509;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::normalise::normalised;
use crate::admin_api::{Administrator, Caller, service_application, service_token};
use crate::channels::vendor::Vendor;
use crate::harness::{
    Application, Body, Browser, Device, HostOptions, Respond, TestHost, TestUser, Text,
    http_client, id, in_time, jwt_claims, shipped, utf8,
};

/// Without limits, because the clock stands still while a script sends thousands of requests.
pub(super) const UNLIMITED: &str = "[rate_limits]\n\
    login_pages_per_ip = { per_minute = 0 }\nsign_ins_per_user_name = { per_minute = 0 }\n\
    sign_ins_per_ip = { per_minute = 0 }\nsign_ins_per_browser = { per_minute = 0 }\n\
    prompts_per_user = { per_minute = 0 }\nactions_per_device = { per_minute = 0 }\n\
    token_requests_per_ip = { per_minute = 0 }\nclient_auth_failures = { per_minute = 0 }\n\
    unauthenticated_requests = { per_minute = 0 }\n";

const CERTIFICATE: &str = include_str!("certificate.pem");

/// The metadata of a service provider.
const METADATA: &str = r#"<EntityDescriptor entityID="https://mellon.example/metadata"
 xmlns="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
 <SPSSODescriptor AuthnRequestsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
  <KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>CERTIFICATE</ds:X509Certificate>
  </ds:X509Data></ds:KeyInfo></KeyDescriptor>
  <SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
   Location="https://mellon.example/logout"/>
  <NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:transient</NameIDFormat>
  <AssertionConsumerService index="0" isDefault="true" Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
   Location="https://mellon.example/postResponse"/>
 </SPSSODescriptor>
</EntityDescriptor>"#;

const LOGO: &[u8] = include_bytes!("../../../host/server/assets/icons/badge-96.png");

/// A request of a script. Its path and body contain the names of stored values.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) method: Method,
    pub(super) path: String,
    /// The caller; the operator if there is none.
    pub(super) caller: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
    /// The name and the JSON pointer of values to store.
    pub(super) stored: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Recorded,
    Prepared,
    WithErrors,
    Action,
}

/// A response as a snapshot shows it.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<String>,
    pub(super) body: String,
}

pub(super) struct World {
    /// One client, because each new client opens a connection.
    client: reqwest::Client,
    pub(super) host: TestHost,
    start: Timestamp,
    values: BTreeMap<String, String>,
    devices: HashMap<String, Device>,
    callers: HashMap<String, Caller>,
    /// Values that no step stored, with their placeholders.
    pub(super) names: Vec<(String, String)>,
    count: usize,
    /// Keeps its settings.
    vendor: Option<Vendor>,
}

impl World {
    pub(super) async fn new(mut host: TestHost) -> Self {
        // All dates of the world are those of one run, whatever the time of the day.
        let day = 86_400_000;
        let now = host.clock.now().millis();
        let noon = (now / day + 1) * day + day / 2;
        host.clock
            .advance(Duration::from_millis((noon - now).unsigned_abs()));
        host.renew_token().await;
        let target = crate::harness::binary("assent");
        let target = target
            .ancestors()
            .nth(2)
            .expect("a folder")
            .display()
            .to_string();
        let folder = host.folder().display().to_string();
        let authority = host.base.trim_start_matches("http://").to_owned();
        let escaped = authority.replace(':', "%3A");
        Self {
            client: http_client(),
            start: Timestamp::from_millisecond(noon).expect("a time"),
            values: BTreeMap::new(),
            devices: HashMap::new(),
            callers: HashMap::new(),
            names: vec![
                (escaped, "localhost%3A<port>".to_owned()),
                (authority, "localhost:<port>".to_owned()),
                (folder, "<folder>".to_owned()),
                (target, "<target>".to_owned()),
                (
                    std::env::temp_dir().display().to_string(),
                    "<temp>".to_owned(),
                ),
            ],
            host,
            count: 0,
            vendor: None,
        }
    }

    /// Returns a world with the steps of `world.txt`.
    pub(super) async fn filled(settings: &str) -> Self {
        let vendor = Vendor::start(500).await;
        let plugins = format!("{}{}", shipped(), vendor.channel("vendor", ""));
        let options = HostOptions {
            settings: &format!("{UNLIMITED}{settings}"),
            plugins: &plugins,
            ..HostOptions::default()
        };
        let mut world = Self::new(TestHost::start_with(options).await).await;
        world.names.push((
            format!("localhost:{}", vendor.port),
            "localhost:<vendor>".to_owned(),
        ));
        world.vendor = Some(vendor);
        let next_month = world.host.clock.now() + Duration::from_secs(30 * 24 * 60 * 60);
        let metadata = METADATA.replace("CERTIFICATE", &base64_of(CERTIFICATE));
        let certificate = X509::from_pem(CERTIFICATE.as_bytes()).expect("a certificate");
        let key = certificate
            .public_key()
            .and_then(|key| key.public_key_to_pem());
        for (name, text) in [
            ("pem", CERTIFICATE),
            ("public_key", &utf8(key.expect("a key"))),
            ("metadata", &metadata),
            ("other_metadata", &metadata.replace("postResponse", "other")),
            ("next_month", &moment_text(next_month)),
        ] {
            world.store(name, json!(text).to_string().trim_matches('"'));
        }
        for step in steps(&super::file("world.txt")) {
            world.prepare(&step).await;
        }
        world
    }

    pub(super) fn value(&self, name: &str) -> &str {
        let value = self.values.get(name);
        value.unwrap_or_else(|| panic!("no step stored {name}: {:?}", self.values))
    }

    pub(super) fn device(&self, name: &str) -> &Device {
        &self.devices[name]
    }

    pub(super) fn caller(&self, name: &str) -> &Caller {
        let caller = self.callers.get(name);
        caller.unwrap_or_else(|| panic!("no caller {name}"))
    }

    pub(super) fn store(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Returns the text with the stored values in place of their names.
    pub(super) fn fill(&mut self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.values {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        if filled.contains("{n}") {
            self.count += 1;
            filled = filled.replace("{n}", &self.count.to_string());
        }
        filled
    }

    /// Returns the text with placeholders in place of values that differ between runs.
    pub(super) fn normalised(&self, text: &str) -> String {
        let mut names = self.names.clone();
        // Only ids, because other stored values may be parts of texts. A summary shows the end of an id.
        for (name, value) in self.values.iter().filter(|(_, value)| value.len() > 7) {
            names.push((value.clone(), format!("<{name}>")));
            if value.len() == 32 {
                names.push((value[24..].to_owned(), format!("<end of {name}>")));
            }
        }
        names.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        normalised(text, self.start, &names)
    }

    /// Sends a request of the step's caller.
    pub(super) async fn send(&mut self, step: &Step) -> Answer {
        let path = self.fill(&step.path);
        let base = &self.host.base;
        let bearer = |base: &str, token: &str| {
            let url = format!("{base}/admin/api/v1{path}");
            let request = self.client.request(step.method.clone(), url);
            request.bearer_auth(token)
        };
        let request = match step.caller.as_deref() {
            None => bearer(base, &self.host.token),
            Some("nobody") => {
                let url = format!("{base}/admin/api/v1{path}");
                self.client.request(step.method.clone(), url)
            }
            Some(name) => match self.caller(name) {
                Caller::Bearer { base, token } => bearer(base, token),
                console => console.request(step.method.clone(), &path),
            },
        };
        let mut request = request;
        for (name, value) in &step.headers {
            let value = self.fill(value);
            request = request.header(name, value);
        }
        let request = match step.body.as_deref() {
            None => request,
            Some("LOGO") => request.body(LOGO),
            Some(body) => request.body(self.fill(body)),
        };
        answer_of(request).await
    }

    /// Advances the clock to the next whole second, so that the number of generated requests before does not matter.
    fn next_second(&self) {
        let rest = self.host.clock.now().millis() % 1000;
        let missing = u64::try_from(1000 - rest).expect("a duration");
        self.host.clock.advance(Duration::from_millis(missing));
    }

    /// Sends a request with an error. The clock advances, because the ids of objects of one millisecond have no order.
    pub(super) async fn try_to_send(&mut self, step: &Step) -> Answer {
        self.host.clock.advance(Duration::from_millis(1));
        self.send(step).await
    }

    /// Begins the numbers of new names with the next thousand.
    pub(super) fn round_count(&mut self) {
        self.count = (self.count / 1000 + 1) * 1000;
    }

    /// Sends the request, and stores the values that the step names.
    pub(super) async fn execute(&mut self, step: &Step) -> Answer {
        self.next_second();
        let answer = self.send(step).await;
        if step.stored.is_empty() {
            return answer;
        }
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        for (name, pointer) in &step.stored {
            let value = body.pointer(pointer).and_then(Value::as_str);
            let value = value.unwrap_or_else(|| {
                panic!(
                    "no {pointer} after {step:?}: {} {}",
                    answer.status, answer.body
                )
            });
            self.store(name, value);
        }
        answer
    }

    /// Executes a step that must succeed.
    pub(super) async fn prepare(&mut self, step: &Step) {
        if step.kind == StepKind::Action {
            return self.act(&step.path).await;
        }
        let answer = self.execute(step).await;
        assert!(
            answer.status < 300,
            "{step:?}: {} {}",
            answer.status,
            answer.body
        );
    }

    async fn act(&mut self, action: &str) {
        self.host.advance(1);
        let words: Vec<&str> = action.split(' ').collect();
        match words[..] {
            ["advance", seconds] => self.host.advance(seconds.parse().expect("seconds")),
            ["enrol", user] => {
                let link = self
                    .host
                    .enrolment_link(&json!({"id": self.value(user)}))
                    .await;
                let device = Device::enrol(&link, "Test phone").await;
                self.store(&format!("{user}_device"), &device.device().to_string());
                self.devices.insert(user.to_owned(), device);
            }
            ["console", user, role] => self.add_administrator(user, role).await,
            ["service", name, scopes] => self.add_service(name, scopes).await,
            ["sign-in", user, application] => {
                self.sign_in(user, application).await;
            }
            ["tokens", user, application] => self.tokens(user, application).await,
            ["report", user, application] => {
                let browser = Browser::new(&self.host.base);
                let test_user = self.test_user(user, application);
                test_user.begin_sign_in(&browser, &[]).await;
                let requests = test_user.device.pending_requests(5).await;
                let newest = requests.last().expect("a request");
                assert_eq!(test_user.device.submit_report(newest).await, "reported");
            }
            ["error-page", application] => {
                let application = self.application(application);
                let request =
                    application.request(&[("redirect_uri", Some("https://evil.example/cb"))]);
                let page = Browser::new(&self.host.base).get(&request).await;
                let reference = page.between("<code>", "</code>");
                self.store("reference", &reference);
            }
            ["approve", user] => {
                let number = self.value("number").to_owned();
                let requests = self.device(user).pending_requests(5).await;
                let newest = requests.last().expect("a request");
                assert_eq!(self.device(user).approve(newest, &number).await, "approved");
            }
            _ => panic!("unknown action {action}"),
        }
    }

    async fn add_administrator(&mut self, user: &str, role: &str) {
        let administrator = Administrator::new(&self.host, user, role).await;
        let caller = administrator.signed_in(&self.host).await;
        self.store(user, id(&administrator.user));
        self.store(
            &format!("{user}_device"),
            &administrator.device.device().to_string(),
        );
        let device: &Device = &administrator.device;
        self.devices.insert(user.to_owned(), device.clone());
        self.callers.insert(user.to_owned(), caller);
    }

    async fn add_service(&mut self, name: &str, scopes: &str) {
        let scopes: Vec<&str> = scopes.split(',').collect();
        let application = service_application(&self.host, &scopes).await;
        let path = format!("/applications/{}", application.id);
        let change = json!({"name": format!("Service {name}")});
        self.host.admin_ok(Method::PATCH, &path, change).await;
        let (_, token) = service_token(&self.host, &application, &scopes.join(" ")).await;
        let caller = Caller::Bearer {
            base: self.host.base.clone(),
            token: token["access_token"].text().to_owned(),
        };
        self.store(&format!("{name}_application"), &application.id);
        self.callers.insert(name.to_owned(), caller);
    }

    pub(super) fn application(&self, name: &str) -> Application {
        Application {
            id: self.value(name).to_owned(),
            secret: self.values.get(&format!("{name}_secret")).cloned(),
            redirect_uri: "https://rp.example/cb".to_owned(),
        }
    }

    pub(super) fn test_user(&self, user: &str, application: &str) -> TestUser {
        TestUser {
            user: json!({"id": self.value(user), "name": user}),
            device: self.device(user).clone(),
            application: self.application(application),
            account: Value::Null,
        }
    }

    /// Signs a user in with a browser of the user's own. Returns the authorization code.
    pub(super) async fn sign_in(&self, user: &str, application: &str) -> String {
        let browser = Browser::new(&self.host.base);
        self.test_user(user, application).sign_in(&browser).await
    }

    async fn tokens(&mut self, user: &str, application: &str) {
        let code = self.sign_in(user, application).await;
        let application = self.application(application);
        let (_, tokens) = application.exchange(&self.host.base, &code, &[]).await;
        let token = jwt_claims(tokens["id_token"].text());
        let jti = token["jti"].text().to_owned();
        // An instance writes the trace after its response.
        in_time(async {
            let path = format!("/claim-traces/{jti}");
            while !self
                .host
                .admin(Method::GET, &path, Value::Null)
                .await
                .0
                .is_success()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        self.store("jti", &jti);
    }

    /// Calls the authenticator API on a user's device whose browser prefers German.
    pub(super) async fn call_in_german(
        &self,
        user: &str,
        method: Method,
        path: &str,
        body: &str,
    ) -> Value {
        let device = self.device(user);
        let path = format!("/authenticator/api{path}");
        let time = self.host.clock.now().seconds();
        let statement = CallStatement {
            issuer: &self.host.issuer(),
            device: device.device(),
            time,
            method: method.as_str(),
            path: &path,
            body: body.as_bytes(),
        };
        let signature = device.signature(&statement.text());
        let authorization = format!("Assent-Device {}.{time}.{signature}", device.device());
        let request = http_client()
            .request(method, format!("{}{path}", self.host.base))
            .header("authorization", authorization)
            .header("accept-language", "de")
            .header("content-type", "application/json")
            .body(body.to_owned());
        request.response().await.read_json().await
    }
}

/// Returns the headers that a snapshot shows: all but the time, the length and the id of the request.
pub(super) fn shown_headers(headers: &HeaderMap) -> Vec<String> {
    let varying = [
        "date",
        "content-length",
        "x-request-id",
        "transfer-encoding",
        "connection",
    ];
    let mut shown: Vec<String> = headers
        .iter()
        .filter(|(name, _)| !varying.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    shown.sort();
    shown
}

pub(super) async fn answer_of(request: reqwest::RequestBuilder) -> Answer {
    let response = request.response().await;
    Answer {
        status: response.status().as_u16(),
        headers: shown_headers(response.headers()),
        body: response.read_text().await,
    }
}

/// Parses a script.
pub(super) fn steps(script: &str) -> Vec<Step> {
    let mut lines: Vec<String> = Vec::new();
    for line in script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match lines.last_mut() {
            Some(last) if line.starts_with(' ') => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.iter().map(|line| step(line)).collect()
}

fn step(line: &str) -> Step {
    let (kind, rest) = match line.split_at(1) {
        ("@", action) => {
            return Step {
                kind: StepKind::Action,
                path: action.to_owned(),
                ..Step::new(Method::GET, "")
            };
        }
        ("~", rest) => (StepKind::Prepared, rest.trim()),
        ("!", rest) => (StepKind::WithErrors, rest.trim()),
        _ => (StepKind::Recorded, line),
    };
    let (rest, stored) = match rest.rsplit_once(" => ") {
        Some((rest, stored)) => (rest, stored.split(' ').map(stored_value).collect()),
        None => (rest, Vec::new()),
    };
    let (method, rest) = rest.split_once(' ').expect("a path");
    let (path, mut rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut step = Step {
        kind,
        stored,
        ..Step::new(method.parse().expect("a method"), path)
    };
    while let Some((name, after)) = rest
        .split_once('=')
        .filter(|_| !rest.starts_with(['{', '[', '"', 'L']))
    {
        let (value, after) = after.split_once(' ').unwrap_or((after, ""));
        match name {
            "as" => step.caller = Some(value.to_owned()),
            _ => step.headers.push((name.to_owned(), value.to_owned())),
        }
        rest = after;
    }
    if !rest.is_empty() {
        // A text in quotation marks is a body that is not JSON, with the escapes of JSON.
        let text: Option<String> = serde_json::from_str(rest).ok();
        step.body = Some(text.unwrap_or_else(|| rest.to_owned()));
        if !step.headers.iter().any(|(name, _)| name == "content-type") {
            step.headers
                .push(("content-type".to_owned(), "application/json".to_owned()));
        }
    }
    step
}

fn stored_value(text: &str) -> (String, String) {
    let (name, pointer) = text.split_once(':').unwrap_or((text, "/id"));
    (name.to_owned(), pointer.to_owned())
}

impl Step {
    pub(super) fn new(method: Method, path: &str) -> Self {
        Self {
            kind: StepKind::Recorded,
            method,
            path: path.to_owned(),
            caller: None,
            headers: Vec::new(),
            body: None,
            stored: Vec::new(),
        }
    }
}

/// Returns the content of a PEM block.
fn base64_of(pem: &str) -> String {
    pem.lines().filter(|line| !line.starts_with('-')).collect()
}
