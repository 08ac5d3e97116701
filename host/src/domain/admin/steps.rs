//! Dangerous steps in the console: each needs a fresh approval on the phone of whoever takes it, for that very request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Refused, Result, registered, user};
use crate::clock::Timestamp;
use crate::domain::login::{self, Ended, View};
use crate::domain::session::SignedIn;
use crate::domain::{Broken, Host, approval};
use crate::id::{ApprovalId, LoginId};
use crate::model::administration::Danger;
use crate::model::audit::Origin;
use crate::model::login::{BrowserContext, LoginRequest, LoginStage};
use crate::model::step::{ShownStep, StepRequest};
use crate::secret::Digest;
use crate::store::Asked;

/// How long after the approval the step may be taken: the console does it at once.
const FRESH: Duration = Duration::from_secs(120);

/// The console in one browser.
#[derive(Clone, Debug)]
pub struct Console {
    /// Who is signed in there.
    pub signed_in: SignedIn,
    /// The digest of the cookie that tells browsers apart.
    pub browser: Digest,
    /// What the browser tells about itself.
    pub context: BrowserContext,
    /// From where it comes.
    pub origin: Origin,
}

/// A step that waits for the phone.
#[derive(Clone, Debug)]
pub struct AskedStep {
    /// What it is known by.
    pub id: LoginId,
    /// The number to type on the phone.
    pub number: String,
    /// Until when it can be approved.
    pub expires_at: Timestamp,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// The phone was asked.
    Waiting,
    /// It may be taken, once.
    Approved,
    /// The person denied it.
    Denied,
    /// Nobody approved in time, it was taken, or the number was wrong too often.
    Over,
}

/// What a request would do, in words for the person to approve. `None` where it does nothing that is dangerous. `subject` is
/// the id in the request's path, `key` that of a key or certificate there.
///
/// # Errors
/// [`Refused::NotFound`] where there is no such user or application.
pub async fn in_words(
    host: &Host,
    danger: Danger,
    subject: Option<&str>,
    key: Option<&str>,
    body: &Value,
) -> Result<Option<String>> {
    let of_user = async || match subject.map(str::parse) {
        Some(Ok(id)) => Ok(Some(user(host, id).await?)),
        Some(Err(_)) => Err(Refused::NotFound("user")),
        None => Ok(None),
    };
    let of_application = async || match subject.map(str::parse) {
        Some(Ok(id)) => Ok(Some(registered(host, &id).await?.name().to_owned())),
        Some(Err(_)) => Err(Refused::NotFound("application")),
        None => Ok(None),
    };
    // What the body says of a name that is not there yet.
    let new = || body.get("name").and_then(Value::as_str).unwrap_or_default().chars().take(120).collect::<String>();
    let name = async || Ok::<_, Refused>(of_user().await?.map_or_else(new, |user| user.name.to_string()));
    let application = async || Ok::<_, Refused>(of_application().await?.unwrap_or_else(new));
    Ok(Some(match danger {
        Danger::DeleteUser => format!("Delete the user {}", name().await?),
        Danger::EraseUser => format!("Erase who the user {} was", name().await?),
        Danger::GiveRole => match body.get("console_role") {
            None => return Ok(None),
            Some(Value::Null) => format!("Take the role in the console from {}", name().await?),
            Some(role) => format!("Give {} the role {} in the console", name().await?, role.as_str().unwrap_or("?")),
        },
        Danger::EnrolAdministrator => match of_user().await? {
            Some(user) if user.console_role.is_some() => {
                format!("Let a new device approve as {}, who has a role in the console", user.name)
            }
            _ => return Ok(None),
        },
        Danger::DeleteApplication => format!("Delete the application {}", application().await?),
        Danger::GiveAdminScopes => match body.get("admin_scopes") {
            None => return Ok(None),
            Some(Value::Array(scopes)) if !scopes.is_empty() => {
                let names: Vec<&str> = scopes.iter().map(|scope| scope.as_str().unwrap_or("?")).collect();
                format!("Let the application {} administer this server: {}", application().await?, names.join(", "))
            }
            Some(_) => format!("Let the application {} administer nothing here", application().await?),
        },
        Danger::NewSecret => format!("Make a new client secret for {}", application().await?),
        Danger::RotateKey => match of_application().await? {
            Some(name) => format!("Change the certificate that signs for {name}"),
            None => "Let a new key sign ID tokens".to_owned(),
        },
        Danger::RevokeKey => match of_application().await? {
            Some(name) => format!("Withdraw a certificate of {name}"),
            None => format!("Revoke the signing key {}", key.unwrap_or("?")),
        },
        Danger::ReloadPlugins => "Exchange the plugins".to_owned(),
    }))
}

