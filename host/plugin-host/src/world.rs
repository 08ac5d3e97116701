//! The contracts, by role.

/// A contract that the server supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// `assent:claims`, world `claim-mapper`.
    ClaimMapper,
    /// `assent:approval`, world `approval-channel`.
    ApprovalChannel,
    /// `assent:approval`, world `delegated-approval-channel`.
    DelegatedChannel,
}

impl World {
    pub(crate) const ALL: [Self; 3] = [
        Self::ClaimMapper,
        Self::ApprovalChannel,
        Self::DelegatedChannel,
    ];

    /// Returns the name of the role, with its article.
    pub const fn role(self) -> &'static str {
        match self {
            Self::ClaimMapper => "a claim mapper",
            Self::ApprovalChannel => "an approval channel",
            Self::DelegatedChannel => "a delegated approval channel",
        }
    }

    /// Returns the package of the contract.
    pub const fn package(self) -> &'static str {
        match self {
            Self::ClaimMapper => "assent:claims",
            Self::ApprovalChannel | Self::DelegatedChannel => "assent:approval",
        }
    }

    /// Returns the interface that a component of this world exports, without its version.
    pub(crate) const fn export(self) -> &'static str {
        match self {
            Self::ClaimMapper => "assent:claims/mapper",
            Self::ApprovalChannel => "assent:approval/channel",
            Self::DelegatedChannel => "assent:approval/delegated-channel",
        }
    }
}
