//! The master keys that the settings name, and the keys in the database that they wrap.

use std::path::Path;
use std::sync::Arc;

use crate::app::error::StartError;
use crate::config::{CreateMasterKey, Keys, Pkcs11};
use crate::domain::operations::plugins::specs::read_secret;
use crate::keys::{
    FileMasterKey, KeyError, MasterKey, MasterKeyError, MasterKeys, Pkcs11Key, Pkcs11MasterKey,
    RootSecret, SealingKeys, volume,
};
use assent_model::clock::Clock;
use assent_model::entropy::Entropy;
use assent_model::wrapped_key::WrappedKey;
use assent_store::{Database, Store, StoredKeys};

/// Checks, before the database is opened, that the first start may create the master key.
pub(super) fn check_creation(keys: &Keys) -> Result<(), MasterKeyError> {
    let file = &keys.master_key_file;
    let is_there = keys.master_key.is_some() || token_key(keys).is_some() || file.exists();
    match keys.create_file {
        CreateMasterKey::Never if !is_there => {
            Err(MasterKeyError::NotCreated { file: file.clone() })
        }
        CreateMasterKey::OnVolume if !is_there && !volume::holds(file) => {
            Err(MasterKeyError::Ephemeral { file: file.clone() })
        }
        CreateMasterKey::Never | CreateMasterKey::OnVolume | CreateMasterKey::Always => Ok(()),
    }
}

fn token_key(keys: &Keys) -> Option<(&Pkcs11, &str)> {
    let token = keys.pkcs11.as_ref()?;
    Some((token, token.key.as_deref()?))
}

/// Returns the master keys of the settings. All of them must exist.
///
/// # Errors
/// If a file or a token cannot be read.
pub fn existing_master_keys(keys: &Keys, entropy: &dyn Entropy) -> Result<MasterKeys, StartError> {
    master_keys(keys, FileMasterKey::read, entropy)
}

/// Returns the master keys of the settings. Creates the file only if the database has no keys yet. A new key in place
/// of a lost one could not unwrap any key, and would hide that the old key is missing.
///
/// # Errors
/// If the wrapped keys are lost. New ones in their place could not unseal any signing key.
async fn master_keys_for_start(
    keys: &Keys,
    database: &Database,
    entropy: &dyn Entropy,
) -> Result<MasterKeys, StartError> {
    match database.stored_keys().await? {
        StoredKeys::None => {
            let create = |file: &Path| FileMasterKey::read_or_create(file, entropy);
            master_keys(keys, create, entropy)
        }
        StoredKeys::Wrapped => existing_master_keys(keys, entropy),
        StoredKeys::Incomplete => Err(KeyError::WrappedKeysLost.into()),
    }
}

fn master_keys(
    keys: &Keys,
    read: impl Fn(&Path) -> Result<FileMasterKey, MasterKeyError>,
    entropy: &dyn Entropy,
) -> Result<MasterKeys, StartError> {
    let current: Arc<dyn MasterKey> = match (token_key(keys), &keys.master_key) {
        (Some((token, key)), _) => open_token(token, key, entropy)?,
        (None, Some(text)) => Arc::new(FileMasterKey::from_text(text, "keys.master_key")?),
        (None, None) => Arc::new(read(&keys.master_key_file)?),
    };
    let previous_token = keys.pkcs11.as_ref().and_then(|token| {
        let key = token.previous_key.as_deref()?;
        Some((token, key))
    });
    let previous: Option<Arc<dyn MasterKey>> = match (
        previous_token,
        &keys.previous_master_key,
        &keys.previous_master_key_file,
    ) {
        (Some((token, key)), _, _) => Some(open_token(token, key, entropy)?),
        (None, Some(text), _) => {
            let key = FileMasterKey::from_text(text, "keys.previous_master_key")?;
            Some(Arc::new(key))
        }
        (None, None, Some(file)) => Some(Arc::new(FileMasterKey::read(file)?)),
        (None, None, None) => None,
    };
    Ok(MasterKeys { current, previous })
}

fn open_token(
    token: &Pkcs11,
    key: &str,
    entropy: &dyn Entropy,
) -> Result<Arc<dyn MasterKey>, StartError> {
    let place = Pkcs11Key {
        module: token.module.clone(),
        token: token.token.clone(),
        key: key.to_owned(),
        pin: read_secret("keys.pkcs11.pin_file", &token.pin_file)?,
    };
    Ok(Arc::new(Pkcs11MasterKey::open(place, entropy)?))
}

/// The opened keys, on which all other parts depend.
pub(super) struct OpenedKeys {
    pub(super) master: MasterKeys,
    pub(super) root: RootSecret,
    pub(super) sealing: Arc<SealingKeys>,
    /// All keys, wrapped with the current master key. Empty if the current master key has wrapped them before.
    to_add: Vec<WrappedKey>,
}

/// Opens the keys of the database. At the first start it creates them.
pub(super) async fn open(
    keys: &Keys,
    database: &Database,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<OpenedKeys, StartError> {
    let master = master_keys_for_start(keys, database, entropy).await?;
    let mut wrapped = database.wrapped_keys().await?;
    if wrapped.is_empty() {
        let first = master.new_keys(clock.now(), entropy)?;
        database.add_first_wrapped_keys(&first).await?;
        // Another instance that started at the same time may have been faster. The keys of that instance are used.
        wrapped = database.wrapped_keys().await?;
    }
    let unwrapped = master.unwrap(&wrapped, entropy)?;
    Ok(OpenedKeys {
        master,
        root: unwrapped.root,
        sealing: Arc::new(SealingKeys::new(unwrapped.sealing)?),
        to_add: unwrapped.to_add,
    })
}

/// Stores the keys as the current master key wraps them, unless they are stored already. The previous master key is
/// unnecessary as soon as all instances have the current one.
///
/// The instance must write its heartbeat, which names its master key, before. If another instance replaced the master
/// key in the meantime, this instance must not serve, and the function fails.
pub(super) async fn store_wrapped_keys(
    opened: &OpenedKeys,
    store: &Store,
    entropy: &dyn Entropy,
) -> Result<(), StartError> {
    if !opened.to_add.is_empty() {
        store.add_wrapped_keys(opened.to_add.clone()).await?;
    }
    let wrapped = store.wrapped_keys().await?;
    opened.master.unwrap(&wrapped, entropy)?;
    Ok(())
}