/// Asks the phones of whoever is signed in in a console whether a request may be done. `request` is its digest. `None` where
/// nothing can be asked: the session came of no device that is still theirs, or that was asked too often in the last minute.
pub async fn ask(
    host: &Arc<Host>,
    console: &Console,
    request: String,
    shown: ShownStep,
) -> std::result::Result<Option<AskedStep>, Broken> {
    let Console { signed_in, browser, context, origin } = console;
    let Some(device) = host.store.device_of_session(signed_in.session.id).await? else { return Ok(None) };
    if host.limits.device.take(&device, host.now()).is_err() {
        return Ok(None);
    }
    let step = StepRequest { user: signed_in.user.id, session: signed_in.session.id, request, shown: shown.clone() };
    let login = login::begin(host, LoginRequest::Step(Box::new(step)), *browser, context.clone(), None).await?;
    let asked = approval::ask_about_step(host, &login, device, &signed_in.user, (shown, origin.clone())).await?;
    let (Asked::Person(_), View::Waiting(login, asked)) = (asked, login::look(host, login.id, *browser).await?) else {
        return Ok(None);
    };
    Ok(Some(AskedStep { id: login.id, number: asked.number.to_string(), expires_at: asked.expires_at }))
}

/// How a step of this console stands; `None` if there is no such step there.
pub async fn state(host: &Host, console: &Console, id: LoginId) -> std::result::Result<Option<StepState>, Broken> {
    let view = login::look(host, id, console.browser).await?;
    if step_of(&view, console).is_none() {
        return Ok(None);
    }
    Ok(Some(match view {
        View::Waiting(..) => StepState::Waiting,
        View::Approved(..) => StepState::Approved,
        View::Ended(_, Ended::Denied) => StepState::Denied,
        _ => StepState::Over,
    }))
}

/// Returns when a step no longer waits.
pub async fn decided(host: &Host, console: &Console, id: LoginId) -> std::result::Result<(), Broken> {
    let view = login::look(host, id, console.browser).await?;
    match (step_of(&view, console), view.login().map(|login| login.stage)) {
        (Some(_), Some(LoginStage::Asked(approval))) => login::decided(host, approval).await,
        _ => Ok(()),
    }
}

/// Uses up the approval of a step for the request with this digest: which approval it was. `None` if it is not good for this
/// request in this console, now.
pub async fn claim(
    host: &Host,
    console: &Console,
    id: LoginId,
    request: &str,
) -> std::result::Result<Option<ApprovalId>, Broken> {
    let view = login::look(host, id, console.browser).await?;
    let fits = step_of(&view, console).is_some_and(|step| step.request == request);
    let View::Approved(login, _) = view else { return Ok(None) };
    if !fits {
        return Ok(None);
    }
    Ok(host.store.claim_step(login.id, FRESH, host.now()).await?)
}

/// The step that a login is, if it was begun in this console.
fn step_of<'a>(view: &'a View, console: &Console) -> Option<&'a StepRequest> {
    let LoginRequest::Step(step) = &view.login()?.request else { return None };
    let Console { signed_in, .. } = console;
    (step.session == signed_in.session.id && step.user == signed_in.user.id).then_some(step)
}
