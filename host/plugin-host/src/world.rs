//! The contracts, by role.

/// A contract that the server supports.
///
/// The texts are the interfaces that a component of the world exports, without their version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
pub enum World {
    /// `assent:claims`, world `claim-mapper`.
    #[strum(serialize = "assent:claims/mapper")]
    ClaimMapper,
    /// `assent:approval`, world `approval-channel`.
    #[strum(serialize = "assent:approval/channel")]
    ApprovalChannel,
    /// `assent:approval`, world `delegated-approval-channel`.
    #[strum(serialize = "assent:approval/delegated-channel")]
    DelegatedChannel,
}
assent_model::enum_texts!(World);

impl World {
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
}
