//! The authenticator: its web app, and the interface it asks, under `/authenticator/api`.
//!
//! Errors are `{"error": code, "message": text}`. Calls of an enrolled device carry
//! `Authorization: Assent-Device {device}.{seconds}.{signature}`, the signature over
//! [`assent_model::statement::CallStatement`].

mod device_activity;
mod passkey;

pub(crate) use device_activity::history;
pub(crate) use passkey::{add_passkey, confirmed, offer_passkey, remove_passkey};

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, OriginalUri, Path, Query, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::approvals::approval;
use crate::domain::approvals::approval::{Outcome, Proof};
use crate::domain::approvals::prompts::Prompt;
use crate::domain::devices::device;
use crate::domain::devices::device::{Call, Caller, Enrolled, EnrolmentRequest, Waiting};
use crate::domain::operations::rate_limits::Network;
use crate::domain::{self, Host, InternalError};
use crate::http::context::RequestOrigin;
use crate::http::context::origin_of;
use crate::http::fetch_metadata::is_cross_site;
use crate::http::operations::{logos, rate_limits};
use crate::http::outage::unavailable;
use crate::http::pages::AuthenticatorApp;
use crate::http::reply::{layout, page};
use crate::http::texts::PageLanguage;
use assent_model::approval::ApprovalStage;
use assent_model::audit::{Actor, AuditContext, Origin};
use assent_model::clock::Timestamp;
use assent_model::device::{CallCredentials, Device, DeviceKey, PushSubscription};
use assent_model::id::{ApprovalId, AuditId};
use assent_model::recovery::CodesOfDevice;
use assent_model::statement::application_identifier;
use assent_plugin_host::Trust;

/// How long a request for notifications may wait, in seconds.
const LONGEST_WAIT: u32 = 30;

/// An answer that is an error.
pub(crate) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: &'static str,
    more: Vec<(&'static str, Value)>,
    /// Whether the caller failed to prove anything: neither its signature nor its link is good.
    unproven: bool,
    /// Seconds after which the call may be repeated, where the failure says so itself.
    retry_after: Option<u16>,
}

/// Marks an answer to a caller that proved nothing.
#[derive(Clone, Copy)]
struct Unproven;

impl Failure {
    pub(crate) const fn new(status: StatusCode, code: &'static str, message: &'static str) -> Self {
        Self {
            status,
            code,
            message,
            more: Vec::new(),
            unproven: false,
            retry_after: None,
        }
    }

    /// The same, of a caller that proved nothing: it counts to the limit of failures.
    const fn unproven(mut self) -> Self {
        self.unproven = true;
        self
    }

    /// The same, of a call that may be repeated after so many seconds.
    const fn retry_after(mut self, seconds: u16) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.more.push((name, value));
        self
    }
}

impl From<InternalError> for Failure {
    fn from(error: InternalError) -> Self {
        tracing::error!(%error, "a call of an authenticator failed");
        if error.is_outage() {
            return Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "temporarily_unavailable",
                "The server cannot reach its database at the moment. Try again in a few seconds.",
            );
        }
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "server_error",
            "The server could not do this. Try again in a moment.",
        )
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut body = json!({"error": self.code, "message": self.message});
        if let Some(object) = body.as_object_mut() {
            object.extend(
                self.more
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value)),
            );
        }
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response = unavailable(response);
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if self.unproven {
            response.extensions_mut().insert(Unproven);
        }
        response
    }
}

pub(crate) type Reply = Result<Response, Failure>;

pub(crate) fn parse<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|_| UNREADABLE)
}

fn signature(text: &str) -> Vec<u8> {
    // What is no base64url is no signature either, and verifies as none.
    URL_SAFE_NO_PAD.decode(text).unwrap_or_default()
}

/// `GET /authenticator`: the web app, the same for everybody who reads the same language.
pub(crate) async fn app(
    State(host): State<Arc<Host>>,
    PageLanguage(language): PageLanguage,
) -> Response {
    let mut response = page(
        &AuthenticatorApp {
            layout: layout(&host, language),
        },
        None,
    );
    // It holds nothing personal, and its service worker keeps it for when the phone is offline.
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let camera =
        HeaderValue::from_static("camera=(self), geolocation=(), microphone=(), payment=()");
    response.headers_mut().insert("permissions-policy", camera);
    response
}

#[derive(Deserialize)]
struct Look {
    token: String,
}

const NO_SUCH_LINK: Failure = Failure::new(
    StatusCode::GONE,
    "no_such_link",
    "This link was used already, or has expired. Ask your administrator for a new one.",
)
.unproven();

