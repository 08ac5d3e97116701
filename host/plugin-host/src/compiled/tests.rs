#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed test"
)]

use super::*;
use crate::{CallLimits, engine};

/// An empty component, which has only the preamble.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

fn warm() -> Engine {
    let turns = std::sync::Arc::new(crate::turns::Turns::of_processors());
    engine::engine(
        engine::Pool::Warm,
        std::iter::once(&CallLimits::default()),
        &turns,
    )
    .unwrap()
}

fn compiled(folder: &Path, key: u8) -> CompilationCache {
    CompilationCache::new(folder.to_owned(), Zeroizing::new([key; 32]))
}

#[test]
fn only_artifacts_of_this_installation_and_component_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let engine = warm();
    let artifacts = compiled(folder.path(), 1);
    let from = origin(&engine, EMPTY);
    let file = artifacts.file(&from);
    assert!(
        artifacts.load_artifact(&engine, &from, &file).is_none(),
        "no artifact exists yet"
    );
    artifacts
        .component(&engine, &Compiler::InProcess, EMPTY)
        .unwrap();
    assert!(artifacts.load_artifact(&engine, &from, &file).is_some());
    assert!(
        compiled(folder.path(), 2)
            .load_artifact(&engine, &from, &file)
            .is_none(),
        "an artifact of another installation"
    );
    assert!(
        artifacts
            .load_artifact(&engine, &origin(&engine, b"another"), &file)
            .is_none(),
        "an artifact of another component"
    );

    let good = std::fs::read(&file).unwrap();
    for at in [0, CODE - 1, CODE, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&file, bad).unwrap();
        assert!(
            artifacts.load_artifact(&engine, &from, &file).is_none(),
            "byte {at} was changed"
        );
    }
    for length in [0, CODE - 1, CODE, good.len() - 1] {
        std::fs::write(&file, &good[..length]).unwrap();
        assert!(
            artifacts.load_artifact(&engine, &from, &file).is_none(),
            "only {length} bytes are left"
        );
    }
    artifacts
        .component(&engine, &Compiler::InProcess, EMPTY)
        .unwrap();
    assert_eq!(
        std::fs::read(&file).unwrap()[CODE..],
        good[CODE..],
        "the component was compiled again"
    );
}

/// A component with this core module and this number of instances of it.
fn component(module: &[u8], instances: u8) -> Vec<u8> {
    let mut bytes = EMPTY.to_vec();
    let length = |bytes: &[u8]| u8::try_from(bytes.len()).unwrap();
    bytes.extend([1, length(module)]);
    bytes.extend(module);
    let instantiated: Vec<u8> = std::iter::once(instances)
        .chain([0; 3].repeat(instances.into()))
        .collect();
    bytes.extend([2, length(&instantiated)]);
    bytes.extend(instantiated);
    bytes
}

/// A core module with one section.
fn module(section: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    bytes.extend([section, u8::try_from(content.len()).unwrap()]);
    bytes.extend(content);
    bytes
}

#[test]
fn oversized_components_are_reported_in_terms_of_the_limits() {
    let engine = warm();
    let limits = CallLimits::default();
    let limit_error = |bytes: &[u8]| {
        let fits = crate::component_check::check_limits(bytes, &limits);
        fits.and_then(|()| compile(&engine, &Compiler::InProcess, bytes).map(drop))
            .err()
    };
    let (memory, table) = (module(5, &[1, 0, 1]), module(4, &[1, 0x70, 0, 1]));
    assert_eq!(limit_error(&component(&memory, 3)), None);
    // 1,024 pages, and 30,000 table entries.
    for (bytes, expected) in [
        (
            component(&module(5, &[1, 0, 0x80, 0x08]), 1),
            "it asks for 64 MiB of memory; `limits.memory` allows 16 MiB",
        ),
        (
            component(&module(4, &[1, 0x70, 0, 0xb0, 0xea, 0x01]), 1),
            "it asks for a table of 30000 entries; a plugin may have 20000 in a table",
        ),
        (
            component(&memory, 4),
            "it has 4 memories; a plugin may have 3",
        ),
        (component(&table, 5), "it has 5 tables; a plugin may have 4"),
        (
            component(&module(1, &[0]), 17),
            "it has 17 core instances; a plugin may have 16",
        ),
        (
            component(&module(5, &[2, 0, 1, 0, 1]), 1),
            "a module in it has several memories; a plugin may have 3, one in each module",
        ),
        (
            component(&module(4, &[2, 0x70, 0, 1, 0x70, 0, 1]), 1),
            "a module in it has several tables; a plugin may have 4, one in each module",
        ),
    ] {
        assert_eq!(limit_error(&bytes).as_deref(), Some(expected));
    }
}

#[test]
fn an_artifact_of_another_engine_is_not_loaded_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = compiled(folder.path(), 1);
    let other = Engine::default();
    artifacts
        .component(&other, &Compiler::InProcess, EMPTY)
        .unwrap();
    let engine = warm();
    let from = origin(&engine, EMPTY);
    let file = artifacts.file(&from);
    assert!(!file.exists(), "the artifact has another name");
    std::fs::rename(artifacts.file(&origin(&other, EMPTY)), &file).unwrap();
    assert!(artifacts.load_artifact(&engine, &from, &file).is_none());
    artifacts
        .component(&engine, &Compiler::InProcess, EMPTY)
        .unwrap();
    assert!(artifacts.load_artifact(&engine, &from, &file).is_some());
}

#[test]
fn symbolic_links_are_replaced_and_folders_of_others_stay_unused() {
    let folder = tempfile::tempdir().unwrap();
    let engine = warm();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "untouched").unwrap();
    let cache = folder.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    let artifacts = compiled(&cache, 1);
    let file = artifacts.file(&origin(&engine, EMPTY));
    std::os::unix::fs::symlink(
        &victim,
        file.with_extension(format!("{}.new", std::process::id())),
    )
    .unwrap();
    std::os::unix::fs::symlink(&victim, &file).unwrap();
    artifacts
        .component(&engine, &Compiler::InProcess, EMPTY)
        .unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
    assert!(
        std::fs::symlink_metadata(&file).unwrap().is_file(),
        "the link was replaced"
    );

    std::fs::remove_file(&file).unwrap();
    std::fs::set_permissions(&cache, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    artifacts
        .component(&engine, &Compiler::InProcess, EMPTY)
        .unwrap();
    assert!(!file.exists(), "others may write to the folder");
}

#[test]
fn an_unwritable_cache_folder_does_not_prevent_compilation() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let engine = warm();
    compiled(&folder.path().join("file"), 1)
        .component(&engine, &Compiler::InProcess, EMPTY)
        .unwrap();
}
