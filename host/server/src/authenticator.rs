//! An authenticator without a phone: a client of this host's own interface. It makes real proofs with a key of its own,
//! so automation and tests go the same way as people.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::Private;
use reqwest::{Client, Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use assent_model::clock::{Clock, SystemClock, Timestamp};
use assent_model::device::{DeviceKey, PushSubscription};
use assent_model::id::{ApprovalId, DeviceId};
use assent_model::statement::{ApprovalStatement, CallStatement, Decision, EnrolmentStatement};

/// An enrolled authenticator: what its file holds.
#[derive(Serialize, Deserialize)]
pub struct Authenticator {
    origin: String,
    issuer: String,
    device: DeviceId,
    account: String,
    /// PEM.
    private_key: String,
}

/// A request that waits for the person, as the host tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The approval.
    pub id: ApprovalId,
    /// The application that asks.
    pub application: Application,
    /// The name that was typed in the browser.
    pub account: String,
    /// Where the browser seems to be.
    pub place: String,
    /// The browser and system in plain words.
    pub browser: String,
    /// What is to happen in place of a sign-in.
    #[serde(default)]
    pub step: Option<String>,
    /// Until when it is good, in seconds since the epoch.
    pub expires_at: i64,
    /// How often a number may still be typed.
    pub attempts_left: u32,
}

/// A login whose code was scanned, before anything is said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginLook {
    /// The name of the application that asks.
    pub application: String,
    /// Where the browser seems to be.
    pub place: String,
    /// The browser and system in plain words.
    pub browser: String,
}

/// The application that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// Its identifier.
    pub id: String,
    /// Its name.
    pub name: String,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

impl Authenticator {
    /// Enrols by a link: makes a key, proves that it has it, and uses the link up.
    pub async fn enrol(
        link: &str,
        name: &str,
        push: Option<PushSubscription>,
    ) -> anyhow::Result<Self> {
        let (page, token) = link
            .split_once("#enrol=")
            .context("the link has no #enrol= in it")?;
        let origin = url::Url::parse(page)
            .context("the link is no address")?
            .origin()
            .ascii_serialization();
        let api = format!("{origin}/authenticator/api");
        let look = agreed(
            client()
                .await?
                .post(format!("{api}/enrolments/preview"))
                .json(&json!({"token": token})),
        )
        .await?;
        let issuer = text(&look, "issuer")?;
        let key = EcKey::generate(&*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?)?;
        let public = public_key(&key)?;
        let thumbprint = public.thumbprint();
        let statement = EnrolmentStatement {
            issuer: &issuer,
            token,
            device_name: name,
            key_thumbprint: &thumbprint,
        };
        let body = json!({
            "token": token,
            "device_name": name,
            "public_key": public,
            "signature": signature(&key, &statement.text())?,
        });
        let enrolled = agreed(
            client()
                .await?
                .post(format!("{api}/enrolments"))
                .json(&body),
        )
        .await?;
        let authenticator = Self {
            origin,
            issuer,
            device: text(&enrolled, "device_id")?
                .parse()
                .context("the answer has no device id")?,
            account: text(&enrolled, "account")?,
            private_key: String::from_utf8(key.private_key_to_pem()?)?,
        };
        if let Some(push) = push {
            let body = serde_json::to_vec(&json!({"subscription": push}))?;
            authenticator
                .call(Method::PUT, "/authenticator/api/device/push", "", body)
                .await?
                .agreed()?;
        }
        Ok(authenticator)
    }

    /// Whose authenticator it is.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The issuer that it was enrolled with.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The device.
    pub const fn device(&self) -> DeviceId {
        self.device
    }

    /// The requests that wait for the person. With none, waits up to `wait` seconds for one.
    pub async fn waiting(&self, wait: u32) -> anyhow::Result<Vec<Request>> {
        let deadline = SystemClock.now() + Duration::from_secs(wait.into());
        let mut known = String::new();
        loop {
            let left = deadline.remaining(SystemClock.now()).as_secs().min(25);
            let query = format!("?wait={left}{known}");
            let reply = self
                .call(
                    Method::GET,
                    "/authenticator/api/requests",
                    &query,
                    Vec::new(),
                )
                .await?;
            let answer = reply.agreed()?;
            // Nobody reads the notifications here, so it does not wait for them again.
            let last = answer
                .get("notifications")
                .and_then(Value::as_array)
                .and_then(|notifications| notifications.last()?.get("id")?.as_str());
            known = last
                .map(|last| format!("&known={last}"))
                .unwrap_or_default();
            let requests: Vec<Request> =
                serde_json::from_value(answer.get("requests").cloned().unwrap_or_default())?;
            if !requests.is_empty() || left == 0 {
                return Ok(requests);
            }
        }
    }

