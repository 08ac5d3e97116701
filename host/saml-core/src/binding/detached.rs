//! The detached signature of a redirect (SAML bindings section 3.4.4.1), over the octets of the query.

use crate::binding::kind::RELAY_STATE;
use crate::binding::parameters::MessageParameters;
use crate::binding::{BindingError, MessageKind};
use crate::xml::{AlgorithmError, SignatureAlgorithm, TrustedKey};

pub(super) const ALGORITHM: &str = "SigAlg";
pub(super) const SIGNATURE: &str = "Signature";

/// The signature of a query.
#[derive(Clone, Debug)]
pub(super) struct Detached {
    /// The signed octets.
    octets: Vec<u8>,
    /// An unsupported algorithm is an error only if the signature is checked.
    algorithm: Result<SignatureAlgorithm, AlgorithmError>,
    value: Vec<u8>,
}

impl Detached {
    /// Returns the signature of a query, if the query has one. It covers the message, the relay state (if present) and
    /// the algorithm, in this order. Their order in the query has no effect (SAML bindings section 3.4.4.1).
    pub(super) fn from_query(
        parameters: &MessageParameters<'_>,
        kind: MessageKind,
    ) -> Result<Option<Self>, BindingError> {
        let (algorithm, value) =
            match (parameters.decode(ALGORITHM)?, parameters.base64(SIGNATURE)?) {
                (None, None) => return Ok(None),
                (Some(algorithm), Some(value)) => (algorithm, value),
                (Some(_), None) => return Err(BindingError::HalfSigned(SIGNATURE)),
                (None, Some(_)) => return Err(BindingError::HalfSigned(ALGORITHM)),
            };
        let covered = [kind.parameter(), RELAY_STATE, ALGORITHM];
        let parts = covered
            .into_iter()
            .filter_map(|name| Some([name.as_bytes(), parameters.raw(name)?].join(&b'=')));
        let octets = parts.collect::<Vec<_>>().join(&b'&');
        let algorithm = SignatureAlgorithm::from_uri(&String::from_utf8_lossy(&algorithm));
        Ok(Some(Self {
            octets,
            algorithm,
            value,
        }))
    }

    /// Whether one of these keys signed the query.
    ///
    /// # Errors
    /// [`AlgorithmError`] if the algorithm is not accepted.
    pub(super) fn is_of(&self, keys: &[TrustedKey]) -> Result<bool, AlgorithmError> {
        let algorithm = self.algorithm?;
        Ok(keys
            .iter()
            .any(|key| key.verifies(algorithm, &self.octets, &self.value)))
    }
}
