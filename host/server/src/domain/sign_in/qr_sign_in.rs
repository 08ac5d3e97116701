//! QR sign-in: the login page shows a code, and the user scans it with a device.
//!
//! The code contains no data about the user. The approval request that follows is an ordinary one. The browser shows a
//! number, and the device shows the browser's description from the start of the sign-in, regardless of where the code
//! is shown. Only if the device is in the browser of the sign-in, no number is needed.

use std::sync::Arc;
use std::time::Duration;

use subtle::ConstantTimeEq;

use crate::domain::approvals::{purpose, request};
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::sign_in::access::{Access, access};
use crate::domain::{InternalError, Services};
use assent_model::approval::Approval;
use assent_model::audit::Origin;
use assent_model::change::Change;
use assent_model::device::Device;
use assent_model::id::{ApprovalId, LoginId};
use assent_model::login::{BrowserContext, Login, LoginStage};
use assent_model::secret::Digest;
use assent_model::token::prefix;
use assent_model::token_text;
use assent_model::user::LifecycleState;
use assent_store::RequestOutcome;

/// The lengths in bytes of the two parts of a code: the identifier of the sign-in, and the proof that this server
/// created the code.
const ID: usize = 16;
const PROOF: usize = 16;

/// The longest time for which a page waits for a scan. Then it repeats the request, so that an abandoned page holds no
/// connection for long.
const TELLING: Duration = Duration::from_secs(60);

/// Returns the path of the link in the QR code of a login page. The token is in the fragment, which browsers do not
/// send and which no server logs.
pub fn path(services: &Services, login: &Login) -> Result<String, InternalError> {
    let token: Vec<u8> = [login.id.as_bytes().as_slice(), &proof(services, login)?].concat();
    let token = token_text::write(prefix::LOGIN_CODE, &token);
    Ok(format!("/authenticator#login={}", *token))
}

/// Returns the proof of a code. It cannot be guessed, and is derived from the sign-in and its browser, so that each
/// instance can compute it.
fn proof(services: &Services, login: &Login) -> Result<[u8; PROOF], InternalError> {
    let message = [login.id.as_bytes().as_slice(), login.browser.as_bytes()].concat();
    let code = services.root_secret.derive("login code", &message)?;
    let mut proof = [0; PROOF];
    proof.copy_from_slice(&code[..PROOF]);
    Ok(proof)
}

/// The details of a sign-in that a user sees before accepting it. They do not reveal who scanned the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QrSignInDetails {
    /// The name of the application.
    pub application: String,
    /// The approximate location and the description of the browser.
    pub context: BrowserContext,
    /// Whether the device is in the browser of the sign-in, so that the user needs no number.
    pub is_same_browser: bool,
}

/// Returns the sign-in of a code. Returns `None` if the code is invalid, or the sign-in ended or has a user already.
/// `browser` is the digest of the browser cookie that the device sent.
pub async fn preview(
    services: &Services,
    token: &str,
    browser: Option<Digest>,
) -> Result<Option<QrSignInDetails>, InternalError> {
    let Some(Scannable { login, .. }) = find(services, token, None).await? else {
        return Ok(None);
    };
    let application = purpose::application_name(services, &login).await?;
    Ok(Some(QrSignInDetails {
        application,
        is_same_browser: browser == Some(login.browser),
        context: login.context,
    }))
}

/// The outcome of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOutcome {
    /// The user received an approval request, and the browser shows the number.
    Asked {
        /// The request.
        approval: ApprovalId,
        /// The sign-in, if the device is in its browser.
        login_page: Option<LoginId>,
    },
    /// The code is invalid, or its sign-in ended or has a user already.
    NotOpen,
    /// The user may not sign in.
    Closed,
    /// The device reached its rate limit.
    TooMany(RateLimitError),
}