    /// What the login is for whose page has this link in its code, and in which browser; its page learns nothing of it.
    pub async fn look_at_login(&self, link: &str) -> anyhow::Result<LoginLook> {
        let reply = self
            .call(
                Method::POST,
                "/authenticator/api/qr-sign-ins/preview",
                "",
                token_of(link)?,
            )
            .await?;
        let look = reply.agreed()?;
        let name = look
            .pointer("/application/name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        Ok(LoginLook {
            application: name,
            place: text(&look, "place")?,
            browser: text(&look, "browser")?,
        })
    }

    /// Says that this authenticator's person signs in at the login page whose code holds this link. What follows is a request
    /// like any other.
    pub async fn scan(&self, link: &str) -> anyhow::Result<()> {
        self.call(
            Method::POST,
            "/authenticator/api/qr-sign-ins",
            "",
            token_of(link)?,
        )
        .await?
        .agreed()?;
        Ok(())
    }

    /// Approves a request with the number that the browser shows, or denies it. The outcome in a word.
    pub async fn decide(&self, request: &Request, number: Option<&str>) -> anyhow::Result<String> {
        let signature = self.sign(&self.statement(request, number).text())?;
        text(
            &self
                .send_proof(request.id, number, &signature)
                .await?
                .agreed()?,
            "outcome",
        )
    }

    /// Says that a request was not the person's: requests reach no phone of theirs for a while.
    pub async fn not_me(&self, request: &Request) -> anyhow::Result<String> {
        let statement = ApprovalStatement {
            decision: Decision::NotMe,
            ..self.statement(request, None)
        };
        let signature = self.sign(&statement.text())?;
        text(
            &self
                .send(request.id, Decision::NotMe, "", &signature)
                .await?
                .agreed()?,
            "outcome",
        )
    }

    /// Until when requests reach no phone of the person, in seconds since the epoch.
    pub async fn cooldown_until(&self) -> anyhow::Result<Option<i64>> {
        let reply = self
            .call(Method::GET, "/authenticator/api/requests", "", Vec::new())
            .await?;
        Ok(reply
            .agreed()?
            .get("cooldown_until")
            .and_then(Value::as_i64))
    }

    /// Ends the pause that a denial began.
    pub async fn lift_cooldown(&self) -> anyhow::Result<()> {
        self.call(
            Method::DELETE,
            "/authenticator/api/cooldown",
            "",
            Vec::new(),
        )
        .await?
        .agreed()?;
        Ok(())
    }

    /// What is signed about a request: approval with a number, denial without.
    pub fn statement<'a>(
        &'a self,
        request: &'a Request,
        number: Option<&'a str>,
    ) -> ApprovalStatement<'a> {
        ApprovalStatement {
            issuer: &self.issuer,
            request: request.id,
            device: self.device,
            application: &request.application.id,
            application_name: &request.application.name,
            step: request.step.as_deref(),
            account: &request.account,
            place: &request.place,
            browser: &request.browser,
            expires: Timestamp::from_seconds(request.expires_at),
            decision: if number.is_some() {
                Decision::Approve
            } else {
                Decision::Deny
            },
            number: number.unwrap_or_default(),
        }
    }

    /// Sends a decision with its signature.
    pub async fn send_proof(
        &self,
        id: ApprovalId,
        number: Option<&str>,
        signature: &str,
    ) -> anyhow::Result<Reply> {
        let decision = if number.is_some() {
            Decision::Approve
        } else {
            Decision::Deny
        };
        self.send(id, decision, number.unwrap_or_default(), signature)
            .await
    }

    /// Sends any decision, with the number that was typed.
    pub async fn send(
        &self,
        id: ApprovalId,
        decision: Decision,
        number: &str,
        signature: &str,
    ) -> anyhow::Result<Reply> {
        let body = json!({"decision": decision.as_str(), "number": number, "signature": signature});
        self.call(
            Method::POST,
            &format!("/authenticator/api/requests/{id}"),
            "",
            serde_json::to_vec(&body)?,
        )
        .await
    }

    /// Signs a text with the device's key, as WebCrypto does: `r` and `s` of 32 bytes each, base64url.
    pub fn sign(&self, text: &str) -> anyhow::Result<String> {
        let key = EcKey::private_key_from_pem(self.private_key.as_bytes())
            .context("the file holds no private key")?;
        signature(&key, text)
    }

    /// Any call of the interface, by its path below `/authenticator/api`, with a JSON body. The answer, if the host agreed.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Value> {
        let body = body
            .map(|body| serde_json::to_vec(&body))
            .transpose()?
            .unwrap_or_default();
        self.call(method, &format!("/authenticator/api{path}"), "", body)
            .await?
            .agreed()
    }

    /// A call that the device signs. Where the host finds our clock wrong, it is made once more with the host's.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        query: &str,
        body: Vec<u8>,
    ) -> anyhow::Result<Reply> {
        let mut time = SystemClock.now().seconds();
        for _ in 0..2 {
            let statement = CallStatement {
                issuer: &self.issuer,
                device: self.device,
                time,
                method: method.as_str(),
                path,
                body: &body,
            };
            let header = format!(
                "Assent-Device {}.{time}.{}",
                self.device,
                self.sign(&statement.text())?
            );
            let url = format!("{}{path}{query}", self.origin);
            let mut request = client()
                .await?
                .request(method.clone(), url)
                .header("authorization", header);
            if !body.is_empty() {
                request = request
                    .header("content-type", "application/json")
                    .body(body.clone());
            }
            let reply = exchange(request).await?;
            if reply.body.get("error") != Some(&json!("clock")) {
                return Ok(reply);
            }
            time = reply
                .body
                .get("now")
                .and_then(Value::as_i64)
                .context("the host does not tell its time")?;
        }
        bail!("the host does not accept our time")
    }

    /// Makes the file that an authenticator is kept in, for its owner alone. There must be none yet.
    pub fn new_file(path: &Path) -> anyhow::Result<File> {
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        made.with_context(|| format!("cannot make {}; name another file", path.display()))
    }

    /// Keeps the authenticator in a file.
    pub fn save(&self, file: &mut File) -> anyhow::Result<()> {
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes())
            .context("cannot write the file")
    }

    /// Reads the file that [`Self::save`] made.
    pub fn load(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} was not made by `authenticator enrol`", file.display()))
    }
}

