//! Dangerous steps in the console: each needs a fresh approval on the phone of whoever takes it, for that very request.

mod application_words;
mod shown;
mod words;

use std::sync::Arc;
use std::time::Duration;

pub use application_words::{Foreseen, application_in_words, metadata_in_words};
pub use words::{component_in_words, in_words, table_in_words};

use crate::clock::Timestamp;
use crate::domain::login::{self, Ended, View};
use crate::domain::session::SignedIn;
use crate::domain::{Broken, Host, approval};
use crate::id::{ApprovalId, LoginId};
use crate::model::administration::Danger;
use crate::model::audit::Origin;
use crate::model::login::{BrowserContext, LoginRequest, LoginStage};
use crate::model::step::{ShownStep, StepRequest, Words};
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

/// Asks the phones of whoever is signed in in a console whether a request may be done. `request` is its digest. `None` where
/// nothing can be asked: the session came of no device that is still theirs, or that was asked too often in the last minute.
pub async fn ask(
    host: &Arc<Host>,
    console: &Console,
    request: String,
    (danger, words): (Danger, Words),
) -> std::result::Result<Option<AskedStep>, Broken> {
    let Console { signed_in, browser, context, origin } = console;
    let Some(device) = host.store.device_of_session(signed_in.session.id).await? else { return Ok(None) };
    if host.limits.device.take(&device, host.now()).is_err() {
        return Ok(None);
    }
    let shown = ShownStep { danger, words: words.text };
    let step = StepRequest { user: signed_in.user.id, session: signed_in.session.id, request, shown: shown.clone() };
    let login = login::begin(host, LoginRequest::Step(Box::new(step)), *browser, context.clone(), None, None).await?;
    let asked =
        approval::ask_about_step(host, &login, device, &signed_in.user, (shown, words.mentions, origin.clone()))
            .await?;
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

/// Gives a step up that was asked about in this session, so that the phone does not ask any longer. Tells whether there is one.
pub async fn give_up(host: &Host, console: &Console, id: LoginId) -> std::result::Result<bool, Broken> {
    let view = login::look(host, id, console.browser).await?;
    let (Some(_), Some(asked)) = (step_of(&view, console), view.login()) else { return Ok(false) };
    login::cancel(host, asked).await?;
    Ok(true)
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
/// request in this console, now; or if the request would do something else by now than these words, which the person approved.
pub async fn claim(
    host: &Host,
    console: &Console,
    id: LoginId,
    (request, words): (&str, &str),
) -> std::result::Result<Option<ApprovalId>, Broken> {
    let view = login::look(host, id, console.browser).await?;
    let fits = step_of(&view, console).is_some_and(|step| step.request == request && step.shown.words == words);
    let View::Approved(login, _) = view else { return Ok(None) };
    if !fits {
        return Ok(None);
    }
    Ok(host.store.claim_step(login.id, FRESH, host.now()).await?)
}

/// Whether a component that is not loaded may be tried in this console as the plugin with this name: it was approved there.
pub async fn may_try(
    host: &Host,
    console: &Console,
    (plugin, component): (&str, &Digest),
) -> std::result::Result<bool, Broken> {
    Ok(host.store.is_component_approved(console.signed_in.session.id, plugin, component).await?)
}

/// Notes that the person approved a component for the plugin with this name, so that it may be tried until the console's session
/// ends. An approval for one plugin is none for another, because the component runs with the grants of the plugin.
pub async fn let_try(
    host: &Host,
    console: &Console,
    (plugin, component): (&str, &Digest),
) -> std::result::Result<(), Broken> {
    Ok(host.store.approve_component(console.signed_in.session.id, plugin, component, host.now()).await?)
}

/// The step that a login is, if it was begun in this console.
fn step_of<'a>(view: &'a View, console: &Console) -> Option<&'a StepRequest> {
    let LoginRequest::Step(step) = &view.login()?.request else { return None };
    let Console { signed_in, .. } = console;
    (step.session == signed_in.session.id && step.user == signed_in.user.id).then_some(step)
}
