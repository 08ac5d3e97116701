//! Token families, and the stored data of tokens. Tokens themselves are sealed texts without rows. The database has a
//! row for each family, and a row for each access token that was revoked separately.

mod epochs;
mod family;
mod issuance;
mod issuance_requests;
mod presented;
mod retries;
mod revocation;
mod state;
mod state_rows;

pub(crate) use epochs::begin_epoch;
pub use family::TokenFamily;
pub(crate) use family::{
    FAMILY_BY_ID, FamilyRow, PRESENTED_CODE, PresentedCode, PresentedCodeRow, bind_code,
    check_inserted, code_columns, insert_all, revoke,
};
pub use issuance_requests::{NewAccess, Redemption, Rotation, RotationRequest};
pub use presented::{PresentedKey, PresentedState};
pub use state::{ClientTokenState, FamilyState};
pub(crate) use state_rows::{
    CLIENT_STATE, ClientStateRow, FAMILY_STATE, FamilyStateRow, HolderVersion, StateKey,
};