/// What the host answered.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The JSON body; null where there is none.
    pub body: Value,
}

impl Reply {
    /// The body, if the host agreed; else its reason.
    pub fn agreed(self) -> anyhow::Result<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let code = self
            .body
            .get("error")
            .and_then(Value::as_str)
            .unwrap_or("error");
        let message = self
            .body
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or("the host gave no reason");
        bail!("{code}: {message}")
    }
}

/// The client of all authenticators of this process: to make one takes longer than most calls, since it reads this machine's
/// certificate authorities. It keeps no connection, which might be one of a runtime that is gone.
async fn client() -> anyhow::Result<&'static Client> {
    static CLIENT: OnceCell<Client> = OnceCell::const_new();
    let make = async || {
        Client::builder()
            .pool_max_idle_per_host(0)
            .build()
            .context("this machine's TLS can't be used")
    };
    CLIENT.get_or_try_init(make).await
}

async fn agreed(request: reqwest::RequestBuilder) -> anyhow::Result<Value> {
    exchange(request).await?.agreed()
}

async fn exchange(request: reqwest::RequestBuilder) -> anyhow::Result<Reply> {
    let response = request
        .timeout(Duration::from_secs(40))
        .send()
        .await
        .context("the host could not be reached")?;
    let status = response.status();
    let body = serde_json::from_slice(&response.bytes().await?).unwrap_or_default();
    Ok(Reply { status, body })
}

/// The body of a call about the login whose code holds this link.
fn token_of(link: &str) -> anyhow::Result<Vec<u8>> {
    let (_, token) = link
        .split_once("#login=")
        .context("the link has no #login= in it")?;
    Ok(serde_json::to_vec(&json!({ "token": token }))?)
}

fn text(answer: &Value, name: &str) -> anyhow::Result<String> {
    answer
        .get(name)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| anyhow!("the answer has no {name}"))
}

fn public_key(key: &EcKey<Private>) -> anyhow::Result<DeviceKey> {
    let (mut x, mut y) = (BigNum::new()?, BigNum::new()?);
    let mut context = BigNumContext::new()?;
    key.public_key()
        .affine_coordinates(key.group(), &mut x, &mut y, &mut context)?;
    let coordinate = |n: &BigNum| -> anyhow::Result<[u8; 32]> {
        n.to_vec_padded(32)?
            .try_into()
            .map_err(|_| anyhow!("a coordinate has 32 bytes"))
    };
    Ok(DeviceKey::from_coordinates(
        coordinate(&x)?,
        coordinate(&y)?,
    )?)
}

fn signature(key: &EcKey<Private>, text: &str) -> anyhow::Result<String> {
    let signature = EcdsaSig::sign(&openssl::sha::sha256(text.as_bytes()), key)?;
    let bytes = [
        signature.r().to_vec_padded(32)?,
        signature.s().to_vec_padded(32)?,
    ]
    .concat();
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
