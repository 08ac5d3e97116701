//! Initial access tokens, with which applications register themselves (RFC 7591 section 3).

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use super::applications::require_known_scopes;
use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::execution::Execution;
use super::{AdminError, Result, invalid};
use crate::domain::Services;
use crate::domain::audit::moment_text;
use crate::domain::protected_actions::{NewRegistrationToken, ProtectedAction};
use assent_model::audit::Event;
use assent_model::client_registration::{RegistrationLimits, RegistrationToken};
use assent_model::clock::Timestamp;
use assent_model::id::RegistrationTokenId;
use assent_model::name::display_text;
use assent_model::scope::{Scope, Scopes};
use assent_model::secret::Token;
use assent_model::token::prefix;
use assent_store::AdminWrite;

/// The largest quota of a token.
const LARGEST_QUOTA: u32 = 10_000;
/// The longest time until the end of a token.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
/// The largest number of hosts of a token.
const MOST_HOSTS: usize = 50;

/// Returns up to `limit` initial access tokens with ids after `after`.
pub async fn registration_tokens(
    services: &Services,
    after: Option<RegistrationTokenId>,
    limit: u32,
) -> Result<Vec<RegistrationToken>> {
    Ok(services.store.registration_tokens(after, limit).await?)
}

/// Returns the scopes with these names.
///
/// # Errors
/// [`AdminError::Invalid`] with the first unknown name.
pub fn registration_scopes(names: &[String]) -> Result<Scopes> {
    require_known_scopes("scopes", names.iter().map(String::as_str))?;
    Ok(Scopes::parse_known(&names.join(" ")))
}

assent_model::admin_command! {
    /// Creates an initial access token. Only this response contains it.
    #[derive(Clone, Debug, Serialize)]
    pub struct CreateRegistrationToken {
        /// The name that administrators see.
        protected name: String,
        /// The time after which the token is not valid any more.
        protected expires_at: Timestamp,
        /// The number of applications that it may register in total.
        protected quota: u32,
        /// The number of applications that it may register on one day (UTC).
        protected daily_quota: u32,
        /// The limits of the applications.
        protected limits: RegistrationLimits,
    }
}

impl AdminCommand for CreateRegistrationToken {
    type Plan = Self;
    type Outcome = (RegistrationToken, Token);

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self>> {
        let authorization = context.caller.authorize_application_writes()?;
        let checked = self.checked(context.services.now())?;
        let action = ProtectedAction::CreateRegistrationToken(NewRegistrationToken {
            name: checked.name.clone(),
            expires_at: checked.expires_at,
            quota: checked.quota,
            daily_quota: checked.daily_quota,
            limits: checked.limits.clone(),
        });
        Ok(Planned::protected(authorization, checked, action))
    }

    async fn execute(
        approved: ApprovedPlan<'_, Self>,
    ) -> Result<Execution<(RegistrationToken, Token)>> {
        let (plan, recorder) = approved.into_parts();
        let services = recorder.services;
        let now = services.now();
        let id = RegistrationTokenId::new(now, &*services.entropy);
        let token = Token::for_people(prefix::INITIAL_ACCESS, id.as_bytes(), &*services.entropy);
        let stored = RegistrationToken {
            id,
            digest: token.digest(),
            name: plan.name,
            created_by: recorder.by.actor.id(),
            created_at: now,
            expires_at: plan.expires_at,
            quota: plan.quota,
            daily_quota: plan.daily_quota,
            used: 0,
            used_on_day: 0,
            day: 0,
            limits: plan.limits,
        };
        let entry = recorder
            .entry(Event::RegistrationTokenCreated)
            .with("registration_token", id.to_string())
            .with("name", stored.name.as_str())
            .with("expires_at", moment_text(stored.expires_at))
            .with("quota", stored.quota)
            .with("daily_quota", stored.daily_quota)
            .with(
                "limits",
                serde_json::to_value(&stored.limits).unwrap_or_default(),
            );
        let write = AdminWrite::InsertRegistrationToken(stored.clone());
        let written = recorder.write(vec![(write, vec![entry])]).await?;
        Ok(written.map(|()| {
            tracing::info!(token = %id, "initial access token created");
            (stored, token)
        }))
    }
}

impl CreateRegistrationToken {
    /// Returns the command in its stored form.
    fn checked(&self, now: Timestamp) -> Result<Self> {
        let name = display_text(&self.name, 120)
            .ok_or_else(|| invalid("name", "use 1 to 120 characters without control characters"))?;
        if self.expires_at <= now || self.expires_at > now + LONGEST {
            return Err(invalid(
                "expires_at",
                "expected a time in the future, within a year",
            ));
        }
        if !(1..=LARGEST_QUOTA).contains(&self.quota) {
            let expected = format!("expected 1 to {LARGEST_QUOTA}");
            return Err(invalid("quota", expected));
        }
        if !(1..=self.quota).contains(&self.daily_quota) {
            return Err(invalid("daily_quota", "expected 1 to the value of quota"));
        }
        if !self.limits.scopes.has(Scope::OpenId) {
            return Err(invalid("scopes", "expected openid among them"));
        }
        if self.limits.application_types.is_empty() {
            return Err(invalid("application_types", "expected one at least"));
        }
        Ok(Self {
            name,
            limits: RegistrationLimits {
                redirect_hosts: hosts(&self.limits.redirect_hosts)?,
                ..self.limits.clone()
            },
            ..self.clone()
        })
    }
}

/// Returns host names in the form that URLs have.
fn hosts(texts: &BTreeSet<String>) -> Result<BTreeSet<String>> {
    const FIELD: &str = "redirect_hosts";
    if texts.len() > MOST_HOSTS {
        return Err(invalid(FIELD, format!("expected {MOST_HOSTS} at most")));
    }
    let host = |text: &String| {
        url::Host::parse(text)
            .map(|host| host.to_string())
            .map_err(|_| invalid(FIELD, "expected host names such as app.example.org"))
    };
    texts.iter().map(host).collect()
}

assent_model::admin_command! {
    /// Deletes an initial access token, which is invalid at once. The applications that registered with it stay.
    #[derive(Clone, Debug, Serialize)]
    pub struct DeleteRegistrationToken(target RegistrationTokenId);
}

impl AdminCommand for DeleteRegistrationToken {
    type Plan = RegistrationToken;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<RegistrationToken>> {
        let authorization = context.caller.authorize_application_writes()?;
        let known = context.services.store.registration_token(self.0).await?;
        let known = known.ok_or(AdminError::NotFound("initial access token"))?;
        Ok(Planned::harmless(authorization, known))
    }

    async fn execute(approved: ApprovedPlan<'_, RegistrationToken>) -> Result<Execution<()>> {
        let (known, recorder) = approved.into_parts();
        let entry = recorder
            .entry(Event::RegistrationTokenDeleted)
            .with("registration_token", known.id.to_string())
            .with("name", known.name.as_str());
        let write = AdminWrite::DeleteRegistrationToken(known.id);
        let written = recorder.write(vec![(write, vec![entry])]).await?;
        Ok(written.map(|()| {
            tracing::info!(token = %known.id, "initial access token deleted");
        }))
    }
}
