//! The cache of compiled plugins for the next start, because compilation takes most of a second and much memory.
//!
//! A compiled plugin is machine code with all the rights of the server. So the server uses a file only if its HMAC is
//! valid, and only the server has the key. The HMAC covers the component, the version and settings of the engine, and
//! every loaded byte. So a newer engine never loads the output of an older one, which may have bugs.

use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sha::{Sha256, sha256};
use openssl::sign::Signer;
use rustix::fs::Access;
use wasmtime::Engine;
use wasmtime::component::Component;
use zeroize::Zeroizing;

use super::compiler::{Compiler, LARGEST_COMPILED};
use super::engine::{CORE_INSTANCES, MEMORIES, TABLES};

/// The length of the HMAC-SHA256 at the beginning of a file, in bytes.
const CODE: usize = 32;
/// The purpose of the HMAC, and the version of the file format.
const PURPOSE: &[u8] = b"assent compiled plugin 1";
/// The size of the largest file that is read, in bytes.
const LONGEST: u64 = LARGEST_COMPILED + CODE as u64;

/// A folder of compiled plugins. The operator may empty it at any time.
pub struct CompilationCache {
    folder: PathBuf,
    key: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for CompilationCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl CompilationCache {
    /// Opens the cache in `folder`. Its files are authenticated with `key`, which must be secret.
    pub fn new(folder: PathBuf, key: Zeroizing<[u8; 32]>) -> Self {
        Self { folder, key }
    }

    /// Returns the component of these bytes from the cache. If it is missing there, compiles and stores it. The error
    /// is the end of a sentence about the plugin.
    pub(super) fn component(
        &self,
        engine: &Engine,
        compiler: &Compiler,
        bytes: &[u8],
    ) -> Result<Component, String> {
        let origin = origin(engine, bytes);
        let file = self.file(&origin);
        if let Some(component) = self.load_artifact(engine, &origin, &file) {
            return Ok(component);
        }
        let artifact = compiler.compile(engine, bytes)?;
        // The instance serves without the stored file, but its next start is slower.
        if let Err(reason) = self.store_artifact(&artifact, &origin, &file) {
            tracing::warn!(file = %file.display(), reason, "compiled plugin not stored");
        }
        load(engine, &artifact)
    }

    fn file(&self, origin: &[u8; 32]) -> PathBuf {
        self.folder
            .join(hex::encode(origin))
            .with_extension("cwasm")
    }

    fn load_artifact(&self, engine: &Engine, origin: &[u8; 32], file: &Path) -> Option<Component> {
        let content = match check_folder(&self.folder).and_then(|()| read(file)) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(reason) => {
                tracing::warn!(file = %file.display(), %reason, "compiled plugin unreadable, compiling again");
                return None;
            }
        };
        let (code, artifact) = content.split_at_checked(CODE)?;
        if !openssl::memcmp::eq(code, &self.code(origin, artifact)?) {
            tracing::warn!(file = %file.display(), "compiled plugin not written by this server, compiling again");
            return None;
        }
        load(engine, artifact).ok()
    }

    fn store_artifact(
        &self,
        artifact: &[u8],
        origin: &[u8; 32],
        file: &Path,
    ) -> Result<(), String> {
        let code = self
            .code(origin, artifact)
            .ok_or("it cannot be authenticated")?;
        let write = || -> io::Result<()> {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.folder)?;
            check_folder(&self.folder)?;
            // The rename is atomic, because another instance may read or write the same file at this moment.
            let unfinished = file.with_extension(format!("{}.new", std::process::id()));
            let mut new = create(&unfinished)?;
            let written = new.write_all(&code).and_then(|()| new.write_all(artifact));
            let stored = written.and_then(|()| std::fs::rename(&unfinished, file));
            if stored.is_err() {
                // No instance reads this file, so a failure to remove it does not change the result.
                let _ = std::fs::remove_file(&unfinished);
            }
            stored
        };
        write().map_err(|error| error.to_string())
    }

    /// Returns the HMAC of a compiled component.
    fn code(&self, origin: &[u8; 32], artifact: &[u8]) -> Option<[u8; CODE]> {
        let mut code = [0; CODE];
        let key = PKey::hmac(&*self.key).ok()?;
        let mut signer = Signer::new(MessageDigest::sha256(), &key).ok()?;
        for part in [PURPOSE, origin, artifact] {
            signer.update(part).ok()?;
        }
        (signer.sign(&mut code).ok()? == CODE).then_some(code)
    }
}

