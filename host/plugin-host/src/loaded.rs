//! A set of plugins, with the operator's grants.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use crate::approval::{ApprovalChannel, ChannelFailure, ChannelFailureKind};
use crate::claims::ClaimMapper;
use crate::spec::{PluginSpec, Role};
use assent_model::id::Did;

/// A set of plugins.
#[derive(Default)]
pub(crate) struct LoadedPlugins {
    pub(crate) mappers: Vec<Arc<ClaimMapper>>,
    pub(crate) channels: Vec<ApprovalChannel>,
    /// The grants, by the plugins' names.
    pub(crate) granted: HashMap<String, PluginGrant>,
    /// The operator's settings of the plugins, in their order.
    pub(crate) specs: Vec<PluginSpec>,
}

impl LoadedPlugins {
    pub(crate) fn channel(&self, name: &str) -> Result<&ApprovalChannel, ChannelFailure> {
        let found = self.channels.iter().find(|channel| channel.name() == name);
        found.ok_or_else(|| ChannelFailure {
            channel: name.to_owned(),
            kind: ChannelFailureKind::Unknown,
        })
    }
}

/// The permissions that the operator grants a plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PluginGrants))]
pub struct PluginGrant {
    /// The applications that it serves; `null` for all.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub applications: Option<Vec<Did>>,
    /// The claims that it may write.
    pub writes: Vec<String>,
    /// The hosts that it may call.
    pub hosts: Vec<String>,
}

impl PluginGrant {
    pub(crate) fn for_role(role: &Role) -> Self {
        match role {
            Role::ClaimMapper {
                applications,
                writes,
                ..
            } => Self {
                applications: applications.clone(),
                writes: writes.clone(),
                hosts: Vec::new(),
            },
            Role::ApprovalChannel {
                applications, http, ..
            } => Self {
                applications: applications.clone(),
                writes: Vec::new(),
                hosts: http.hosts.clone(),
            },
        }
    }
}
