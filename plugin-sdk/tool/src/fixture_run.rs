//! The run of one fixture with a component in the server's own runtime.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use assent_model::clock::Timestamp;
use assent_model::id::Did;
use assent_plugin_host::{
    CallLimits, Callback, CallbackContent, ChannelFailureKind, ChannelRequest, ChannelState,
    ChannelUnderTest, ClaimInput, Compiler, Evidence, Fault, MapFailureKind, MapperUnderTest,
    MeasuredOutcome, Notice, Question, RequestedClaim, SamlAttribute, ScriptedError,
    ScriptedMethod, ScriptedRequest, ScriptedResponse, Sink, StartedRequest, TracedChange, Usage,
    ValueType, Workbench, World,
};
use assent_plugin_sdk::claims;
use assent_plugin_sdk::fixtures::{
    self, Bytes, CallbackJson, ChannelCall, ChannelFixture, ChannelOutcome, EvidenceJson, Fixture,
    MapperFixture, MapperOutcome, Named, OpeningJson, Script,
};
use assent_plugin_sdk::http::{HttpError, Method, Request};

/// A fixture, by role.
pub enum Case {
    /// A fixture of a claim mapper.
    Mapper(Named<MapperFixture>),
    /// A fixture of an approval channel.
    Channel(Named<ChannelFixture>),
}

/// Reads the fixtures for a component of this world.
///
/// # Errors
/// If a file cannot be read or is not a fixture, or there is none.
pub fn read(path: &Path, world: World) -> Result<Vec<Case>> {
    Ok(match world {
        World::ClaimMapper => fixtures::read(path)?
            .into_iter()
            .map(Case::Mapper)
            .collect(),
        World::ApprovalChannel | World::DelegatedChannel => fixtures::read(path)?
            .into_iter()
            .map(Case::Channel)
            .collect(),
    })
}

impl Case {
    /// Returns the file of the fixture.
    pub fn file(&self) -> &Path {
        match self {
            Self::Mapper(named) => &named.file,
            Self::Channel(named) => &named.file,
        }
    }

    /// Returns the purpose of the fixture.
    pub fn about(&self) -> &str {
        match self {
            Self::Mapper(named) => named.fixture.about(),
            Self::Channel(named) => named.fixture.about(),
        }
    }

    /// Returns whether the fixture calls the plugin. It does not if it expects that the plugin rejects the settings.
    pub fn calls(&self) -> bool {
        match self {
            Self::Mapper(named) => !matches!(named.fixture.expect, MapperOutcome::Invalid(_)),
            Self::Channel(named) => !matches!(named.fixture.expect, ChannelOutcome::Invalid(_)),
        }
    }

    fn report(&self, differences: &[String]) -> String {
        match self {
            Self::Mapper(named) => fixtures::report(named, differences),
            Self::Channel(named) => fixtures::report(named, differences),
        }
    }

    /// Runs the fixture. Returns its failure as text, or `None` if it passes.
    ///
    /// # Errors
    /// If the component cannot be run.
    pub async fn failure(&self, bench: &Workbench) -> Result<Option<String>> {
        let differences = self.run(bench).await?;
        Ok((!differences.is_empty()).then(|| self.report(&differences)))
    }

    /// Runs the fixture. Returns its differences, one per line.
    async fn run(&self, bench: &Workbench) -> Result<Vec<String>> {
        match self {
            Self::Mapper(named) => mapper(bench, &named.fixture).await,
            Self::Channel(named) => channel(bench, &named.fixture).await,
        }
    }
}

/// A prepared fixture, so that only the call itself remains.
pub enum Ready {
    /// For a claim mapper.
    Mapper(Box<(MapperUnderTest, ClaimInput)>),
    /// For an approval channel.
    Channel(Box<ReadyChannel>),
}

/// A channel with the fixture's call. Each call starts the script again.
pub struct ReadyChannel {
    channel: ChannelUnderTest,
    call: ChannelCall,
    world: World,
    script: Arc<Mutex<Script>>,
    beginning: Script,
}

impl Ready {
    /// Prepares a fixture that calls the plugin.
    ///
    /// # Errors
    /// If the fixture does not fit the component.
    pub fn new(case: &Case, bench: &Workbench) -> Result<Self> {
        match case {
            Case::Mapper(Named { fixture, .. }) => Ok(Self::Mapper(Box::new((
                bench.mapper(&fixture.config)?,
                input(&fixture.input)?,
            )))),
            Case::Channel(Named { fixture, .. }) => {
                let beginning = Script::new(&fixture.http);
                let script = Arc::new(Mutex::new(beginning.clone()));
                let channel = scripted_channel(bench, fixture, Arc::clone(&script))?;
                let call = fixture.call.clone().context("the fixture has no call")?;
                let world = bench.inspection().world;
                Ok(Self::Channel(Box::new(ReadyChannel {
                    channel,
                    call,
                    world,
                    script,
                    beginning,
                })))
            }
        }
    }

