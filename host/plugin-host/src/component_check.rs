//! Checks of a file before its compilation, so that the error for a wrong file is a plain sentence.

use std::path::Path;

use wasmparser::{BinaryReaderError, Parser, Payload};

use super::compiler::LARGEST;
use super::contracts::Contracts;
use super::engine::TABLE_ENTRIES;
use super::fault::LoadError;
use super::spec::CallLimits;
use super::world::World;

/// The contract of a component, from its imports and exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Surface {
    /// The world that the component implements.
    pub(super) world: World,
    /// The version of its contract.
    pub(super) version: String,
    /// Its imports, in their order.
    pub(super) imports: Vec<String>,
}

/// Reads a component's file. The errors contain the plugin's `name`.
pub(super) fn read(name: &str, file: &Path) -> Result<Vec<u8>, LoadError> {
    let error = |why: &dyn std::fmt::Display| {
        LoadError::in_plugin(
            name,
            format_args!("`{}` cannot be read: {why}", file.display()),
        )
    };
    let size = std::fs::metadata(file)
        .map_err(|reason| error(&reason))?
        .len();
    if size > LARGEST {
        return Err(error(&format_args!(
            "it is larger than {} MiB",
            LARGEST >> 20
        )));
    }
    std::fs::read(file).map_err(|reason| error(&reason))
}

/// Returns the world that a component implements. Fails if the component imports anything outside that world.
///
/// The error is the end of a sentence about the plugin.
pub(super) fn surface(bytes: &[u8], contracts: &Contracts) -> Result<Surface, String> {
    if Parser::is_core_wasm(bytes) {
        return Err(
            "the file is a core WebAssembly module, not a component; build it with `assent-plugin build`".to_owned()
        );
    }
    if !Parser::is_component(bytes) {
        return Err("the file is not WebAssembly".to_owned());
    }
    let (imports, exports) =
        names(bytes).map_err(|error| format!("the file is cut short or damaged: {error}"))?;
    let (world, version) = world_of(&exports)?;
    let Some(served) = contracts.find(world, version) else {
        return Err(format!(
            "it is {} for version {version} of `{}`; this Assent serves version {}",
            world.role(),
            world.package(),
            contracts.versions_of(world)
        ));
    };
    for import in &imports {
        if served.imports.contains(&import.as_str()) {
            continue;
        }
        let (interface, _) = split_version(import);
        let same = served
            .imports
            .iter()
            .find(|known| split_version(known).0 == interface);
        return Err(match same {
            Some(known) => format!("it asks for `{import}`; this Assent serves `{known}`"),
            None => format!(
                "it asks for `{import}`, which {} does not get; build it with `assent-plugin build`",
                world.role()
            ),
        });
    }
    Ok(Surface {
        world,
        version: version.to_owned(),
        imports,
    })
}

/// Checks that the initial memories and tables of a component are within its limits.
///
/// The error is the end of a sentence about the plugin.
pub(super) fn check_limits(bytes: &[u8], limits: &CallLimits) -> Result<(), String> {
    let damaged = |error: BinaryReaderError| format!("the file is cut short or damaged: {error}");
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(damaged)? {
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory.map_err(damaged)?;
                    if memory.shared {
                        return Err("it has a shared memory; a plugin has no threads".to_owned());
                    }
                    let page = 1_u64
                        .checked_shl(memory.page_size_log2.unwrap_or(16))
                        .unwrap_or(u64::MAX);
                    let requested = memory.initial.saturating_mul(page);
                    if requested > limits.memory_bytes as u64 {
                        return Err(format!(
                            "it asks for {} MiB of memory; `limits.memory` allows {} MiB",
                            requested.div_ceil(1 << 20),
                            limits.memory_bytes >> 20
                        ));
                    }
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let requested = table.map_err(damaged)?.ty.initial;
                    if requested > TABLE_ENTRIES as u64 {
                        return Err(format!(
                            "it asks for a table of {requested} entries; a plugin may have {TABLE_ENTRIES} in a table"
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the world of these exports, and the version of its contract.
fn world_of(exports: &[String]) -> Result<(World, &str), String> {
    for export in exports {
        let (interface, version) = split_version(export);
        if let Some(world) = World::parse(interface) {
            return Ok((world, version));
        }
    }
    let found = if exports.is_empty() {
        "nothing".to_owned()
    } else {
        exports.join("`, `")
    };
    Err(format!(
        "it is not a plugin of Assent: it exports `{found}`, not `assent:claims/mapper`, `assent:approval/channel` or \
         `assent:approval/delegated-channel`"
    ))
}

/// Splits `name@version` into its two parts.
fn split_version(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, "none"))
}

/// Returns the names of a component's own imports and exports, without those of nested components.
fn names(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>), BinaryReaderError> {
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    exports.push(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";

    #[test]
    fn a_core_module_is_identified() {
        let error = surface(b"\0asm\x01\0\0\0", &Contracts::released()).expect_err("a module");
        assert!(error.contains("core WebAssembly module"), "{error}");
    }

    #[test]
    fn a_file_without_wasm_is_identified() {
        for bytes in [b"".as_slice(), b"#!/bin/sh", b"\0as"] {
            assert_eq!(
                surface(bytes, &Contracts::released()).expect_err("not wasm"),
                "the file is not WebAssembly"
            );
        }
    }

    #[test]
    fn an_empty_component_is_not_a_plugin() {
        let error = surface(&COMPONENT, &Contracts::released()).expect_err("no exports");
        assert!(error.contains("not a plugin of Assent"), "{error}");
    }

    #[test]
    fn the_world_and_version_are_detected() {
        let of = |export: &str| {
            world_of(&[export.to_owned()]).map(|(world, version)| (world, version.to_owned()))
        };
        assert_eq!(
            of("assent:claims/mapper@2.0.0"),
            Ok((World::ClaimMapper, "2.0.0".to_owned()))
        );
        assert_eq!(
            of("assent:approval/channel@1.0.0"),
            Ok((World::ApprovalChannel, "1.0.0".to_owned()))
        );
        assert_eq!(
            of("assent:approval/delegated-channel@1.0.0"),
            Ok((World::DelegatedChannel, "1.0.0".to_owned()))
        );
        assert!(of("wasi:cli/run@0.2.0").is_err());
    }
}
