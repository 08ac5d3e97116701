//! `assent authenticator`: an authenticator without a phone. It makes real proofs with a key of its own, so tests and
//! automation go the same way as people.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Subcommand;
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::Private;
use reqwest::{Client, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::{Clock, SystemClock, Timestamp};
use crate::id::{ApprovalId, DeviceId};
use crate::model::device::{DeviceKey, PushSubscription};
use crate::model::statement::{ApprovalStatement, CallStatement, Decision, EnrolmentStatement};

#[derive(Debug, Subcommand)]
pub(super) enum AuthenticatorCommand {
    /// Enrol by a link: makes a key and keeps it in the file.
    Enrol {
        /// The link, as `POST /admin/api/v1/users/{id}/enrolments` or the first start gives it.
        url: String,
        /// The file to make. It holds the private key.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// What the device is called.
        #[arg(long, default_value = "Command line")]
        name: String,
        /// A Web Push subscription in JSON, to be woken there.
        #[arg(long, value_name = "JSON")]
        push: Option<String>,
    },
    /// Answer the request that waits, or the first one that comes.
    #[command(group(clap::ArgGroup::new("decision").required(true).args(["number", "deny"])))]
    Approve {
        /// The file that `enrol` made.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
        /// Approve with the number that the browser shows.
        #[arg(long, value_name = "NN")]
        number: Option<String>,
        /// Deny.
        #[arg(long)]
        deny: bool,
        /// How many seconds to wait for a request.
        #[arg(long, default_value_t = 30)]
        wait: u32,
    },
    /// Print the requests that wait, as JSON.
    List {
        /// The file that `enrol` made.
        #[arg(long, value_name = "FILE")]
        store: PathBuf,
    },
}

pub(super) async fn run(command: AuthenticatorCommand) -> anyhow::Result<()> {
    match command {
        AuthenticatorCommand::Enrol { url, store, name, push } => {
            let push = push.map(|text| serde_json::from_str(&text)).transpose().context("--push is no subscription")?;
            let identity = enrol(&url, &name, push).await?;
            save(&store, &identity)?;
            println!("Enrolled for {} at {}.", identity.account, identity.issuer);
            Ok(())
        }
        AuthenticatorCommand::Approve { store, number, deny: _, wait } => {
            let identity = load(&store)?;
            let requests = waiting(&identity, wait).await?;
            let [request] = requests.as_slice() else {
                bail!("{} requests wait; expected one", requests.len());
            };
            let outcome = decide(&identity, request, number.as_deref()).await?;
            println!("{outcome}: {} on {} for {}", request.account, request.browser, request.application.name);
            Ok(())
        }
        AuthenticatorCommand::List { store } => {
            let requests = waiting(&load(&store)?, 0).await?;
            println!("{}", serde_json::to_string_pretty(&requests)?);
            Ok(())
        }
    }
}

/// What the authenticator keeps.
#[derive(Serialize, Deserialize)]
struct Identity {
    /// The address of the host.
    origin: String,
    /// The issuer that the device was enrolled with.
    issuer: String,
    /// The device.
    device: DeviceId,
    /// Whose it is.
    account: String,
    /// The private key, PEM.
    private_key: String,
}

#[derive(Serialize, Deserialize)]
struct Request {
    id: ApprovalId,
    application: Application,
    account: String,
    place: String,
    browser: String,
    expires_at: i64,
    attempts_left: u32,
}

#[derive(Serialize, Deserialize)]
struct Application {
    id: String,
    name: String,
}

async fn enrol(link: &str, name: &str, push: Option<PushSubscription>) -> anyhow::Result<Identity> {
    let (page, token) = link.split_once("#enrol=").context("the link has no #enrol= in it")?;
    let origin = url::Url::parse(page).context("the link is no address")?.origin().ascii_serialization();
    let look = send(Client::new().post(format!("{origin}/authenticator/api/enrolments/look")).json(&json!({"token": token}))).await?;
    let issuer = text(&look, "issuer")?;
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    let key = EcKey::generate(&group)?;
    let public = public_key(&key)?;
    let thumbprint = public.thumbprint();
    let statement =
        EnrolmentStatement { issuer: &issuer, token, device_name: name, key_thumbprint: &thumbprint };
    let body = json!({
        "token": token,
        "device_name": name,
        "public_key": public,
        "signature": sign(&key, &statement.text())?,
    });
    let enrolled = send(Client::new().post(format!("{origin}/authenticator/api/enrolments")).json(&body)).await?;
    let identity = Identity {
        origin,
        issuer,
        device: text(&enrolled, "device_id")?.parse().context("the answer has no device id")?,
        account: text(&enrolled, "account")?,
        private_key: String::from_utf8(key.private_key_to_pem()?)?,
    };
    if let Some(push) = push {
        let body = serde_json::to_vec(&json!({"subscription": push}))?;
        call(&identity, Method::PUT, "/authenticator/api/device/push", "", body).await?;
    }
    Ok(identity)
}

async fn waiting(identity: &Identity, wait: u32) -> anyhow::Result<Vec<Request>> {
    let deadline = SystemClock.now() + Duration::from_secs(wait.into());
    loop {
        let left = deadline.remaining(SystemClock.now()).as_secs().min(25);
        let answer =
            call(identity, Method::GET, "/authenticator/api/requests", &format!("?wait={left}"), Vec::new()).await?;
        let requests: Vec<Request> = serde_json::from_value(answer.get("requests").cloned().unwrap_or_default())?;
        if !requests.is_empty() || left == 0 {
            return Ok(requests);
        }
    }
}

async fn decide(identity: &Identity, request: &Request, number: Option<&str>) -> anyhow::Result<String> {
    let decision = if number.is_some() { Decision::Approve } else { Decision::Deny };
    let statement = ApprovalStatement {
        issuer: &identity.issuer,
        request: request.id,
        device: identity.device,
        application: &request.application.id,
        application_name: &request.application.name,
        account: &request.account,
        place: &request.place,
        browser: &request.browser,
        expires: Timestamp::from_seconds(request.expires_at),
        decision,
        number: number.unwrap_or_default(),
    };
    let body = json!({
        "decision": if decision == Decision::Approve { "approve" } else { "deny" },
        "number": number.unwrap_or_default(),
        "signature": sign(&private_key(identity)?, &statement.text())?,
    });
    let path = format!("/authenticator/api/requests/{}", request.id);
    let answer = call(identity, Method::POST, &path, "", serde_json::to_vec(&body)?).await?;
    text(&answer, "outcome")
}

/// A call that the device signs. Where the host finds our clock wrong, it is made once more with the host's.
async fn call(identity: &Identity, method: Method, path: &str, query: &str, body: Vec<u8>) -> anyhow::Result<Value> {
    let key = private_key(identity)?;
    let mut time = SystemClock.now().seconds();
    for _ in 0..2 {
        let statement = CallStatement {
            issuer: &identity.issuer,
            device: identity.device,
            time,
            method: method.as_str(),
            path,
            body: &body,
        };
        let header = format!("Assent-Device {}.{time}.{}", identity.device, sign(&key, &statement.text())?);
        let url = format!("{}{path}{query}", identity.origin);
        let mut request = Client::new().request(method.clone(), url).header("authorization", header);
        if !body.is_empty() {
            request = request.header("content-type", "application/json").body(body.clone());
        }
        match exchange(request).await? {
            (true, answer) => return Ok(answer),
            (false, answer) if answer.get("error") == Some(&json!("clock")) => {
                time = answer.get("now").and_then(Value::as_i64).context("the host does not tell its time")?;
            }
            (false, answer) => bail!(refusal(&answer)),
        }
    }
    bail!("the host does not accept our time")
}

async fn send(request: reqwest::RequestBuilder) -> anyhow::Result<Value> {
    match exchange(request).await? {
        (true, answer) => Ok(answer),
        (false, answer) => bail!(refusal(&answer)),
    }
}

/// Whether the host agreed, and what it said.
async fn exchange(request: reqwest::RequestBuilder) -> anyhow::Result<(bool, Value)> {
    let response = request.timeout(Duration::from_secs(40)).send().await.context("the host could not be reached")?;
    let agreed = response.status().is_success();
    let body = response.bytes().await?;
    let answer = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap_or_default() };
    Ok((agreed, answer))
}