/// Checks that the server can store compiled plugins in `folder`, without a change to the file system. If the folder
/// does not exist, this user must be able to create it. The error is the end of a sentence about the folder.
///
/// # Errors
/// The folder cannot be created, is not a folder, belongs to another user, or is writable by other users.
pub fn check_compiled_folder(folder: &Path) -> Result<(), String> {
    let Err(error) = check_folder(folder) else {
        return Ok(());
    };
    if error.kind() != ErrorKind::NotFound {
        return Err(error.to_string());
    }
    let here = |path: &Path| {
        if path.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            path.to_owned()
        }
    };
    let above = folder
        .ancestors()
        .skip(1)
        .map(here)
        .find(|path| path.exists())
        .ok_or("it cannot be created")?;
    rustix::fs::access(&above, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| {
        format!(
            "it cannot be created in {}: {}",
            above.display(),
            io::Error::from(error)
        )
    })
}

/// Checks the owner and the mode of the folder. In a folder that other users can write to, a symbolic link could make
/// the server write to a file of their choice.
fn check_folder(folder: &Path) -> io::Result<()> {
    let (folder, own) = (std::fs::metadata(folder)?, std::fs::metadata("/proc/self")?);
    if !folder.is_dir() {
        return Err(io::Error::other("it must be a folder"));
    }
    if folder.uid() != own.uid() {
        let (owner, own) = (folder.uid(), own.uid());
        let reason = format!(
            "the folder must belong to the user that runs the server: it belongs to user {owner}, and the server runs \
             as user {own}"
        );
        return Err(io::Error::other(reason));
    }
    if folder.mode() & 0o022 != 0 {
        return Err(io::Error::other(
            "only the owner may be able to write to the folder (chmod go-w)",
        ));
    }
    Ok(())
}

/// Returns the digest of a compiled plugin's origin: the component, and the version and settings of the engine.
fn origin(engine: &Engine, bytes: &[u8]) -> [u8; 32] {
    struct Digest(Sha256);
    impl Hasher for Digest {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        // Unused: the digest is read from the inner hasher.
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut digest = Digest(Sha256::new());
    digest.0.update(&sha256(bytes));
    engine.precompile_compatibility_hash().hash(&mut digest);
    digest.0.finish()
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::symlink_metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut content = Vec::new();
    File::open(file)?.take(LONGEST).read_to_end(&mut content)?;
    Ok(content)
}

/// Creates a file. An unfinished file of an earlier start is replaced.
fn create(path: &Path) -> io::Result<File> {
    let create = || {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    create().or_else(|error| match error.kind() {
        ErrorKind::AlreadyExists => std::fs::remove_file(path).and_then(|()| create()),
        _ => Err(error),
    })
}

/// Compiles a component and stores nothing.
pub(super) fn compile(
    engine: &Engine,
    compiler: &Compiler,
    bytes: &[u8],
) -> Result<Component, String> {
    load(engine, &compiler.compile(engine, bytes)?)
}

/// Loads machine code. It must come from this server's compiler, or from a file with a valid HMAC.
#[allow(
    unsafe_code,
    reason = "it loads machine code, but only code that this server compiled"
)]
fn load(engine: &Engine, authenticated: &[u8]) -> Result<Component, String> {
    // SAFETY: the bytes are the result of `Engine::precompile_component` for an engine with the same settings. They
    // come from this process, from the compiler's process, or from an earlier start with this server's HMAC. The
    // component comes from the operator, or from an administrator who approved its digest on a device. We trust the
    // compiler to produce code that stays in its sandbox for any component.
    let component = unsafe { Component::deserialize(engine, authenticated) };
    component.map_err(|error| unfit(&format!("{error:#}")))
}

/// Explains why a component does not fit the engine, in the terms of the limits. The error is the end of a sentence
/// about the plugin.
fn unfit(error: &str) -> String {
    let counted = |before: &str| {
        let (_, rest) = error.split_once(before)?;
        rest.trim_start().split(' ').next()?.parse::<u64>().ok()
    };
    let contains = "The component transitively contains";
    match counted(contains) {
        Some(count) if error.contains("core module instances") => {
            format!("it has {count} core instances; a plugin may have {CORE_INSTANCES}")
        }
        Some(count) if error.contains("linear memories") => {
            format!("it has {count} memories; a plugin may have {MEMORIES}")
        }
        Some(count) if error.contains("tables") => {
            format!("it has {count} tables; a plugin may have {TABLES}")
        }
        _ if error.contains("defined memories count") => {
            format!(
                "a module in it has several memories; a plugin may have {MEMORIES}, one in each module"
            )
        }
        _ if error.contains("defined tables count") => {
            format!(
                "a module in it has several tables; a plugin may have {TABLES}, one in each module"
            )
        }
        _ => format!("the compiled component cannot be loaded: {error}"),
    }
}

#[cfg(test)]
mod tests;
