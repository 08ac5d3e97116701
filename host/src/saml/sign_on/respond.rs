//! Answering a request for sign-on, once the person is known.

use std::sync::Arc;

use serde_json::json;

use super::failure::Failure;
use super::meant;
use super::response::{self, Assertion, Envelope};
use crate::domain::account::{Access, Obstacle, access};
use crate::domain::login::{self, Outcome, Person};
use crate::domain::session::SignedIn;
use crate::domain::traces::{self, Purpose};
use crate::domain::trials::{self, Hindrance};
use crate::domain::{Broken, Host, claims, name_id};
use crate::id::LoginId;
use crate::model::login::Refusal;
use crate::model::redirect::CheckedRedirect;
use crate::model::saml::{NameId, Participation, ServiceProvider, SignOnRequest};
use crate::model::trial::{StepNote, TrialStep};
use crate::plugins::{MapFailure, MapFailureKind, SamlAttribute, Sink, Step};
use crate::saml::partner::{entity_id, message_id, session_index, signer};
use crate::secret::Digest;
use crate::store::Given;

/// A response on its way to the service provider: a form that the browser posts.
#[derive(Clone, Debug)]
pub struct SignOnAnswer {
    /// The ACS URL.
    pub acs: CheckedRedirect,
    /// The name of the service provider.
    pub name: String,
    /// The response, as XML.
    pub response: String,
    /// Given back as it came.
    pub relay_state: Option<String>,
}

/// A login that is to be answered for a person.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The login.
    pub login: LoginId,
    /// What was asked.
    pub request: &'a SignOnRequest,
    /// Who it is.
    pub person: &'a Person,
    /// The browser's session until now.
    pub old: Option<&'a SignedIn>,
}

/// What a request is answered.
#[derive(Debug)]
pub enum Answer {
    /// The service provider gets an assertion, and the session, if it is a new one, has begun.
    Granted(SignOnAnswer),
    /// The service provider is told of a failure. No session began.
    Failed(SignOnAnswer),
    /// The person is told why they can't go on, and may go back to the service provider from there.
    Refused(Refusal),
    /// It was answered before, or the session is over that it was to go on with.
    AnsweredBefore,
}

/// Answers the request of a login with an assertion about this person, if they are who is meant and may use the service
/// provider, and the plugins agree.
pub async fn respond(host: &Host, question: Question<'_>) -> Result<Answer, Broken> {
    let Some(trial) = question.request.trial else { return answered(host, question).await };
    let session = &question.person.signed_in.session;
    match trials::hindrance(host, trial, question.login, session.user_id).await? {
        None => {}
        Some(Hindrance::Over) => return Ok(Answer::AnsweredBefore),
        Some(Hindrance::SomebodyElse) => {
            login::give_up(host, question.login).await?;
            return Ok(Answer::Refused(Refusal::OthersTrial));
        }
    }
    let answer = answered(host, question).await?;
    match &answer {
        Answer::Refused(why) => trials::refused(host, trial, why).await?,
        Answer::Granted(_) => host.store.give_trial_session(trial, session.id).await?,
        Answer::Failed(_) | Answer::AnsweredBefore => {}
    }
    Ok(answer)
}

async fn answered(host: &Host, question: Question<'_>) -> Result<Answer, Broken> {
    let Question { login, request, person, old } = question;
    let Some(provider) = host.store.service_provider(&request.application).await? else {
        return Ok(Answer::Refused(Refusal::ApplicationGone));
    };
    if !takes(&provider, request) {
        return Ok(Answer::Refused(Refusal::AddressGone));
    }
    let SignedIn { session, user } = &person.signed_in;
    let account = match access(host, user, &provider.id).await? {
        Access::Granted(account) => account,
        Access::NoAccount => return Ok(Answer::Refused(Refusal::NoAccount(provider.name.clone()))),
        Access::Closed => return Ok(Answer::Refused(Refusal::AccountClosed(provider.name.clone()))),
    };
    note(host, request, TrialStep::Account, || StepNote::good("you have an account here, which is open")).await?;
    if !meant::is_meant(host, &provider, request, user, &account)? {
        return fail(host, login, request, &provider, Failure::OtherSubject).await;
    }
    if !super::meets(request, &session.authentication) {
        return fail(host, login, request, &provider, Failure::NoAuthnContext).await;
    }
    let Some(name_id) = name_id::of(host, &provider, user, &account, &session.sid, request.name_id_format)? else {
        tracing::error!(%login, application = %provider.id, user = %user.id, "the sign-on fails: the person has no e-mail address to be named by");
        note(host, request, TrialStep::NameId, || StepNote::bad(Obstacle::NoName.words())).await?;
        return fail(host, login, request, &provider, Failure::Broken).await;
    };
    note(host, request, TrialStep::NameId, || of_name(&name_id)).await?;
    let made = claims::attributes(host, &provider, user, &account, &session.authentication).await;
    note(host, request, TrialStep::Claims, || of_attributes(&made)).await?;
    let (attributes, steps) = match made {
        Ok(made) => made,
        Err(failure) => {
            tracing::error!(%login, application = %provider.id, plugin = failure.plugin, %failure, "the login fails: a plugin did");
            return match failure.kind {
                MapFailureKind::Deny(reason) => Ok(Answer::Refused(Refusal::Plugin(reason))),
                MapFailureKind::Fault(_) => fail(host, login, request, &provider, Failure::Broken).await,
            };
        }
    };
    let (id, assertion_id) = (message_id(host), message_id(host));
    let session_index = session_index(host, &provider.id, &session.sid)?;
    let issuer = entity_id(host, &provider);
    let envelope = envelope(host, &id, issuer, request);
    let assertion = Assertion {
        id: &assertion_id,
        audience: &provider.settings.entity_id,
        name_id: &name_id,
        authentication: &session.authentication,
        session_index: &session_index,
        unspecified_context: request.unspecified_context,
        lifetime: host.settings.saml.assertion(),
        attributes: &attributes,
    };
    // It is signed before the login counts as answered, so that nothing can go wrong between the two.
    let response = match response::success(envelope, &assertion, &signer(host, &provider).await?) {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%login, application = %provider.id, %error, "the sign-on fails: its assertion can't be written");
            return fail(host, login, request, &provider, Failure::Broken).await;
        }
    };
    let participation = Participation {
        sid: session.sid.clone(),
        application: provider.id.clone(),
        user_id: user.id,
        name_id: name_id.clone(),
        session_index: Digest::of(session_index.as_bytes()),
    };
    // The service provider never learns of a trial.
    let participation = request.trial.is_none().then_some(participation);
    let given = Some((Given::Assertion(session.id, participation), &account));
    if !login::answer(host, login, Outcome { person, old, given, consent: None }).await? {
        return Ok(Answer::AnsweredBefore);
    }
    let purpose = Purpose { token: &assertion_id, user: user.id, application: &provider.id, sink: Sink::SamlAssertion };
    traces::record(host, purpose, &steps);
    Ok(Answer::Granted(answer(host, &provider, request, response)?))
}