/// Processes a scanned code, or the link of a login page that was opened in the device's own browser. It has its own
/// rate limit. Other clients cannot delay it: the rate limits of typed names and cooldowns do not apply, because the
/// user began this sign-in.
pub async fn scan(
    services: &Arc<Services>,
    device: &Device,
    token: &str,
    browser: Option<Digest>,
    from: Origin,
) -> Result<ScanOutcome, InternalError> {
    let Some(Scannable { login, scanned }) = find(services, token, Some(device)).await? else {
        return Ok(ScanOutcome::NotOpen);
    };
    let is_same_browser = browser == Some(login.browser);
    let login_page = is_same_browser.then_some(login.id);
    if let Some(approval) = scanned {
        return Ok(ScanOutcome::Asked {
            approval,
            login_page,
        });
    }
    let user = services
        .store
        .user(device.user_id)
        .await?
        .filter(|user| user.state == LifecycleState::Active);
    let Some(user) = user else {
        return Ok(ScanOutcome::Closed);
    };
    if let Some(application) = login.request.application()
        && matches!(access(services, &user, application).await?, Access::Closed)
    {
        return Ok(ScanOutcome::Closed);
    }
    if let Err(exhausted) = services
        .rate_limits
        .actions_per_device
        .count_call(&device.id, services.now())
    {
        return Ok(ScanOutcome::TooMany(exhausted));
    }
    Ok(
        match request::ask_by_scan(services, &login, (device, &user), is_same_browser, from).await?
        {
            RequestOutcome::Prompted(_) => {
                tracing::info!(login = %login.id, device = %device.id, "QR code scanned");
                match services.store.approval_of_login(login.id).await? {
                    Some(approval) => ScanOutcome::Asked {
                        approval: approval.id,
                        login_page,
                    },
                    // The sign-in ended at this moment.
                    None => ScanOutcome::NotOpen,
                }
            }
            RequestOutcome::NotOpen => ScanOutcome::NotOpen,
            // The user was suspended at this moment.
            RequestOutcome::NotPrompted => ScanOutcome::Closed,
            RequestOutcome::TooMany | RequestOutcome::NumberTaken => ScanOutcome::TooMany(
                RateLimitError::within(services.settings.lifetimes.approval.get()),
            ),
        },
    )
}

/// A sign-in with a code that can be scanned.
struct Scannable {
    login: Login,
    /// The pending approval that the same device requested before.
    scanned: Option<ApprovalId>,
}

/// Returns the sign-in of a token, if it has no authenticated user yet: no name was typed, or the typed request is
/// pending. A device may repeat its request, because the response may have been lost.
async fn find(
    services: &Services,
    token: &str,
    device: Option<&Device>,
) -> Result<Option<Scannable>, InternalError> {
    let Ok(token) = token_text::read::<{ ID + PROOF }>(prefix::LOGIN_CODE, token) else {
        return Ok(None);
    };
    let Some((id, shown)) = token.split_first_chunk::<ID>() else {
        return Ok(None);
    };
    let login = services
        .store
        .login(LoginId::from_bytes(*id), services.now())
        .await?;
    // A sign-in without a stored description of its browser would show no details for the user to recognise.
    let Some(login) = login.filter(|login| !login.context.browser.is_empty()) else {
        return Ok(None);
    };
    let mut scanned = None;
    let is_open = match login.stage {
        LoginStage::Identify => true,
        // The page of a pending typed request shows the code too.
        LoginStage::Asked(approval) => {
            let found = services.store.approval(approval).await?;
            let pending = found.filter(|found| found.stage_at(services.now()).is_waiting());
            let is_repeated =
                |found: &Approval| device.is_some_and(|device| found.scanned_by == Some(device.id));
            scanned = pending
                .as_ref()
                .filter(|found| is_repeated(found))
                .map(|found| found.id);
            scanned.is_some() || pending.is_some_and(|found| found.scanned_by.is_none())
        }
        LoginStage::SignedIn(_) | LoginStage::Answered(_) => false,
    };
    if !is_open {
        return Ok(None);
    }
    let genuine = bool::from(proof(services, &login)?.as_slice().ct_eq(shown));
    Ok(genuine.then_some(Scannable { login, scanned }))
}

/// Waits until the page of this sign-in must change, because its code was scanned or it expired. Returns `false` if the
/// page should repeat the request.
pub async fn is_scanned(services: &Services, id: LoginId) -> Result<bool, InternalError> {
    let decided = async {
        let mut listener = services.store.listen([Change::Login(id)]);
        loop {
            let found = services.store.login(id, services.now()).await?;
            let Some(login) = found.filter(|login| login.stage == LoginStage::Identify) else {
                return Ok(true);
            };
            listener.changed(Some(login.expires_at)).await;
        }
    };
    // The timeout uses the machine's clock and not the server's, so that a test that stops the latter does not stop
    // this.
    tokio::time::timeout(TELLING, decided)
        .await
        .unwrap_or(Ok(false))
}