fn refusal(answer: &Value) -> String {
    let code = answer.get("error").and_then(Value::as_str).unwrap_or("error");
    let message = answer.get("message").and_then(Value::as_str).unwrap_or("the host gave no reason");
    format!("{code}: {message}")
}

fn text(answer: &Value, name: &str) -> anyhow::Result<String> {
    answer.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| anyhow!("the answer has no {name}"))
}

fn private_key(identity: &Identity) -> anyhow::Result<EcKey<Private>> {
    EcKey::private_key_from_pem(identity.private_key.as_bytes()).context("the file holds no private key")
}

fn public_key(key: &EcKey<Private>) -> anyhow::Result<DeviceKey> {
    let (mut x, mut y) = (BigNum::new()?, BigNum::new()?);
    let mut context = BigNumContext::new()?;
    key.public_key().affine_coordinates(key.group(), &mut x, &mut y, &mut context)?;
    let coordinate = |n: &BigNum| -> anyhow::Result<[u8; 32]> {
        n.to_vec_padded(32)?.try_into().map_err(|_| anyhow!("a coordinate has 32 bytes"))
    };
    Ok(DeviceKey::from_coordinates(coordinate(&x)?, coordinate(&y)?)?)
}

/// A signature as WebCrypto makes it: `r` and `s` of 32 bytes each, base64url.
fn sign(key: &EcKey<Private>, text: &str) -> anyhow::Result<String> {
    let signature = EcdsaSig::sign(&openssl::sha::sha256(text.as_bytes()), key)?;
    let bytes = [signature.r().to_vec_padded(32)?, signature.s().to_vec_padded(32)?].concat();
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn save(file: &Path, identity: &Identity) -> anyhow::Result<()> {
    let cannot = || format!("cannot make {}", file.display());
    let mut opened =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).with_context(cannot)?;
    opened.write_all(serde_json::to_string_pretty(identity)?.as_bytes()).with_context(cannot)
}

fn load(file: &Path) -> anyhow::Result<Identity> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} was not made by `authenticator enrol`", file.display()))
}
