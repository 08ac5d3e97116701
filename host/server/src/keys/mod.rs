//! Keys. A master key outside the database wraps the root secret and the sealing keys in it. All values that must
//! remain the same are derived from the root secret. The sealing keys seal private keys, tokens and other values.

pub mod armour;
pub mod client;
pub mod client_authorities;
mod error;
mod generation;
pub mod jws_verifier;
pub mod key_set;
mod known_key;
mod master;
mod receipt;
pub mod reloaded_file;
mod ring;
pub mod saml;
mod sealing;
mod self_issued;
pub mod self_signed;
mod signing;
mod symmetric;
mod token_sealer;
pub(crate) mod vapid;
mod verification;
pub mod volume;
mod wrapped;

pub use error::KeyError;
pub use generation::{fresh_did, generate};
pub use known_key::KnownKey;
pub use master::{FileMasterKey, MasterKey, MasterKeyError, Pkcs11Key, Pkcs11MasterKey};
pub use receipt::ReceiptKey;
pub use ring::{KeyRing, PublishedKeySet, Reading};
pub use sealing::{SealingKey, SealingKeys, generation_of};
pub use self_issued::IdTokenError;
pub use signing::{IdTokenKey, SigningError, TokenType};
pub use symmetric::{RootSecret, SymmetricKey};
pub use token_sealer::{OpenedToken, TokenSealer};
pub use vapid::PushKey;
pub use wrapped::{MasterKeys, UnwrappedKeys, wrap};