/// `POST /authenticator/api/enrolments/preview`: what a link is for, before anything is done with it.
pub(crate) async fn preview(State(host): State<Arc<Host>>, body: Bytes) -> Reply {
    let Look { token } = parse(&body)?;
    let (enrolment, user) = device::find_enrolment(&host, &token)
        .await?
        .ok_or(NO_SUCH_LINK)?;
    let link = format!("{}/authenticator#enrol={token}", host.settings.origin());
    Ok(Json(json!({
        "operator": host.settings.operator,
        "issuer": host.issuer,
        "account": user.name,
        "display_name": user.display_name(),
        "expires_at": enrolment.expires_at.seconds(),
        "link_qr": qr_code(&link),
    }))
    .into_response())
}

/// The link as a QR code for a phone's camera, in SVG; nothing where it is too long for one.
pub(crate) fn qr_code(link: &str) -> Option<String> {
    let code = qrcode::QrCode::new(link).ok()?;
    Some(
        code.render::<qrcode::render::svg::Color<'_>>()
            .min_dimensions(220, 220)
            .build(),
    )
}

#[derive(Deserialize)]
struct Enrol {
    token: String,
    device_name: String,
    public_key: DeviceKey,
    signature: String,
}

/// `POST /authenticator/api/enrolments`: enrols a device with a link's token.
pub(crate) async fn enrol(
    State(host): State<Arc<Host>>,
    RequestOrigin(from): RequestOrigin,
    body: Bytes,
) -> Reply {
    let form: Enrol = parse(&body)?;
    let request = EnrolmentRequest {
        token: form.token,
        device_name: form.device_name,
        key: form.public_key,
        signature: signature(&form.signature),
    };
    match device::enrol(&host, &request, from).await? {
        Enrolled::Done {
            device,
            user,
            recovered,
        } => {
            let body = json!({
                "device_id": device.id,
                "device_name": device.name,
                "account": user.name,
                "display_name": user.display_name(),
                "issuer": host.issuer,
                "operator": host.settings.operator,
                "push_key": push_key(&host),
                "passkey": domain::devices::passkey::standing(&host, &device).await?.as_str(),
                "recovered": recovered,
            });
            Ok((StatusCode::CREATED, Json(body)).into_response())
        }
        Enrolled::NoSuchLink => Err(NO_SUCH_LINK),
        Enrolled::BadProof => Err(Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_proof",
            "The app could not prove that it has its key. Load the page again and repeat.",
        )),
        Enrolled::BadName => Err(BAD_NAME),
        Enrolled::TooMany => Err(Failure::new(
            StatusCode::CONFLICT,
            "too_many_devices",
            "You have as many devices as there may be. Remove one, then open the link again.",
        )),
        Enrolled::KeyTaken => Err(Failure::new(
            StatusCode::CONFLICT,
            "key_taken",
            "This key is enrolled already. Load the page again and repeat.",
        )),
    }
}

pub(crate) const BAD_NAME: Failure = Failure::new(
    StatusCode::UNPROCESSABLE_ENTITY,
    "bad_name",
    "Give the device a name of 1 to 80 characters.",
);

/// The key for push subscriptions, where a channel would use them.
fn push_key(host: &Host) -> Option<&str> {
    let notified = host
        .plugins
        .channels()
        .iter()
        .any(|channel| channel.trust == Trust::Verified);
    notified.then(|| host.push_key.public_key())
}

/// A call that an enrolled device signed.
pub(crate) struct SignedCall {
    pub(crate) host: Arc<Host>,
    pub(crate) device: Device,
    pub(crate) origin: Origin,
    pub(crate) body: Bytes,
}

impl SignedCall {
    /// Who calls, and from where.
    pub(crate) fn by(&self) -> AuditContext {
        AuditContext::new(Actor::Device(self.device.id), self.origin.clone())
    }
}

impl FromRequest<Arc<Host>> for SignedCall {
    type Rejection = Failure;

