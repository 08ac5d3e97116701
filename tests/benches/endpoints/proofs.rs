//! Proofs of possession (DPoP, RFC 9449). They are signed before a measurement, so that the client has no more work
//! during it than without them.

use std::cell::RefCell;
use std::rc::Rc;

use assent_model::clock::{Clock, SystemClock};
use assent_tests::harness::ProofKey;
use assent_tests::harness::proof_key::digest;
use serde_json::json;

use super::load::{Caller, Refreshing, Response};

/// A client that signs proofs.
pub struct Prover {
    key: ProofKey,
    /// The base URL of the server.
    base: String,
}

impl Prover {
    /// Creates a client with a new key.
    pub fn new(base: &str) -> Self {
        Self {
            key: ProofKey::generate(),
            base: base.to_owned(),
        }
    }

    /// Returns the header line with a new proof of a request. The server accepts it once, in the next 30 seconds.
    pub fn header(&self, method: &str, path: &str, access_token: Option<&str>) -> String {
        let mut id = [0; 16];
        openssl::rand::rand_bytes(&mut id).expect("random bytes");
        let mut claims = json!({
            "jti": hex::encode(id),
            "htm": method,
            "htu": format!("{}{path}", self.base),
            "iat": SystemClock.now().seconds(),
        });
        if let Some(token) = access_token {
            claims["ath"] = digest(token).into();
        }
        let claims = claims.as_object().expect("an object").clone();
        let header = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.public()});
        format!("DPoP: {}\r\n", self.key.proof_with(&header, claims))
    }
}

/// Refreshes with a proof in each request, until no proof is left.
pub struct ProvenRefreshing {
    pub refreshing: Refreshing,
    /// The header lines with proofs, for all connections.
    pub proofs: Rc<RefCell<Vec<String>>>,
}

impl Caller for ProvenRefreshing {
    fn next(&mut self) -> Option<Rc<str>> {
        let proof = self.proofs.borrow_mut().pop()?;
        Some(self.refreshing.request(&proof))
    }

    fn answered(&mut self, response: Response<'_>) -> bool {
        self.refreshing.answered(response)
    }
}
