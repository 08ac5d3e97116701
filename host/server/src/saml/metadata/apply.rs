//! The update of a service provider from its metadata.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::import::{MetadataSource, describe};
use crate::domain::admin::{
    self, AdminCommand, AdminContext, AdminError, ApprovedPlan, Execution, Planned,
    ServiceProviderDocument, ServiceProviderUpdate,
};
use crate::domain::protected_actions::{ProtectedAction, ServiceProviderState};
use crate::domain::{InternalError, Services};
use assent_model::id::Did;
use assent_model::resource::Document;
use assent_model::saml::ServiceProvider;
use assent_model::secret::Digest;

assent_model::admin_command! {
    /// An update of a registered service provider from its metadata.
    #[derive(Debug, Deserialize, Serialize, utoipa::ToSchema)]
    #[serde(deny_unknown_fields)]
    #[schema(as = MetadataRefresh)]
    pub struct MetadataRefresh {
        /// The document.
        #[serde(default)]
        protected metadata: Option<String>,
        /// The URL of the metadata.
        #[serde(default)]
        protected metadata_url: Option<String>,
        /// The certificate whose key must have signed the metadata, in PEM form.
        #[serde(default)]
        protected metadata_certificate: Option<String>,
        /// Whether to apply the changes.
        #[serde(default)]
        protected apply: bool,
        /// The digest of the changes in an earlier response: the server applies no others.
        #[serde(default)]
        protected digest: Option<String>,
    }
}

assent_model::admin_command! {
    /// Compares a service provider with its metadata and, if the request says so, updates it.
    #[derive(Debug, Serialize)]
    pub struct ApplyMetadata {
        /// The service provider.
        target application: Did,
        /// The metadata, and whether to apply them.
        classified refresh: MetadataRefresh,
    }
}

/// A member of a service provider that its metadata changes, with the member's name in the admin API.
#[derive(Clone, Debug, Serialize)]
pub struct MemberDifference {
    /// The name of the member.
    pub field: String,
    /// The current value.
    pub from: Value,
    /// The new value.
    pub to: Value,
}

/// A service provider, and the changes by its metadata.
#[derive(Clone, Debug)]
pub struct MetadataComparison {
    /// The current service provider, or the updated one after an update.
    pub provider: ServiceProvider,
    /// The members that differ.
    pub changes: Vec<MemberDifference>,
    /// The digest of the changes.
    pub digest: String,
    /// The omitted parts of the import, with reasons.
    pub notes: Vec<String>,
}

/// The plan: the comparison, and the update if it is applied and changes the service provider.
#[derive(Debug)]
pub struct MetadataPlan {
    comparison: MetadataComparison,
    after: ServiceProvider,
    applies: bool,
}

impl AdminCommand for ApplyMetadata {
    type Plan = MetadataPlan;
    type Outcome = MetadataComparison;

    async fn plan(&self, context: &AdminContext) -> admin::Result<Planned<MetadataPlan>> {
        let authorization = context.caller.authorize_application_writes()?;
        let MetadataRefresh {
            metadata,
            metadata_url,
            metadata_certificate,
            apply,
            digest,
        } = &self.refresh;
        // The metadata may change after the approval, so the approval is for the displayed changes.
        if *apply && context.console().is_some() && digest.is_none() {
            return Err(AdminError::Invalid {
                field: "digest",
                expected: "expected the digest of the changes in the earlier response".to_owned(),
            });
        }
        let source = MetadataSource {
            metadata: metadata.clone(),
            metadata_url: metadata_url.clone(),
            metadata_certificate: metadata_certificate.clone(),
        };
        let services = &context.services;
        let (comparison, after) =
            compare_metadata(services, &self.application, &source, digest.as_deref()).await?;
        let applies = *apply && !comparison.changes.is_empty();
        let action = applies.then(|| ProtectedAction::ApplyMetadata {
            application: self.application.clone(),
            before: ServiceProviderState::from_provider(&comparison.provider),
            after: ServiceProviderState::from_provider(&after),
            members: comparison
                .changes
                .iter()
                .map(|changed| changed.field.clone())
                .collect(),
        });
        let plan = MetadataPlan {
            comparison,
            after,
            applies,
        };
        Ok(Planned::new(authorization, plan, action))
    }

    async fn execute(
        approved: ApprovedPlan<'_, MetadataPlan>,
    ) -> admin::Result<Execution<MetadataComparison>> {
        let (update, (comparison, applies)) = approved.split(|plan| {
            let MetadataPlan {
                comparison,
                after,
                applies,
            } = plan;
            let before = comparison.provider.clone();
            (
                ServiceProviderUpdate { before, after },
                (comparison, applies),
            )
        });
        if !applies {
            return Ok(Execution::Done(comparison));
        }
        let replaced = admin::replace_service_provider(update).await?;
        // The comparison includes changes that were made in between.
        Ok(replaced.map(|provider| MetadataComparison {
            provider,
            ..comparison
        }))
    }
}

/// Compares a service provider with its metadata. If the request names the digest of the displayed changes, other
/// changes are rejected. Also returns the updated service provider.
async fn compare_metadata(
    services: &Services,
    id: &Did,
    source: &MetadataSource,
    shown: Option<&str>,
) -> admin::Result<(MetadataComparison, ServiceProvider)> {
    let provider = admin::service_provider(services, id).await?;
    let settings = &provider.settings;
    let described = describe(services, source, Some(&settings.entity_id), Some(settings)).await?;
    let after = admin::changed_service_provider(services, provider.clone(), described.change)?;
    let changes = differences(&provider, &after);
    let digest = Digest::sha256(&serde_json::to_vec(&changes).map_err(unwritable)?).to_base64url();
    if shown.is_some_and(|shown| shown != digest) {
        return Err(AdminError::Conflict(
            "digest: the metadata or the application has changed since the changes were shown; look again",
        ));
    }
    let comparison = MetadataComparison {
        provider,
        changes,
        digest,
        notes: described.notes,
    };
    Ok((comparison, after))
}

/// Returns the members in which two states of a service provider differ.
fn differences(before: &ServiceProvider, after: &ServiceProvider) -> Vec<MemberDifference> {
    let mut after = ServiceProviderDocument::new(after).settable();
    let before = ServiceProviderDocument::new(before).settable();
    let pairs = before.into_iter().map(|(field, from)| {
        let to = after.remove(&field).unwrap_or_default();
        MemberDifference { field, from, to }
    });
    pairs.filter(|changed| changed.from != changed.to).collect()
}

fn unwritable(why: impl std::fmt::Display) -> AdminError {
    InternalError::Saml(format!("an application cannot be compared: {why}")).into()
}
