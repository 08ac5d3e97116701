//! Receipts: the signed evidence of an answer to an approval request. `docs/reference/receipts.md` is the
//! specification.
//!
//! A receipt is a JWS in the compact form (RFC 7515 section 7.1). Its payload is JSON in the canonical form of RFC
//! 8785. So the members of each struct here are in the order of their names.

pub mod content;
pub mod passkey_key;
pub mod passkey_proof;
pub mod signed_statement;
pub mod verification;

#[cfg(test)]
mod tests;
