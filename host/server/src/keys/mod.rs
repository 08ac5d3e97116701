//! Keys: the master key, and what it seals.

pub mod client;
mod error;
mod generation;
mod master;
mod ring;
pub mod saml;
mod self_issued;
mod signing;
mod token_sealer;
mod vapid;
mod verification;
pub mod volume;

pub use error::KeyError;
pub use generation::{fresh_ed25519_public_key, generate};
pub use master::{MasterKey, MasterKeyError};
pub use ring::{KeyRing, KnownKey, PublishedKeySet, Reading};
pub use self_issued::IdTokenError;
pub use signing::{IdTokenKey, SigningError, TokenType};
pub use token_sealer::{OpenedToken, TokenSealer};
pub use vapid::PushKey;
