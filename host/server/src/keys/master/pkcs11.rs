//! A master key in a PKCS#11 token: a hardware security module, or the PKCS#11 library of a key management service. The
//! key never leaves the token.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::object::{Attribute, AttributeType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use zeroize::Zeroizing;

use super::super::{KeyError, SymmetricKey};
use super::key::{MasterKey, MasterKeyError};
use assent_model::entropy::Entropy;
use assent_model::secret::{Digest, Secret};

const NONCE: usize = 12;
const TAG_BITS: u64 = 128;

/// The location of a master key.
#[derive(Clone, Debug)]
pub struct Pkcs11Key {
    /// The library of the token's vendor.
    pub module: PathBuf,
    /// The label of the token.
    pub token: String,
    /// The label of the AES key of 256 bits.
    pub key: String,
    /// The PIN of the token's user.
    pub pin: Secret,
}

/// A master key in a PKCS#11 token.
#[derive(Debug)]
pub struct Pkcs11MasterKey {
    place: Pkcs11Key,
    library: Pkcs11,
    fingerprint: String,
}

/// The libraries that this process has loaded. Each may be initialized only once (PKCS#11 version 2.40, section 5.4).
static LIBRARIES: Mutex<Vec<(PathBuf, Pkcs11)>> = Mutex::new(Vec::new());

impl Pkcs11MasterKey {
    /// Finds the key, and tests it.
    ///
    /// # Errors
    /// [`MasterKeyError::Token`] if the library, the token or the key cannot be used. The message says how to correct
    /// it.
    pub fn open(place: Pkcs11Key, entropy: &dyn Entropy) -> Result<Self, MasterKeyError> {
        let library = library(&place)?;
        let mut opened = Self {
            place,
            library,
            fingerprint: String::new(),
        };
        opened.fingerprint = opened.read_fingerprint()?;
        let trial = SymmetricKey::generate(entropy);
        let wrapped = opened.wrap("trial", &trial, entropy);
        let unwrapped = wrapped.and_then(|wrapped| opened.unwrap("trial", &wrapped));
        match unwrapped {
            Ok(found) if found.bytes() == trial.bytes() => Ok(opened),
            Ok(_) => Err(opened.unusable("it does not decrypt its own ciphertext")),
            Err(error) => Err(opened.unusable(&error.to_string())),
        }
    }

    fn unusable(&self, reason: &str) -> MasterKeyError {
        let Pkcs11Key { token, key, .. } = &self.place;
        MasterKeyError::Token {
            reason: format!(
                "the key {key:?} of the token {token:?} cannot encrypt with AES-GCM: {reason}; it must be an AES key \
                 of 256 bits that may encrypt and decrypt"
            ),
        }
    }

    /// Reads the label and the `CKA_ID`, which identify the key. Copies in several tokens of a cluster have the same
    /// values.
    fn read_fingerprint(&self) -> Result<String, MasterKeyError> {
        let (session, key) = self.session()?;
        let attributes = session
            .get_attributes(key, &[AttributeType::Id])
            .map_err(KeyError::from)?;
        let id = attributes
            .into_iter()
            .find_map(|attribute| match attribute {
                Attribute::Id(id) => Some(id),
                _ => None,
            });
        let text = format!(
            "pkcs11\n{}\n{}",
            self.place.key,
            hex::encode(id.unwrap_or_default())
        );
        Ok(hex::encode(Digest::sha256(text.as_bytes()).as_bytes()))
    }