    /// Calls the plugin once.
    ///
    /// # Errors
    /// If the component cannot be run.
    pub async fn call(&self) -> Result<Usage> {
        match self {
            Self::Mapper(ready) => Ok(ready.0.map(ready.1.clone()).await.usage),
            Self::Channel(ready) => {
                *ready.script.lock().unwrap_or_else(PoisonError::into_inner) =
                    ready.beginning.clone();
                Ok(ask(&ready.channel, &ready.call, ready.world).await?.usage)
            }
        }
    }
}

/// Opens a component with the default limits. It is compiled in this process, because the user of this tool built it.
///
/// # Errors
/// If the component does not compile, or exceeds a limit.
pub async fn open(component: &Path) -> Result<Workbench> {
    let limits = CallLimits {
        concurrency: 1,
        ..CallLimits::default()
    };
    Ok(Workbench::open(component, limits, &Compiler::InProcess).await?)
}

async fn mapper(bench: &Workbench, fixture: &MapperFixture) -> Result<Vec<String>> {
    let outcome = match bench.validate(&fixture.config).await {
        Err(fault) => MapperOutcome::Fault(fault.to_string()),
        Ok(errors) if !errors.is_empty() => MapperOutcome::Invalid(errors),
        Ok(_) => mapper_outcome(
            bench
                .mapper(&fixture.config)?
                .map(input(&fixture.input)?)
                .await
                .outcome,
        ),
    };
    Ok(fixture.differences(&outcome))
}

fn mapper_outcome(outcome: Result<Vec<TracedChange>, MapFailureKind>) -> MapperOutcome {
    match outcome {
        Ok(changes) => MapperOutcome::Edits(changes.into_iter().map(edit).collect()),
        Err(MapFailureKind::Deny(reason)) => MapperOutcome::Deny(reason),
        Err(MapFailureKind::Fault(Fault::Reported(reason))) => MapperOutcome::Fault(reason),
        Err(MapFailureKind::Fault(fault)) => MapperOutcome::Fault(fault.to_string()),
    }
}

fn edit(change: TracedChange) -> claims::Edit {
    match change {
        TracedChange::Claim {
            name,
            after: Some(value),
            ..
        } => claims::Edit::Set(name, value),
        TracedChange::Claim {
            name, after: None, ..
        } => claims::Edit::Remove(name),
        TracedChange::Attribute(SamlAttribute {
            name,
            name_format,
            friendly_name,
            value_type,
            values,
        }) => {
            let value_type = match value_type {
                ValueType::String => claims::ValueType::String,
                ValueType::Boolean => claims::ValueType::Boolean,
                ValueType::Integer => claims::ValueType::Integer,
                ValueType::DateTime => claims::ValueType::DateTime,
                ValueType::AnyUri => claims::ValueType::AnyUri,
                ValueType::Base64Binary => claims::ValueType::Base64Binary,
            };
            claims::Edit::Attribute(claims::SamlAttribute {
                name,
                name_format,
                friendly_name,
                value_type,
                values,
            })
        }
    }
}

/// Converts the input to the server's type.
///
/// # Errors
/// If a value cannot be converted.
pub fn input(input: &claims::Input) -> Result<ClaimInput> {
    let requested = input.requested.iter().map(|claim| RequestedClaim {
        name: claim.name.clone(),
        essential: claim.essential,
        values: claim.values.clone(),
    });
    Ok(ClaimInput {
        protocol: match input.protocol {
            claims::Protocol::Oidc => assent_plugin_host::Protocol::Oidc,
            claims::Protocol::Saml => assent_plugin_host::Protocol::Saml,
        },
        sink: match input.sink {
            claims::Sink::IdToken => Sink::IdToken,
            claims::Sink::Userinfo => Sink::Userinfo,
            claims::Sink::Introspection => Sink::Introspection,
            claims::Sink::SamlAssertion => Sink::SamlAssertion,
        },
        now: timestamp(input.now)?,
        // The server selects plugins by this id. The plugins receive only `application`.
        application_id: Did::from_ed25519(&[1; 32]),
        application: input.application.clone(),
        account: input.account.clone(),
        user: input.user.clone(),
        roles: input.roles.clone(),
        scopes: input.scopes.clone(),
        requested: requested.collect(),
        acr: input.acr.clone(),
        amr: input.amr.clone(),
        claims: input.current.clone(),
    })
}

fn timestamp(seconds: u64) -> Result<Timestamp> {
    Ok(Timestamp::from_seconds(
        i64::try_from(seconds).context("`now` is too far away")?,
    ))
}

async fn channel(bench: &Workbench, fixture: &ChannelFixture) -> Result<Vec<String>> {
    let script = Arc::new(Mutex::new(Script::new(&fixture.http)));
    let outcome = match (bench.validate(&fixture.config).await, &fixture.call) {
        (Err(fault), _) => Some(ChannelOutcome::Fault(fault.to_string())),
        (Ok(errors), _) if !errors.is_empty() => Some(ChannelOutcome::Invalid(errors)),
        (Ok(_), None) => None,
        (Ok(_), Some(call)) => {
            let channel = scripted_channel(bench, fixture, Arc::clone(&script))?;
            let asked = ask(&channel, call, bench.inspection().world).await?;
            Some(asked.outcome.unwrap_or_else(failure))
        }
    };
    let mut differences = fixture.differences(&outcome);
    differences.extend(
        script
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
            .differences(),
    );
    Ok(differences)
}

