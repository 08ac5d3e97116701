//! The versions of contracts that the server supports.

use crate::contract::ContractVersion;
use crate::world::World;
use crate::{approval, claims};

/// The supported versions.
#[derive(Clone)]
pub(crate) struct Contracts(Vec<ContractVersion>);

impl Contracts {
    pub(crate) fn released() -> Self {
        Self(vec![
            claims::v1::VERSION,
            approval::channel_v1::VERSION,
            approval::delegated_v1::VERSION,
        ])
    }

    /// Returns these versions and another one.
    #[cfg(test)]
    pub(crate) fn with(mut self, version: ContractVersion) -> Self {
        self.0.push(version);
        self
    }

    /// Returns this version of a role's contract.
    pub(crate) fn find(&self, world: World, version: &str) -> Option<&ContractVersion> {
        self.0
            .iter()
            .find(|served| served.world == world && served.version == version)
    }

    /// Returns the supported versions of a role's contract as text.
    pub(crate) fn versions_of(&self, world: World) -> String {
        let versions: Vec<_> = self
            .0
            .iter()
            .filter(|served| served.world == world)
            .map(|served| served.version)
            .collect();
        versions.join(" and ")
    }
}
