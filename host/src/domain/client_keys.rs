//! The keys that applications sign with.

use serde_json::{Map, Value};

use super::Host;
use crate::id::Did;
use crate::keys::client::{self, BadJwt};
use crate::model::client_auth::ClientKeys;

/// The claims of a JWT that the application signed.
pub async fn verify(
    _host: &Host,
    _application: &Did,
    keys: &ClientKeys,
    token: &str,
) -> Result<Map<String, Value>, BadJwt> {
    match keys {
        ClientKeys::Jwks(keys) => client::verify(token, keys),
        ClientKeys::JwksUri(_) => Err(BadJwt::Signature),
    }
}