    async fn from_request(request: Request, host: &Arc<Host>) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        // Routes below a nest see their own part of the path alone; the device signed the whole of it.
        let path = parts
            .extensions
            .get::<OriginalUri>()
            .map_or(parts.uri.path(), |uri| uri.path())
            .to_owned();
        let origin = origin_of(host, &parts.extensions, &parts.headers);
        let (method, header) = (
            parts.method.clone(),
            parts.headers.get(AUTHORIZATION).cloned(),
        );
        let body = Bytes::from_request(Request::from_parts(parts, body), host)
            .await
            .map_err(|_| UNREADABLE)?;
        let header = header
            .as_ref()
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let Some(CallCredentials {
            device,
            time,
            signature,
        }) = CallCredentials::parse(header)
        else {
            return Err(UNKNOWN_DEVICE);
        };
        let call = Call {
            device,
            time,
            signature: &signature,
            method: method.as_str(),
            path: &path,
            body: &body,
        };
        match device::caller(host, call).await? {
            Caller::Device(device) => Ok(Self {
                host: Arc::clone(host),
                device: *device,
                origin,
                body,
            }),
            Caller::Unknown => Err(UNKNOWN_DEVICE),
            Caller::WrongClock(now) => {
                let failure = Failure::new(
                    StatusCode::UNAUTHORIZED,
                    "clock",
                    "The phone's clock is wrong.",
                );
                Err(failure.with("now", json!(now.seconds())))
            }
        }
    }
}

const UNKNOWN_DEVICE: Failure = Failure::new(
    StatusCode::UNAUTHORIZED,
    "unknown_device",
    "This phone is not enrolled any more. Ask your administrator for a new link.",
)
.unproven();

const UNREADABLE: Failure = Failure::new(
    StatusCode::BAD_REQUEST,
    "invalid_request",
    "The app sent something that can't be read.",
);

/// Rejects calls of other sites' pages, and limits how often an address may come with links, signatures and devices that are not
/// good.
pub(crate) async fn limit_failures(
    State(host): State<Arc<Host>>,
    from: Network,
    request: Request,
    next: Next,
) -> Response {
    if is_cross_site(request.headers()) {
        return CROSS_SITE.into_response();
    }
    let failed = |response: &Response| response.extensions().get::<Unproven>().is_some();
    let limit = (&*host, &host.rate_limits.authenticator_failures);
    rate_limits::failures(limit, from, request, next, failed, || {
        TOO_MANY.into_response()
    })
    .await
}

const CROSS_SITE: Failure = Failure::new(
    StatusCode::FORBIDDEN,
    "cross_site",
    "A page of another site can't call the authenticator.",
);

const TOO_MANY: Failure = Failure::new(
    StatusCode::TOO_MANY_REQUESTS,
    "too_many_requests",
    "There were too many failed attempts from your network. Wait a minute and try again.",
);

const TOO_MANY_WAIT: Failure = Failure::new(
    StatusCode::TOO_MANY_REQUESTS,
    "too_many_waiting",
    "This phone waits for requests in too many places. Close some of them.",
)
.retry_after(5);

#[derive(Deserialize)]
pub(crate) struct Wait {
    #[serde(default)]
    wait: u32,
    /// The last of the notifications that the app shows.
    known: Option<AuditId>,
    /// The ids of the requests that the app shows, with commas between them.
    #[serde(default)]
    seen: String,
}

/// `GET /authenticator/api/requests?wait=25&seen=..,..&known=..`: all pending requests of the user, the oldest first, and the
/// notifications of the user's devices. While the pending requests are those in `seen` and the notifications go up to `known`, the call waits
/// up to `wait` seconds for a change. Until `cooldown_until` no typed request reaches the user's
/// devices. `passkey` is `set`, `none`, or `impossible` where this host does not support passkeys.
pub(crate) async fn requests(Query(query): Query<Wait>, call: SignedCall) -> Reply {
    let SignedCall { host, device, .. } = call;
    let patience = query.wait.min(LONGEST_WAIT);
    let seen = query
        .seen
        .split(',')
        .filter_map(|id| id.parse().ok())
        .collect();
    // A call that does not wait is answered at once, however many others do.
    let _holding = match patience {
        0 => None,
        _ => Some(
            host.rate_limits
                .device_waits
                .hold(device.id)
                .ok_or(TOO_MANY_WAIT)?,
        ),
    };
    let waiting = device::request(&host, &device, patience, (&seen, query.known)).await?;
    let Waiting {
        user,
        pending,
        notifications,
        cooldown_until,
    } = waiting.ok_or(UNKNOWN_DEVICE)?;
    let notifications: Vec<Value> = notifications
        .iter()
        .map(crate::http::devices::own_devices::notification)
        .collect();
    let requests: Vec<Value> = pending
        .iter()
        .map(|(prompt, logo)| request(&host, prompt, logo.as_deref()))
        .collect();
    Ok(Json(json!({
        "now": host.now().seconds(),
        "account": {"name": user.name, "display_name": user.display_name(), "state": user.state},
        "cooldown_until": cooldown_until.map(Timestamp::seconds),
        "passkey": domain::devices::passkey::standing(&host, &device).await?.as_str(),
        "requests": requests,
        "notifications": notifications,
    }))
    .into_response())
}