    /// Opens a session of the token's user, and finds the key. Each operation has its own session, so that the token
    /// may restart between two operations.
    fn session(&self) -> Result<(Session, ObjectHandle), MasterKeyError> {
        let Pkcs11Key {
            token, key, pin, ..
        } = &self.place;
        let slot = self.slot()?;
        let session = self.library.open_ro_session(slot).map_err(KeyError::from)?;
        let pin = AuthPin::from(pin.expose().to_owned());
        if let Err(error) = session.login(UserType::User, Some(&pin))
            && !is_logged_in(&error)
        {
            return Err(MasterKeyError::Token {
                reason: format!(
                    "the token {token:?} rejected the PIN of keys.pkcs11.pin_file: {error}"
                ),
            });
        }
        let template = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::Label(key.as_bytes().to_vec()),
        ];
        let found = session.find_objects(&template).map_err(KeyError::from)?;
        match found.as_slice() {
            [found] => Ok((session, *found)),
            [] => Err(MasterKeyError::Token {
                reason: format!(
                    "the token {token:?} has no secret key with the label {key:?}; create one: pkcs11-tool --module {} \
                     --token-label {token:?} --login --keygen --key-type AES:32 --label {key:?} --id 01",
                    self.place.module.display()
                ),
            }),
            _ => Err(MasterKeyError::Token {
                reason: format!(
                    "the token {token:?} has several secret keys with the label {key:?}; give each its own label"
                ),
            }),
        }
    }

    /// Returns the slot with the token. A slot that fails is skipped, because it may belong to another token.
    fn slot(&self) -> Result<Slot, MasterKeyError> {
        let label = &self.place.token;
        let slots = self
            .library
            .get_slots_with_token()
            .map_err(KeyError::from)?;
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for slot in slots {
            match self.library.get_token_info(slot) {
                Ok(token) if token.label() == label => {
                    // A wrong PIN locks many tokens at the third attempt, for all instances.
                    if token.user_pin_locked() || token.user_pin_final_try() {
                        return Err(MasterKeyError::Token {
                            reason: format!(
                                "the PIN of the token {label:?} was wrong several times; correct \
                                 keys.pkcs11.pin_file, and log in with another program first, such as pkcs11-tool"
                            ),
                        });
                    }
                    found.push(slot);
                }
                Ok(token) => others.push(format!("{:?}", token.label())),
                Err(error) => others.push(format!("one that fails: {error}")),
            }
        }
        let module = self.place.module.display();
        match found.as_slice() {
            [slot] => Ok(*slot),
            [] if others.is_empty() => Err(MasterKeyError::Token {
                reason: format!("{module} has no token with the label {label:?}; it has no tokens"),
            }),
            [] => Err(MasterKeyError::Token {
                reason: format!(
                    "{module} has no token with the label {label:?}; it has {}",
                    others.join(", ")
                ),
            }),
            _ => Err(MasterKeyError::Token {
                reason: format!(
                    "{module} has several tokens with the label {label:?}; give each its own label"
                ),
            }),
        }
    }

    fn session_of_key(&self) -> Result<(Session, ObjectHandle), KeyError> {
        self.session().map_err(|error| match error {
            MasterKeyError::Key(error) => error,
            other => KeyError::TokenUnusable(other.to_string()),
        })
    }
}

impl MasterKey for Pkcs11MasterKey {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn wrap(
        &self,
        purpose: &str,
        key: &SymmetricKey,
        entropy: &dyn Entropy,
    ) -> Result<String, KeyError> {
        let mut nonce: [u8; NONCE] = entropy.bytes();
        let (session, master) = self.session_of_key()?;
        let parameters = GcmParams::new(&mut nonce, purpose.as_bytes(), TAG_BITS.into())?;
        let mechanism = Mechanism::AesGcm(parameters);
        let wrapped = session.encrypt(&mechanism, master, key.bytes())?;
        // Some tokens choose the nonce themselves, and return it.
        Ok(STANDARD.encode([nonce.as_slice(), &wrapped].concat()))
    }

    fn unwrap(&self, purpose: &str, wrapped: &str) -> Result<SymmetricKey, KeyError> {
        let bytes = STANDARD
            .decode(wrapped)
            .map_err(|_| KeyError::NotUnwrapped)?;
        let (nonce, wrapped) = bytes
            .split_first_chunk::<NONCE>()
            .ok_or(KeyError::NotUnwrapped)?;
        let (session, master) = self.session_of_key()?;
        let mut nonce = *nonce;
        let parameters = GcmParams::new(&mut nonce, purpose.as_bytes(), TAG_BITS.into())?;
        let mechanism = Mechanism::AesGcm(parameters);
        let key = session
            .decrypt(&mechanism, master, wrapped)
            .map(Zeroizing::new)
            .map_err(|error| match error {
                Error::Pkcs11(reason, _) if is_rejection(reason) => KeyError::NotUnwrapped,
                other => KeyError::Token(other),
            })?;
        SymmetricKey::from_bytes(&key).ok_or(KeyError::NotUnwrapped)
    }
}

fn is_logged_in(error: &Error) -> bool {
    matches!(error, Error::Pkcs11(RvError::UserAlreadyLoggedIn, _))
}

/// Returns whether the token rejected the text, and did not fail otherwise. Tokens report this with different codes.
const fn is_rejection(reason: RvError) -> bool {
    matches!(
        reason,
        RvError::EncryptedDataInvalid
            | RvError::EncryptedDataLenRange
            | RvError::DataInvalid
            | RvError::DataLenRange
            | RvError::SignatureInvalid
            | RvError::GeneralError
            | RvError::FunctionFailed
    )
}

fn library(place: &Pkcs11Key) -> Result<Pkcs11, MasterKeyError> {
    let failed = |error: Error| MasterKeyError::Token {
        reason: format!("cannot load {}: {error}", place.module.display()),
    };
    let mut libraries = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, library)) = libraries.iter().find(|(path, _)| *path == place.module) {
        return Ok(library.clone());
    }
    let library = Pkcs11::new(&place.module).map_err(failed)?;
    library
        .initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK))
        .map_err(failed)?;
    libraries.push((place.module.clone(), library.clone()));
    Ok(library)
}
