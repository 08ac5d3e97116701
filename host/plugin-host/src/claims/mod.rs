//! Claim mappers: the chain of plugins that decides what an application is told about a person.

mod attribute;
mod chain;
mod mapper;
mod types;
pub(super) mod v1;

pub use attribute::{SamlAttribute, ValueType};
pub(super) use chain::run_chain;
pub(super) use mapper::{ClaimMapper, Parts, Scope};
pub use types::{
    ClaimInput, MapFailure, MapFailureKind, Mapped, Protocol, RequestedClaim, Step, StepEnd, Traced,
};
pub(super) use types::{Edit, Refusal};
