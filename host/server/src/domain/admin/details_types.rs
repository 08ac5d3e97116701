//! Types of authorization details (RFC 9396), as administrators register them.

use std::time::Duration;

use serde::Serialize;

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::execution::Execution;
use super::{AdminError, Result, invalid};
use crate::domain::Services;
use crate::domain::protected_actions::{ProtectedAction, RegisteredType};
use assent_model::audit::Event;
use assent_model::authorization_details::name::TypeName;
use assent_model::authorization_details::type_definition::{DetailsType, TypeError, TypeSource};
use assent_store::{AdminWrite, MOST_DETAILS_TYPES, RegisteredDetailsType};

/// Returns up to `limit` types with names after `after`.
pub async fn all_details_types(
    services: &Services,
    after: Option<TypeName>,
    limit: u32,
) -> Result<Vec<RegisteredDetailsType>> {
    let found = services.store.all_details_types(after.as_ref(), limit);
    Ok(found.await?)
}

/// Returns a type.
///
/// # Errors
/// [`AdminError::NotFound`] if there is none with this name.
pub async fn details_type(services: &Services, name: &TypeName) -> Result<RegisteredDetailsType> {
    let found = services.store.details_type(name).await?;
    found.ok_or(AdminError::NotFound(KIND))
}

const KIND: &str = "type of authorization details";

assent_model::admin_command! {
    /// Registers a type, or replaces the one with its name. Pending requests keep the text that they have.
    #[derive(Clone, Debug, Serialize)]
    pub struct RegisterDetailsType {
        /// The type.
        protected source: TypeSource,
    }
}

/// A checked type with the one that it replaces.
#[derive(Debug)]
pub struct PlannedType {
    definition: DetailsType,
    before: Option<RegisteredDetailsType>,
}

impl AdminCommand for RegisterDetailsType {
    type Plan = PlannedType;
    type Outcome = RegisteredDetailsType;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<PlannedType>> {
        let authorization = context.caller.authorize_application_writes()?;
        let checked = DetailsType::new(self.source.clone()).map_err(|error| {
            let member = match &error {
                TypeError::Schema(_) => "schema",
                TypeError::NoTemplate(_)
                | TypeError::Template { .. }
                | TypeError::NotShown { .. }
                | TypeError::Unknown { .. }
                | TypeError::TooLong { .. } => "templates",
            };
            invalid(member, error.to_string())
        })?;
        let store = &context.services.store;
        let before = store.details_type(checked.name()).await?;
        if before.is_none() && store.details_type_names().await?.len() >= MOST_DETAILS_TYPES {
            let expected = format!("expected {MOST_DETAILS_TYPES} types at most; delete one first");
            return Err(invalid("type", expected));
        }
        let action = ProtectedAction::RegisterDetailsType(RegisteredType {
            definition: checked.clone().into(),
            replaces: before.is_some(),
        });
        let plan = PlannedType {
            definition: checked,
            before,
        };
        Ok(Planned::protected(authorization, plan, action))
    }

    async fn execute(
        approved: ApprovedPlan<'_, PlannedType>,
    ) -> Result<Execution<RegisteredDetailsType>> {
        let (PlannedType { definition, before }, recorder) = approved.into_parts();
        let services = recorder.services;
        let name = definition.name().clone();
        let now = services.now();
        let templates = definition.templates().iter();
        let templates: serde_json::Map<String, serde_json::Value> = templates
            .map(|(language, template)| (language.tag().to_owned(), template.as_str().into()))
            .collect();
        let mut entry = recorder
            .entry(Event::DetailsTypeRegistered)
            .with("details_type", name.as_str())
            .with("templates", templates);
        if let Some(group) = definition.second_approver_group() {
            entry = entry.with("second_approver_group", group.to_string());
        }
        let stored = RegisteredDetailsType {
            definition,
            created_at: before.as_ref().map_or(now, |before| before.created_at),
            // Two versions never have the same time.
            updated_at: before.as_ref().map_or(now, |before| {
                now.max(before.updated_at + Duration::from_millis(1))
            }),
        };
        let write = AdminWrite::PutDetailsType {
            after: Box::new(stored.clone()),
            before: before.map(|before| before.updated_at),
        };
        let written = recorder.write(vec![(write, vec![entry])]).await?;
        reload(services).await;
        Ok(written.map(|()| {
            tracing::info!(details_type = %name, "type of authorization details registered");
            stored
        }))
    }
}

/// Reads the names again after a change. The change is done, so a failure is only logged: the names are read again
/// every few seconds.
async fn reload(services: &Services) {
    if let Err(error) = services.details_types.reload(&services.store).await {
        tracing::warn!(%error, "types of authorization details not read");
    }
}

assent_model::admin_command! {
    /// Deletes a type. New requests with it are rejected. Tokens keep what users granted.
    #[derive(Clone, Debug, Serialize)]
    pub struct DeleteDetailsType(target TypeName);
}

impl AdminCommand for DeleteDetailsType {
    type Plan = TypeName;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<TypeName>> {
        let authorization = context.caller.authorize_application_writes()?;
        details_type(&context.services, &self.0).await?;
        Ok(Planned::harmless(authorization, self.0.clone()))
    }

    async fn execute(approved: ApprovedPlan<'_, TypeName>) -> Result<Execution<()>> {
        let (name, recorder) = approved.into_parts();
        let entry = recorder
            .entry(Event::DetailsTypeDeleted)
            .with("details_type", name.as_str());
        let write = AdminWrite::DeleteDetailsType(name.clone());
        let written = recorder.write(vec![(write, vec![entry])]).await?;
        reload(recorder.services).await;
        Ok(written.map(|()| {
            tracing::info!(details_type = %name, "type of authorization details deleted");
        }))
    }
}
