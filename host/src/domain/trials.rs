//! Trials: an administrator signs in to an application in its place, by a real login, and sees each step and what the
//! application would be told. Nobody else may complete it, and nothing that it gives is of use to anybody.

mod approval;

use approval::of_login;
pub use approval::{Attempt, asked};

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::account::Obstacle;
use super::admin::Refused;
use super::admin::steps::Console;
use super::session::SignedIn;
use super::signals::Signal;
use super::{Broken, Host, account, audit};
use crate::clock::Timestamp;
use crate::id::{CodeId, LoginId, TrialId, UserId};
use crate::model::application::{GrantType, Registered};
use crate::model::audit::{Actor, By, Event};
use crate::model::login::{Login, Refusal};
use crate::model::trial::{OpenTrial, StepNote, Trial, TrialOutcome, TrialStage, TrialStep, Visitor};
use crate::secret::Digest;
use crate::store::{KeptStep, TrialEnd};

/// How long a trial is good, and what is known of it is kept.
pub const LIFE: Duration = Duration::from_secs(15 * 60);
/// Where the answers go: a path of this host.
const PATH: &str = "/admin/trials/";

/// What is said where the reason is over by the time that somebody asks for it.
const CLOSED: &str = "you were not let in at that moment, and would be now: try again";

/// What the host derives for a trial, so that it needs to keep nothing secret.
#[derive(Clone, Copy, Debug)]
pub enum Derived {
    /// The `state`, or the relay state.
    State,
    /// The `nonce`.
    Nonce,
    /// The PKCE verifier.
    Verifier,
    /// The ID of the AuthnRequest.
    Message,
}

/// A value of a trial that nobody guesses who does not hold the master key.
pub fn derived(host: &Host, id: TrialId, what: Derived) -> Result<String, Broken> {
    let name = match what {
        Derived::State => "state",
        Derived::Nonce => "nonce",
        Derived::Verifier => "verifier",
        Derived::Message => "message",
    };
    let code = host.master_key.authenticate("trial", format!("{name}\n{id}").as_bytes())?;
    Ok(match what {
        // An `xs:ID` begins with a letter or an underscore.
        Derived::Message => format!("_{}", hex::encode(code)),
        _ => URL_SAFE_NO_PAD.encode(code),
    })
}

/// What comes back with an answer of a trial, and shows that this host made it for that trial, letter by letter.
pub fn vouched(host: &Host, id: TrialId, answer: &str) -> Result<String, Broken> {
    let message = format!("answer\n{id}\n{}", Digest::of(answer.as_bytes()).to_text());
    let code = host.master_key.authenticate("trial", message.as_bytes())?;
    Ok(URL_SAFE_NO_PAD.encode(code))
}

/// Where the answer of a trial goes.
pub fn address(host: &Host, id: TrialId) -> String {
    format!("{}{PATH}{id}", host.settings.base_url.as_str().trim_end_matches('/'))
}

/// The trial whose address it is.
pub fn at(host: &Host, address: &str) -> Option<TrialId> {
    let base = host.settings.base_url.as_str().trim_end_matches('/');
    address.strip_prefix(base)?.strip_prefix(PATH)?.parse().ok()
}

/// A trial of this application by whoever is signed in in a console, before its request is made. It is not kept yet.
///
/// # Errors
/// [`Refused::Conflict`] where it could not work.
pub async fn prepare(host: &Host, console: &Console, application: &Registered) -> Result<Trial, Refused> {
    let (id, has_codes) = match application {
        Registered::Client(client) => (&client.id, client.settings.grant_types.contains(&GrantType::AuthorizationCode)),
        Registered::ServiceProvider(provider) => (&provider.id, true),
    };
    if !has_codes {
        return Err(Refused::Conflict("nobody signs in to this application: it may not use authorization_code"));
    }
    let user = &console.signed_in.user;
    match account::kept_out(host, user, id).await? {
        None => {}
        Some(Obstacle::NoAccount) => {
            return Err(Refused::Conflict(
                "you sign in yourself, and you have no account in this application; make one for you first",
            ));
        }
        Some(obstacle) => return Err(Refused::Conflict(obstacle.words())),
    }
    let now = host.now();
    Ok(Trial {
        id: TrialId::new(now, &*host.entropy),
        application: id.clone(),
        user: user.id,
        session: console.signed_in.session.id,
        browser: console.browser,
        login: None,
        created_at: now,
        expires_at: now + LIFE,
        stage: TrialStage::Open,
    })
}