/// The result of a channel's call.
type ChannelResult = Result<ChannelOutcome, ChannelFailureKind>;

fn scripted_channel(
    bench: &Workbench,
    fixture: &ChannelFixture,
    script: Arc<Mutex<Script>>,
) -> Result<ChannelUnderTest> {
    let answer = move |request| answer(&script, request);
    Ok(bench.channel(&fixture.config, timestamp(fixture.now)?, Box::new(answer))?)
}

async fn ask(
    channel: &ChannelUnderTest,
    call: &ChannelCall,
    world: World,
) -> Result<MeasuredOutcome<ChannelResult>> {
    Ok(match call {
        ChannelCall::Begin(opening) => channel
            .begin(begin(opening, world)?)
            .await
            .map(begun_outcome),
        ChannelCall::Poll(handle) => channel.poll(handle.0.clone()).await.map(state),
        ChannelCall::Callback(CallbackJson { headers, body }) => {
            let callback = Callback {
                headers: headers.clone().into_iter().collect(),
                body: body.0.clone(),
            };
            channel.on_callback(callback).await.map(callback_content)
        }
        ChannelCall::Cancel(handle) => channel
            .cancel(handle.0.clone())
            .await
            .map(|()| ChannelOutcome::Cancelled),
    })
}

fn answer(
    script: &Mutex<Script>,
    request: ScriptedRequest,
) -> Result<ScriptedResponse, ScriptedError> {
    let request = Request {
        method: match request.method {
            ScriptedMethod::Get => Method::Get,
            ScriptedMethod::Post => Method::Post,
            ScriptedMethod::Put => Method::Put,
            ScriptedMethod::Delete => Method::Delete,
        },
        url: request.url,
        headers: request.headers,
        body: request.body,
    };
    match script
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .answer(&request)
    {
        Ok(answer) => Ok(ScriptedResponse {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        }),
        Err(HttpError::Refused(why)) => Err(ScriptedError::Refused(why)),
        Err(HttpError::Invalid(why)) => Err(ScriptedError::Invalid(why)),
        Err(HttpError::Unreachable(why)) => Err(ScriptedError::Unreachable(why)),
        Err(HttpError::TimedOut) => Err(ScriptedError::TimedOut),
        Err(HttpError::TooLarge) => Err(ScriptedError::TooLarge),
    }
}

fn begin(opening: &OpeningJson, world: World) -> Result<ChannelRequest> {
    let OpeningJson {
        request_id,
        address,
        callback_url,
        sealed,
        collapse_key,
        ..
    } = opening.clone();
    let expires_at = timestamp(opening.expires_at)?;
    if world == World::DelegatedChannel {
        let OpeningJson {
            application,
            account,
            place,
            browser,
            binding,
            ..
        } = opening.clone();
        let question = Question {
            request_id,
            expires_at,
            address,
            application,
            account,
            place,
            browser,
            binding,
            callback_url,
        };
        return Ok(ChannelRequest::Question(question));
    }
    Ok(ChannelRequest::Notice(Notice {
        request_id,
        expires_at,
        address,
        sealed: sealed.0,
        collapse_key,
        callback_url,
    }))
}

fn begun_outcome(begun: StartedRequest) -> ChannelOutcome {
    ChannelOutcome::Begun {
        handle: Bytes(begun.handle),
        poll_after_ms: begun
            .poll_after
            .and_then(|after| u32::try_from(after.as_millis()).ok()),
    }
}

fn state(state: ChannelState) -> ChannelOutcome {
    match state {
        ChannelState::Pending(after) => {
            ChannelOutcome::Pending(u32::try_from(after.as_millis()).unwrap_or(u32::MAX))
        }
        ChannelState::Evidence(evidence) => ChannelOutcome::Proof(evidence_json(evidence)),
        ChannelState::Approved => ChannelOutcome::Approved,
        ChannelState::Denied => ChannelOutcome::Denied,
        ChannelState::Expired => ChannelOutcome::Expired,
    }
}

fn callback_content(content: CallbackContent) -> ChannelOutcome {
    match content {
        CallbackContent::Evidence(evidence) => {
            ChannelOutcome::Evidence(evidence.into_iter().map(evidence_json).collect())
        }
        CallbackContent::Requests(requests) => ChannelOutcome::Requests(requests),
    }
}

fn evidence_json(evidence: Evidence) -> EvidenceJson {
    EvidenceJson {
        request_id: evidence.request_id,
        proof: Bytes(evidence.proof),
    }
}

fn failure(failure: ChannelFailureKind) -> ChannelOutcome {
    match failure {
        ChannelFailureKind::Gone => ChannelOutcome::Gone,
        ChannelFailureKind::RetryAfter(after) => {
            ChannelOutcome::RetryAfter(u32::try_from(after.as_secs()).unwrap_or(u32::MAX))
        }
        ChannelFailureKind::Rejected(why) => ChannelOutcome::Rejected(why),
        other => ChannelOutcome::Fault(other.to_string()),
    }
}