/// `DELETE /authenticator/api/cooldown`: the person ends the pause that a denial began, if there is one.
pub(crate) async fn lift_cooldown(call: SignedCall) -> Reply {
    let SignedCall {
        host,
        device,
        origin,
        ..
    } = call;
    approval::lift_cooldown(&host, &device, origin).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// What the person is shown. The number is not in it.
fn request(host: &Host, prompt: &Prompt, logo: Option<&str>) -> Value {
    let Prompt { approval, summary } = prompt;
    let shown = &approval.shown;
    let logo = shown
        .application
        .as_ref()
        .zip(logo)
        .map(|(application, digest)| logos::address(application, digest));
    json!({
        "id": approval.id,
        "application": {
            "id": application_identifier(shown.application.as_ref(), &host.issuer),
            "name": shown.application_name,
            "logo": logo,
        },
        "account": shown.account,
        "place": shown.place,
        "browser": shown.browser,
        "action": summary,
        "requested_at": approval.requested_at.seconds(),
        "expires_at": approval.expires_at.seconds(),
        "attempts_left": approval.attempts_left,
    })
}

/// `POST /authenticator/api/requests/{id}`: the person's decision, with the device's proof.
pub(crate) async fn decide(Path(id): Path<String>, call: SignedCall) -> Reply {
    let SignedCall {
        host,
        device,
        body,
        origin,
    } = call;
    let proof: Proof = parse(&body)?;
    let unknown = || {
        Failure::new(
            StatusCode::NOT_FOUND,
            "unknown_request",
            "There is no such request for you.",
        )
    };
    let id: ApprovalId = id.parse().map_err(|_| unknown())?;
    match approval::answer(&host, &device, id, &proof, origin).await? {
        Outcome::Approved => Ok(Json(json!({"outcome": "approved"})).into_response()),
        Outcome::Denied => Ok(Json(json!({"outcome": "denied"})).into_response()),
        Outcome::NotMe => Ok(Json(json!({"outcome": "not_me"})).into_response()),
        Outcome::WrongNumber {
            attempts_left,
            other,
        } => {
            let failure = WRONG_NUMBER.with("attempts_left", json!(attempts_left));
            Err(match other {
                Some(other) => failure.with("other_request", other_request(&host, &other)),
                None => failure,
            })
        }
        Outcome::BadProof => Err(Failure::new(
            StatusCode::FORBIDDEN,
            "bad_proof",
            "What this phone signed is not what the server asked. Load the app again.",
        )),
        Outcome::PasskeyRequired(options) => Err(passkey::required(options)),
        Outcome::PasskeyRefused => Err(passkey::REFUSED),
        Outcome::AlreadyDecided => Err(Failure::new(
            StatusCode::CONFLICT,
            "already_decided",
            "This request was decided already.",
        )),
        Outcome::Expired => Err(Failure::new(
            StatusCode::GONE,
            "expired",
            "This request has expired.",
        )),
        Outcome::Unknown => Err(unknown()),
    }
}

const WRONG_NUMBER: Failure = Failure::new(
    StatusCode::UNPROCESSABLE_ENTITY,
    "wrong_number",
    "That is not the number in the browser.",
);

/// The request with the typed number, and all members that the signature of a report covers.
fn other_request(host: &Host, other: &Prompt) -> Value {
    let mut shown = request(host, other, None);
    let state = match other.approval.stage {
        ApprovalStage::Replaced => "replaced",
        ApprovalStage::Cancelled | ApprovalStage::Conflicted => "cancelled",
        _ => "pending",
    };
    if let Some(object) = shown.as_object_mut() {
        object.insert("state".to_owned(), json!(state));
    }
    shown
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Push {
    // The function makes the member required. A member that is missing or mistyped must not remove the subscription.
    #[serde(deserialize_with = "Option::deserialize")]
    subscription: Option<PushSubscription>,
}

/// `PUT /authenticator/api/device/push`: where the device can be woken. Only an explicit `null` removes the subscription.
pub(crate) async fn push(call: SignedCall) -> Reply {
    let SignedCall {
        host, device, body, ..
    } = call;
    let Push { subscription } = parse(&body)?;
    if device::set_push(&host, &device, subscription).await? {
        Ok(StatusCode::NO_CONTENT.into_response())
    } else {
        Err(Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "bad_subscription",
            "This subscription can't be used.",
        ))
    }
}

/// `DELETE /authenticator/api/device`: the person removes this device.
pub(crate) async fn remove(call: SignedCall) -> Reply {
    device::revoke(&call.host, &call.device, CodesOfDevice::End, &call.by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