/// Notes what became of a step, for a trial alone.
async fn note(
    host: &Host,
    request: &SignOnRequest,
    step: TrialStep,
    note: impl FnOnce() -> StepNote,
) -> Result<(), Broken> {
    match request.trial {
        Some(trial) => trials::note(host, trial, step, note()).await,
        None => Ok(()),
    }
}

fn of_name(name: &NameId) -> StepNote {
    StepNote::good("what the assertion calls you").with(json!({ "format": name.format.uri(), "value": name.value }))
}

/// What the plugins did.
fn of_attributes(made: &Result<(Vec<SamlAttribute>, Vec<Step>), MapFailure>) -> StepNote {
    match made {
        Ok((_, steps)) => {
            StepNote::good("the attributes of the assertion were made").with(json!({ "steps": traces::explain(steps) }))
        }
        Err(failure) => StepNote::bad(failure.to_string()).with(json!({ "steps": traces::explain(&failure.steps) })),
    }
}

/// Whether the service provider takes responses still where this one is to go. A trial's goes to this host.
fn takes(provider: &Arc<ServiceProvider>, request: &SignOnRequest) -> bool {
    request.trial.is_some() || provider.settings.acs_by_url(request.acs.as_str()).is_some()
}

/// Ends a login with a failure for the service provider. `None` if it was answered before, or there is nobody to be told
/// any more.
pub async fn deny(
    host: &Host,
    login: LoginId,
    request: &SignOnRequest,
    why: Failure,
) -> Result<Option<SignOnAnswer>, Broken> {
    let provider = host.store.service_provider(&request.application).await?;
    let Some(provider) = provider.filter(|provider| takes(provider, request)) else {
        login::give_up(host, login).await?;
        return Ok(None);
    };
    let failed = failed(host, request, &provider, why).await?;
    Ok(login::give_up(host, login).await?.then_some(failed))
}

/// A failure as the service provider is told it, where no login has begun.
pub async fn failed(
    host: &Host,
    request: &SignOnRequest,
    provider: &ServiceProvider,
    why: Failure,
) -> Result<SignOnAnswer, Broken> {
    tracing::info!(application = %provider.id, %why, "a SAML request is answered with a failure");
    let id = message_id(host);
    let envelope = envelope(host, &id, entity_id(host, provider), request);
    let response = response::failure(envelope, &why.status(), &signer(host, provider).await?)
        .map_err(|error| Broken::Saml(error.to_string()))?;
    answer(host, provider, request, response)
}

async fn fail(
    host: &Host,
    login: LoginId,
    request: &SignOnRequest,
    provider: &ServiceProvider,
    why: Failure,
) -> Result<Answer, Broken> {
    let failed = failed(host, request, provider, why).await?;
    Ok(if login::give_up(host, login).await? { Answer::Failed(failed) } else { Answer::AnsweredBefore })
}

fn envelope<'a>(host: &Host, id: &'a str, issuer: &'a str, request: &'a SignOnRequest) -> Envelope<'a> {
    Envelope {
        id,
        issuer,
        destination: request.acs.as_str(),
        in_response_to: request.in_response_to.as_deref(),
        now: host.now(),
    }
}

fn answer(
    host: &Host,
    provider: &ServiceProvider,
    request: &SignOnRequest,
    response: String,
) -> Result<SignOnAnswer, Broken> {
    // By that the trial knows the response as this host's, letter by letter.
    let relay_state = match request.trial {
        Some(trial) => Some(trials::vouched(host, trial, &response)?),
        None => request.relay_state.clone(),
    };
    Ok(SignOnAnswer { acs: request.acs.clone(), name: provider.name.clone(), response, relay_state })
}
