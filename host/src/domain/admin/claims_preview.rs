//! What an application would be told about a person, without a sign-in.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Refused, Result, account, invalid, registered};
use crate::domain::claims::{self, Made, Subject};
use crate::domain::{Host, traces};
use crate::id::{AccountId, Did};
use crate::model::application::Registered;
use crate::model::scope::Scopes;
use crate::model::session::{Amr, Authentication};
use crate::plugins::{MapFailure, MapFailureKind, SamlAttribute, Sink, Step};

/// What is to be previewed.
#[derive(Clone, Debug)]
pub struct PreviewRequest {
    /// Whose claims.
    pub account: AccountId,
    /// The scopes, one space between them; of those that the application may use. All of these where it is missing.
    pub scope: Option<String>,
    /// Where the claims would go; the ID token or the assertion where it is missing.
    pub sink: Option<Sink>,
}

/// What the application would be told.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Where the claims would go.
    pub sink: Sink,
    /// The scopes that count.
    pub scopes: Scopes,
    /// What it would be told, or the plugin that keeps it from being told anything.
    pub told: std::result::Result<Told, Stopped>,
    /// What each plugin did, as [`traces::explain`] has it.
    pub steps: Value,
}

/// What an application would be told.
#[derive(Clone, Debug)]
pub enum Told {
    /// Claims, as the host and the plugins make them; without those of the token itself, such as `exp`.
    Claims(Map<String, Value>),
    /// Attributes.
    Attributes(Vec<SamlAttribute>),
}

/// Who keeps an application from being told.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The plugin.
    pub plugin: String,
    /// Whether it decided that the person does not get in, rather than failed.
    pub denied: bool,
    /// Why.
    pub reason: String,
}

/// Makes the claims as a sign-in at this moment would, by the same code; nothing is kept, and no plugin can tell.
pub async fn preview(host: &Host, application: &Did, request: &PreviewRequest) -> Result<Preview> {
    let account = account(host, request.account).await?;
    if account.application_id != *application {
        return Err(Refused::NotFound("account"));
    }
    let user = super::user(host, account.user_id).await?;
    let authentication = Authentication { at: host.now(), amr: vec![Amr::Swk, Amr::User], channel: None };
    match registered(host, application).await? {
        Registered::Client(client) => {
            let sink = request.sink.unwrap_or(Sink::IdToken);
            if sink == Sink::SamlAssertion {
                return Err(invalid("sink", "expected id-token, userinfo or introspection for this application"));
            }
            let allowed = &client.settings.scopes;
            let scopes = match &request.scope {
                Some(text) => Scopes::parse(text)
                    .ok_or_else(|| invalid("scope", "expected known scopes with a space between them"))?
                    .both(allowed),
                None => allowed.clone(),
            };
            let subject = Subject {
                application: &client,
                user: &user,
                account: &account,
                scopes: &scopes,
                authentication: (sink != Sink::Userinfo).then_some(&authentication),
                sub: &claims::subject_of(host, &client, &user)?,
                requested: &BTreeMap::new(),
            };
            let made = claims::map(host, subject, sink).await;
            Ok(finish(sink, scopes.clone(), made.map(|Made { claims, steps }| (Told::Claims(claims), steps))))
        }
        Registered::ServiceProvider(provider) => {
            let sink = request.sink.unwrap_or(Sink::SamlAssertion);
            if sink != Sink::SamlAssertion {
                return Err(invalid("sink", "expected saml-assertion for this application"));
            }
            let made = claims::attributes(host, &provider, &user, &account, &authentication).await;
            let told = made.map(|(attributes, steps)| (Told::Attributes(attributes), steps));
            Ok(finish(sink, Scopes::default(), told))
        }
    }
}

fn finish(sink: Sink, scopes: Scopes, made: std::result::Result<(Told, Vec<Step>), MapFailure>) -> Preview {
    match made {
        Ok((told, steps)) => Preview { sink, scopes, told: Ok(told), steps: traces::explain(&steps) },
        Err(MapFailure { plugin, kind, steps }) => {
            let (denied, reason) = match kind {
                MapFailureKind::Deny(reason) => (true, reason),
                MapFailureKind::Fault(fault) => (false, fault.to_string()),
            };
            let told = Err(Stopped { plugin, denied, reason });
            Preview { sink, scopes, told, steps: traces::explain(&steps) }
        }
    }
}

/// What a preview tells, as an administrator reads it.
pub fn show(told: &Told) -> (&'static str, Value) {
    match told {
        Told::Claims(claims) => ("claims", Value::Object(claims.clone())),
        Told::Attributes(attributes) => {
            ("attributes", json!(attributes.iter().map(traces::explain_attribute).collect::<Vec<_>>()))
        }
    }
}
