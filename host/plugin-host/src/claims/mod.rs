//! Claim mappers: the chain of plugins that decides which claims about a user an application receives.

mod attribute;
mod chain;
mod mapper;
mod types;
pub(super) mod v1;

pub use attribute::{SamlAttribute, ValueType};
pub(super) use chain::{ChainPurpose, run_chain};
pub(super) use mapper::{ClaimMapper, MapperScope};
pub use types::{
    ClaimInput, MapFailure, MapFailureKind, MappedClaims, MapperRun, MapperRunEnd, Protocol,
    RequestedClaim, TracedChange,
};
pub(super) use types::{Edit, MapError};
