//! Signing in without typing: the login page shows a code, and whoever scans it with their authenticator says who signs
//! in.
//!
//! The code says nothing of the user. The approval that follows is like any other: the browser shows a number, and the
//! device shows what that browser said about itself when its login began, whoever shows the code. Only if the device is
//! in the browser of the login does it need no number.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use crate::domain::approvals::approval;
use crate::domain::operations::rate_limits::RateLimitError;
use crate::domain::sign_in::access::{Access, access};
use crate::domain::{InternalError, Services};
use assent_model::approval::Approval;
use assent_model::audit::Origin;
use assent_model::change::Change;
use assent_model::device::Device;
use assent_model::id::{ApprovalId, LoginId};
use assent_model::login::{BrowserContext, Login, LoginStage};
use assent_model::secret::Digest;
use assent_model::user::LifecycleState;
use assent_store::RequestOutcome;

/// How many bytes of the code are a login's id, and how many show that this server made it.
const ID: usize = 16;
const PROOF: usize = 16;

/// How long a page is told of a scan at once. It asks again by itself, so that whoever leaves holds no connection for
/// long.
const TELLING: Duration = Duration::from_secs(60);

/// The path of the link that the code of a login's page is made of. The token is in the fragment, which browsers do not
/// send and nobody logs.
///
/// # Errors
/// If the cryptographic library fails.
pub fn path(services: &Services, login: &Login) -> Result<String, InternalError> {
    let token: Vec<u8> = [login.id.as_bytes().as_slice(), &proof(services, login)?].concat();
    Ok(format!(
        "/authenticator#login={}",
        URL_SAFE_NO_PAD.encode(token)
    ))
}

/// It can't be guessed, and follows from the login and its browser, so that each host knows it.
fn proof(services: &Services, login: &Login) -> Result<[u8; PROOF], InternalError> {
    let message = [login.id.as_bytes().as_slice(), login.browser.as_bytes()].concat();
    let code = services.root_secret.derive("login code", &message)?;
    let mut proof = [0; PROOF];
    proof.copy_from_slice(&code[..PROOF]);
    Ok(proof)
}

/// What a person is shown of a login before they say that it is theirs. Nobody learns from it who scanned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QrSignInDetails {
    /// The name of the application that they would sign in to.
    pub application: String,
    /// Where the browser seems to be, and what it is.
    pub context: BrowserContext,
    /// Whether the device is in the browser of the login, so that the user needs no number.
    pub is_same_browser: bool,
}

/// The login of a code. `None` if the code is not valid, or its login ended or has a user already. `browser` is the
/// digest of the browser cookie that the device sent.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn preview(
    services: &Services,
    token: &str,
    browser: Option<Digest>,
) -> Result<Option<QrSignInDetails>, InternalError> {
    let Some(Scannable { login, .. }) = find(services, token, None).await? else {
        return Ok(None);
    };
    let application = approval::application_name(services, &login).await?;
    Ok(Some(QrSignInDetails {
        application,
        is_same_browser: browser == Some(login.browser),
        context: login.context,
    }))
}

/// What came of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOutcome {
    /// The user is asked, and the browser shows the number.
    Asked {
        /// The request.
        approval: ApprovalId,
        /// The login, if the device is in its browser.
        login_page: Option<LoginId>,
    },
    /// The code is none of ours, its login is over, or somebody said already who signs in.
    NotOpen,
    /// The person may not sign in.
    Closed,
    /// The device scanned too many.
    TooMany(RateLimitError),
}

/// Takes what a device scanned, or the link of a login page that was opened in the device's own browser. It has a
/// limit of its own. What others do with the user's name does not hold it: neither the limits of those who type it, nor
/// a cooldown, which is for requests that the user did not begin.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn scan(
    services: &Arc<Services>,
    device: &Device,
    (token, browser): (&str, Option<Digest>),
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
        match approval::ask_by_scan(services, &login, (device, &user), is_same_browser, from)
            .await?
        {
            RequestOutcome::Prompted(_) => {
                tracing::info!(login = %login.id, device = %device.id, "QR code scanned");
                match services.store.approval_of_login(login.id).await? {
                    Some(approval) => ScanOutcome::Asked {
                        approval: approval.id,
                        login_page,
                    },
                    // The login ended at this moment.
                    None => ScanOutcome::NotOpen,
                }
            }
            RequestOutcome::NotOpen => ScanOutcome::NotOpen,
            // The person was suspended at this moment.
            RequestOutcome::NotPrompted => ScanOutcome::Closed,
            RequestOutcome::TooMany => ScanOutcome::TooMany(RateLimitError::within(
                services.settings.lifetimes.approval.get(),
            )),
        },
    )
}

/// A login whose code may be scanned.
struct Scannable {
    login: Login,
    /// The pending approval that the device in the login's browser requested before.
    scanned: Option<ApprovalId>,
}

/// The login that a token belongs to, if its user is still undecided: no name was typed, or the typed request is
/// pending. The device in the login's browser may ask again: the response may have been lost.
async fn find(
    services: &Services,
    token: &str,
    device: Option<&Device>,
) -> Result<Option<Scannable>, InternalError> {
    let bytes = URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
    let Some((id, shown)) = bytes
        .split_at_checked(ID)
        .filter(|(_, shown)| shown.len() == PROOF)
    else {
        return Ok(None);
    };
    let Ok(id) = <[u8; ID]>::try_from(id) else {
        return Ok(None);
    };
    let login = services
        .store
        .login(LoginId::from_bytes(id), services.now())
        .await?;
    // A login from before browsers were kept would show nothing to recognise.
    let Some(login) = login.filter(|login| !login.context.browser.is_empty()) else {
        return Ok(None);
    };
    let mut scanned = None;
    let is_open = match login.stage {
        LoginStage::Identify => true,
        // The page that waits for a typed request shows the code as well.
        LoginStage::Asked(approval) => {
            let found = services.store.approval(approval).await?;
            let pending = found.filter(|found| found.stage_at(services.now()).is_waiting());
            let is_repeated = |found: &Approval| {
                found.is_same_browser && found.scanned_by == device.map(|device| device.id)
            };
            scanned = pending
                .as_ref()
                .filter(|found| is_repeated(found))
                .map(|found| found.id);
            scanned.is_some() || pending.is_some_and(|found| found.scanned_by.is_none())
        }
        LoginStage::SignedIn(_) | LoginStage::Answered => false,
    };
    if !is_open {
        return Ok(None);
    }
    let genuine = bool::from(proof(services, &login)?.as_slice().ct_eq(shown));
    Ok(genuine.then_some(Scannable { login, scanned }))
}

/// Returns when the page of this login has something new to show, since its code was scanned or its time is over:
/// `true`; or when it should ask again: `false`.
///
/// # Errors
/// If the database fails.
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
    // Counted by the machine's clock, not the server's: a test that stops the one must not stop the other.
    tokio::time::timeout(TELLING, decided)
        .await
        .unwrap_or(Ok(false))
}
