//! The admission of built plugins to a set.

use std::sync::Arc;

use super::approval::ApprovalChannel;
use super::call::Runner;
use super::claims::{ClaimMapper, MapperScope};
use super::contract::LinkedComponent;
use super::description::{Description, PluginIdentity};
use super::fault::LoadError;
use super::loaded::{LoadedPlugins, PluginGrant};
use super::protected::Grants;
use super::share::Share;
use super::spec::{HttpGrant, OnFailure, Role};

/// A built plugin that the set has not admitted yet.
pub(super) struct BuiltPlugin {
    pub(super) identity: Arc<PluginIdentity>,
    pub(super) role: Role,
    pub(super) linked: LinkedComponent,
    pub(super) runner: Runner,
    pub(super) description: Description,
    pub(super) config: String,
}

impl BuiltPlugin {
    /// Adds the plugin to a set. Fails if the operator grants more than the plugin requests. The error is the end of a
    /// sentence about the plugin.
    pub(super) fn admit(self, loaded: &mut LoadedPlugins) -> Result<(), String> {
        let Self {
            identity,
            role,
            linked,
            runner,
            description,
            config,
        } = self;
        let granted = PluginGrant::for_role(&role);
        let name = identity.plugin.clone();
        match (role, linked) {
            (
                Role::ClaimMapper {
                    applications,
                    writes,
                    on_failure,
                    result_max_age,
                },
                LinkedComponent::Mapper(component),
            ) => {
                if description.denies && on_failure == OnFailure::Omit {
                    let what = "`on_failure` is `omit`, but the component may deny sign-ins: after a fault, a denied \
                                user could sign in; set `on_failure` to `fail`";
                    return Err(what.to_owned());
                }
                let grants = Grants::new(description.writes, writes)?;
                let scope = MapperScope {
                    applications,
                    sinks: description.sinks,
                };
                loaded.mappers.push(Arc::new(ClaimMapper {
                    lookups: Share::quarter_of(runner.limits()),
                    identity,
                    runner,
                    component,
                    scope,
                    grants,
                    denies: description.denies,
                    on_failure,
                    result_max_age,
                    config,
                }));
            }
            (
                Role::ApprovalChannel {
                    applications,
                    trust,
                    shows_letters,
                    http,
                },
                LinkedComponent::Channel(component) | LinkedComponent::Delegated(component),
            ) => {
                asked_for(&description, &http)?;
                loaded.channels.push(ApprovalChannel {
                    identity,
                    runner,
                    component,
                    trust,
                    shows_letters,
                    applications,
                    config,
                });
            }
            // The loader already compared the world with the role.
            (_, _) => return Err("the component has another role".to_owned()),
        }
        loaded.granted.insert(name, granted);
        Ok(())
    }
}

/// Checks that the operator grants nothing that the component does not request.
fn asked_for(described: &Description, granted: &HttpGrant) -> Result<(), String> {
    let asks = |host: &String| {
        described
            .hosts
            .iter()
            .any(|requested| requested == "*" || requested == host)
    };
    if let Some(host) = granted.hosts.iter().find(|host| !asks(host)) {
        let known = if described.hosts.is_empty() {
            "none".to_owned()
        } else {
            described.hosts.join(", ")
        };
        return Err(format!(
            "`http_hosts` grants `{host}`, which the component does not request (it requests: {known})"
        ));
    }
    if granted.follow_redirects && !described.follow_redirects {
        return Err(
            "`follow_redirects` is granted, which the component does not request".to_owned(),
        );
    }
    Ok(())
}

pub(super) fn check_name(loaded: &LoadedPlugins, name: &str) -> Result<(), LoadError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err(LoadError::in_plugin(
            name,
            "the name may have lower-case letters, digits and `-`, at most 64",
        ));
    }
    let mut mappers = loaded.mappers.iter().map(|mapper| mapper.name());
    let mut channels = loaded.channels.iter().map(ApprovalChannel::name);
    if mappers.any(|taken| taken == name) || channels.any(|taken| taken == name) {
        return Err(LoadError::in_plugin(name, "two plugins have this name"));
    }
    Ok(())
}

/// Checks that each claim of an application has one owner, so that no order of plugins decides its value.
pub(super) fn check_owners(mappers: &[Arc<ClaimMapper>]) -> Result<(), LoadError> {
    let mut rest = mappers;
    while let Some((mapper, others)) = rest.split_first() {
        for other in others {
            if let Some(claim) = mapper.contended_claim(other) {
                let what = format!(
                    "`writes` grants the claim `{claim}`, which plugin `{}` writes too",
                    mapper.name()
                );
                return Err(LoadError::in_plugin(other.name(), what));
            }
        }
        rest = others;
    }
    Ok(())
}
