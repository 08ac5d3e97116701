//! Master keys: they are not in the database, and encrypt ("wrap") the keys that are in it.

mod file;
mod key;
mod pkcs11;

pub use file::FileMasterKey;
pub use key::{MasterKey, MasterKeyError};
pub use pkcs11::{Pkcs11Key, Pkcs11MasterKey};
