//! Compiled plugins, kept for the next start: compiling takes a good part of a second and much memory.
//!
//! A compiled plugin is machine code that runs with all that the host may do. So a file is used only if it carries a code
//! that this host alone can make, over what it was compiled from and every byte that is loaded.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::sha::sha256;
use openssl::sign::Signer;
use wasmtime::Engine;
use wasmtime::component::Component;
use zeroize::Zeroizing;

use super::engine;

/// Bytes of the code at the beginning of a file: HMAC-SHA256.
const CODE: usize = 32;

/// A folder of compiled plugins. It may be emptied at any time.
pub struct Compiled {
    folder: PathBuf,
    key: Zeroizing<[u8; 32]>,
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Compiled {
    /// The compiled plugins in `folder`, authenticated with a key that nobody else has.
    pub fn new(folder: PathBuf, key: Zeroizing<[u8; 32]>) -> Self {
        Self { folder, key }
    }

    /// The component of these bytes: as it was kept, or else compiled now and kept. The error is the end of a sentence
    /// about the plugin.
    pub(super) fn component(&self, engine: &Engine, bytes: &[u8]) -> Result<Component, String> {
        let file = self.file(bytes);
        if let Some(kept) = self.kept(engine, bytes, &file) {
            return Ok(kept);
        }
        let component = engine::compile(engine, bytes)?;
        // A host that can't keep it serves all the same; the next start is slower.
        if let Err(reason) = self.keep(&component, bytes, &file) {
            tracing::warn!(file = %file.display(), reason, "a compiled plugin can't be kept");
        }
        Ok(component)
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        self.folder.join(hex::encode(sha256(bytes))).with_extension("cwasm")
    }

    fn kept(&self, engine: &Engine, bytes: &[u8], file: &Path) -> Option<Component> {
        let content = match std::fs::read(file) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(reason) => {
                tracing::warn!(file = %file.display(), %reason, "a compiled plugin can't be read; it is compiled anew");
                return None;
            }
        };
        let (code, artifact) = content.split_at_checked(CODE)?;
        if !openssl::memcmp::eq(code, &self.code(bytes, artifact)?) {
            tracing::warn!(file = %file.display(), "a compiled plugin was not made by this host; it is compiled anew");
            return None;
        }
        // It refuses what another version of the engine, or one for another processor, made.
        deserialize(engine, artifact).ok()
    }

    fn keep(&self, component: &Component, bytes: &[u8], file: &Path) -> Result<(), String> {
        let artifact = component.serialize().map_err(|error| format!("{error:#}"))?;
        let code = self.code(bytes, &artifact).ok_or("it can't be authenticated")?;
        let write = || -> std::io::Result<()> {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            // Whole or not at all: another host may read it at this moment, or write the same.
            let unfinished = file.with_extension(format!("{}.new", std::process::id()));
            let mut open = std::fs::OpenOptions::new();
            let mut new = open.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
            new.write_all(&code)?;
            new.write_all(&artifact)?;
            std::fs::rename(&unfinished, file)
        };
        write().map_err(|error| error.to_string())
    }

    /// The code of what was made of a component.
    fn code(&self, bytes: &[u8], artifact: &[u8]) -> Option<[u8; CODE]> {
        let mut code = [0; CODE];
        let key = PKey::hmac(&*self.key).ok()?;
        let mut signer = Signer::new(MessageDigest::sha256(), &key).ok()?;
        signer.update(&sha256(bytes)).ok()?;
        signer.update(artifact).ok()?;
        (signer.sign(&mut code).ok()? == CODE).then_some(code)
    }
}

#[allow(unsafe_code, reason = "machine code is loaded here, once its code has shown that this host made it")]
fn deserialize(engine: &Engine, authenticated: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are what `Component::serialize` gave this host. The engine itself checks version and processor.
    unsafe { Component::deserialize(engine, authenticated) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test")]

    use super::*;
    use crate::plugins::Limits;

    /// An empty component: its preamble alone.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn compiled(folder: &Path, key: u8) -> Compiled {
        Compiled::new(folder.to_owned(), Zeroizing::new([key; 32]))
    }

    #[test]
    fn only_what_this_host_made_of_this_component_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine::engine(std::iter::once(&Limits::default())).unwrap();
        let ours = compiled(folder.path(), 1);
        let file = ours.file(EMPTY);
        assert!(ours.kept(&engine, EMPTY, &file).is_none(), "there is none yet");
        ours.component(&engine, EMPTY).unwrap();
        assert!(ours.kept(&engine, EMPTY, &file).is_some());
        assert!(compiled(folder.path(), 2).kept(&engine, EMPTY, &file).is_none(), "another host's");
        assert!(ours.kept(&engine, b"another", &file).is_none(), "another component's");

        let good = std::fs::read(&file).unwrap();
        for at in [0, CODE - 1, CODE, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&file, bad).unwrap();
            assert!(ours.kept(&engine, EMPTY, &file).is_none(), "byte {at} was changed");
        }
        for length in [0, CODE - 1, CODE, good.len() - 1] {
            std::fs::write(&file, &good[..length]).unwrap();
            assert!(ours.kept(&engine, EMPTY, &file).is_none(), "only {length} bytes are left");
        }
        ours.component(&engine, EMPTY).unwrap();
        assert_eq!(std::fs::read(&file).unwrap()[CODE..], good[CODE..], "it was compiled anew");
    }

    #[test]
    fn what_another_engine_made_is_compiled_anew() {
        let folder = tempfile::tempdir().unwrap();
        let ours = compiled(folder.path(), 1);
        let file = ours.file(EMPTY);
        ours.component(&Engine::default(), EMPTY).unwrap();
        let engine = engine::engine(std::iter::once(&Limits::default())).unwrap();
        assert!(ours.kept(&engine, EMPTY, &file).is_none());
        ours.component(&engine, EMPTY).unwrap();
        assert!(ours.kept(&engine, EMPTY, &file).is_some());
    }

    #[test]
    fn a_folder_that_cannot_be_written_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let engine = engine::engine(std::iter::once(&Limits::default())).unwrap();
        compiled(&folder.path().join("file"), 1).component(&engine, EMPTY).unwrap();
    }
}
