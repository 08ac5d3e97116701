//! Proofs of possession (DPoP, RFC 9449): a request contains a JWT by a key of the client, about this request.

pub mod nonce;
pub mod proof;
