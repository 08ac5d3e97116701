//! Token families and what is stored of tokens. Tokens themselves are sealed texts without rows. The database holds a
//! row for each family, and a row for each access token that was revoked one by one.

mod epochs;
mod family;
mod issuance;
mod retries;
mod revocation;
mod state;

pub(crate) use epochs::epoch_number;
pub use family::TokenFamily;
pub(crate) use family::{CODE_BY_ID, CodeRow, FAMILY_BY_ID, FamilyRow, insert, revoke};
pub(crate) use issuance::TokenIssuance;
pub use issuance::{NewAccess, Redemption, Rotation, RotationRequest};
pub(crate) use state::{CLIENT_STATE, ClientStateRow, FAMILY_STATE, FamilyStateRow, HolderVersion};
pub use state::{ClientTokenState, FamilyState};
