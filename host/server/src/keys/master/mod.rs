//! Master keys: they are outside the database, and encrypt ("wrap") the keys in it.

mod file;
mod key;
mod pkcs11;

pub use file::FileMasterKey;
pub use key::{MasterKey, MasterKeyError};
pub use pkcs11::{Pkcs11Key, Pkcs11MasterKey};