/// Keeps a trial whose request was made, and ends the one before of that session.
pub async fn begin(host: &Host, trial: &Trial, request: StepNote, by: &By) -> Result<(), Broken> {
    for before in host.store.open_trials(trial.session).await? {
        fail(host, &before, "replaced", "another trial was begun in this session of the console").await?;
    }
    let entry = audit::entry(host, Event::TrialBegun, by).about(trial.user).of(trial.application.clone());
    let entry = entry.with("trial", trial.id.to_string());
    host.store.insert_trial(trial.clone(), kept(host, TrialStep::Request, &request)?, entry).await?;
    Ok(())
}

/// The trial with this id as an open one, if it is of this browser and session.
pub async fn open(
    host: &Host,
    id: TrialId,
    browser: Digest,
    signed_in: &SignedIn,
) -> Result<Option<OpenTrial>, Broken> {
    let visitor = Visitor { browser, session: signed_in.session.id, user: signed_in.user.id };
    let trial = host.store.trial(id).await?;
    Ok(trial.and_then(|trial| OpenTrial::of(trial, visitor, address(host, id), host.now())))
}

/// Notes that a login began for a trial, which alone may answer it from then on. Whether the trial is open still.
pub async fn login_began(host: &Host, login: &Login) -> Result<bool, Broken> {
    let Some(id) = login.request.trial() else { return Ok(true) };
    let is_open = host.store.give_trial_login(id, login.id, login.browser, host.now()).await?;
    if is_open {
        note(host, id, TrialStep::Checked, StepNote::good("the request is accepted, as for any application")).await?;
    }
    Ok(is_open)
}

/// Why a login of a trial is not answered for this person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// Another login took its place, or the trial is over.
    Over,
    /// Somebody else began the trial.
    SomebodyElse,
}

/// Whether a login may answer its trial for this person: `None` if so.
pub async fn hindrance(host: &Host, id: TrialId, login: LoginId, user: UserId) -> Result<Option<Hindrance>, Broken> {
    let Some(trial) = host.store.trial(id).await? else { return Ok(Some(Hindrance::Over)) };
    if trial.stage != TrialStage::Open || trial.login != Some(login) || host.now() >= trial.expires_at {
        return Ok(Some(Hindrance::Over));
    }
    if trial.user == user {
        return Ok(None);
    }
    let detail = "somebody else approved than who began the trial; nothing of theirs is shown";
    note(host, id, TrialStep::Approved, StepNote::bad(detail)).await?;
    fail(host, &trial, "somebody_else", detail).await?;
    Ok(Some(Hindrance::SomebodyElse))
}

/// Notes what became of a step.
pub async fn note(host: &Host, id: TrialId, name: TrialStep, note: StepNote) -> Result<(), Broken> {
    host.store.note_trial(id, kept(host, name, &note)?).await?;
    host.signals.send(Signal::Tried(id));
    Ok(())
}

fn kept(host: &Host, name: TrialStep, note: &StepNote) -> Result<KeptStep, Broken> {
    Ok(KeptStep { name, at: host.now(), sealed: sealed(host, &json!(note))? })
}

fn sealed(host: &Host, value: &Value) -> Result<String, Broken> {
    Ok(host.master_key.seal("trial", value.to_string().as_bytes(), &*host.entropy)?)
}

fn unsealed(host: &Host, sealed: &str) -> Result<Value, Broken> {
    Ok(serde_json::from_slice(&host.master_key.open("trial", sealed)?).unwrap_or_default())
}

/// Notes why a person was turned away who had approved, which ends the trial.
pub async fn refused(host: &Host, id: TrialId, why: &Refusal) -> Result<(), Broken> {
    let (step, detail) = match why {
        Refusal::ApplicationGone => (TrialStep::Account, "the application was removed meanwhile".to_owned()),
        Refusal::AddressGone => (TrialStep::Account, "the application takes no answer at this address".to_owned()),
        Refusal::NoAccount(_) => (TrialStep::Account, Obstacle::NoAccount.words().to_owned()),
        Refusal::AccountClosed(_) | Refusal::PersonClosed => {
            (TrialStep::Account, kept_out(host, id).await?.map_or(CLOSED, Obstacle::words).to_owned())
        }
        Refusal::Plugin(reason) => (TrialStep::Claims, format!("a plugin turns you away: {reason}")),
        Refusal::OthersTrial => return Ok(()),
    };
    let Some(trial) = host.store.trial(id).await? else { return Ok(()) };
    if step == TrialStep::Account {
        note(host, id, step, StepNote::bad(detail.clone())).await?;
    }
    fail(host, &trial, "refused", &detail).await
}

/// What keeps whoever began a trial out of its application by now.
async fn kept_out(host: &Host, id: TrialId) -> Result<Option<Obstacle>, Broken> {
    let Some(trial) = host.store.trial(id).await? else { return Ok(None) };
    let Some(user) = host.store.user(trial.user).await? else { return Ok(None) };
    account::kept_out(host, &user, &trial.application).await
}

/// Ends a trial with an error.
pub async fn fail(host: &Host, trial: &Trial, error: &str, description: &str) -> Result<(), Broken> {
    let result = json!({ "error": error, "error_description": description });
    end(host, trial, TrialOutcome::Failed, result, None).await
}

/// Ends a trial: the result is kept until the trial is over, and what it gave is over at once.
pub async fn end(
    host: &Host,
    trial: &Trial,
    outcome: TrialOutcome,
    result: Value,
    family: Option<CodeId>,
) -> Result<(), Broken> {
    let by = By { actor: Actor::Person(trial.user), ..By::HOST };
    let entry = audit::entry(host, Event::TrialEnded, &by).about(trial.user).of(trial.application.clone());
    let entry = entry.with("trial", trial.id.to_string()).with("outcome", outcome.as_str());
    let end = TrialEnd { outcome, result: sealed(host, &result)?, family, entry };
    host.store.end_trial(trial.id, end, host.now()).await?;
    host.signals.send(Signal::Tried(trial.id));
    Ok(())
}

/// A step, when it was, and what is known of it.
pub type Noted = (TrialStep, Timestamp, StepNote);

/// What was noted, in the order of the steps.
fn opened(host: &Host, kept: Vec<KeptStep>) -> Result<Vec<Noted>, Broken> {
    let mut steps = Vec::new();
    for KeptStep { name, at, sealed } in kept {
        let note: Option<StepNote> = serde_json::from_value(unsealed(host, &sealed)?).ok();
        steps.extend(note.map(|note| (name, at, note)));
    }
    Ok(steps)
}

/// What the last step says that went wrong, if one did: to be told where the sign-in ends.
pub async fn cause(host: &Host, id: TrialId) -> Result<Option<String>, Broken> {
    let (kept, _) = host.store.trial_steps(id).await?;
    let failed = opened(host, kept)?.into_iter().rfind(|(_, _, note)| !note.good);
    Ok(failed.map(|(_, _, note)| note.detail))
}

/// A trial as its administrator sees it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The trial.
    pub trial: Trial,
    /// How it stands.
    pub state: TrialState,
    /// What it went through.
    pub steps: Vec<Noted>,
    /// What the application would have been told.
    pub result: Option<Value>,
}

/// How a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialState {
    /// It goes on.
    Waiting,
    /// The application would have signed the person in.
    Done,
    /// It would not.
    Failed,
    /// Its time is over.
    Over,
}

/// A trial of this console; `None` if there is none.
pub async fn show(host: &Host, console: &Console, id: TrialId) -> Result<Option<Shown>, Broken> {
    let signed_in = &console.signed_in;
    let visitor = Visitor { browser: console.browser, session: signed_in.session.id, user: signed_in.user.id };
    let Some(trial) = host.store.trial(id).await?.filter(|trial| trial.is_of(visitor)) else { return Ok(None) };
    let state = match trial.stage {
        _ if host.now() >= trial.expires_at => TrialState::Over,
        TrialStage::Finished(TrialOutcome::Done) => TrialState::Done,
        TrialStage::Finished(TrialOutcome::Failed) => TrialState::Failed,
        TrialStage::Open | TrialStage::Taken => TrialState::Waiting,
    };
    if state == TrialState::Over {
        return Ok(Some(Shown { trial, state, steps: Vec::new(), result: None }));
    }
    let (kept, result) = host.store.trial_steps(id).await?;
    let mut steps = opened(host, kept)?;
    // What the login's own rows tell is newer than what was noted.
    for step in of_login(host, &trial).await? {
        steps.retain(|(known, ..)| *known != step.0);
        steps.push(step);
    }
    steps.sort_by_key(|(name, ..)| *name);
    let result = result.map(|sealed| unsealed(host, &sealed)).transpose()?;
    Ok(Some(Shown { trial, state, steps, result }))
}

/// Returns when there is something new to show of a trial that goes on.
pub async fn changed(host: &Arc<Host>, console: &Console, id: TrialId) -> Result<(), Broken> {
    let mut listener = host.signals.listen();
    let look = async || -> Result<_, Broken> {
        let shown = show(host, console, id).await?;
        let named = |shown: &Shown| shown.steps.iter().map(|(name, _, note)| (*name, note.good)).collect();
        Ok(shown.map(|shown| (shown.state, named(&shown))))
    };
    let first: Option<(TrialState, Vec<_>)> = look().await?;
    if !matches!(first, Some((TrialState::Waiting, _))) {
        return Ok(());
    }
    loop {
        listener.next(Signal::Tried(id)).await;
        if look().await? != first {
            return Ok(());
        }
    }
}
