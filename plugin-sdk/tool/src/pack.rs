//! Packing: it creates the folder and the settings for the operator.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use assent_admin_client::terminal;
use assent_plugin_host::{Inspection, Workbench};
use assent_plugin_sdk::fixtures::{self, ChannelOutcome, MapperOutcome};

use crate::built_component::BuiltComponent;
use crate::description::{manifest, must_be_grantable, role, settle};
use crate::fixture_run;
use crate::new::toml_text;
use crate::plugin::{MANIFEST, Manifest, Plugin, PluginSource, Role};
use crate::process::wait;
use crate::toolchain::Choice;

/// Writes the folder `NAME-VERSION` and prints the settings.
///
/// # Errors
/// If the plugin cannot be built or read, or another component has this version already and `force` is not set.
pub fn pack(folder: &Path, out: Option<&Path>, force: bool, choice: Choice) -> Result<()> {
    let subject = BuiltComponent::from_path(folder, choice)?;
    let Some(plugin) = &subject.plugin else {
        bail!(
            "{} is a file; specify the folder of the plugin",
            folder.display()
        );
    };
    if matches!(plugin.source, PluginSource::Packed(_)) {
        bail!(
            "{} is packed already; specify the folder of the plugin's project",
            folder.display()
        );
    }
    let inspection = wait(check_component(&subject.component, plugin))??;
    let description = &inspection.description;
    if description.version.is_empty() || !description.version.bytes().all(in_a_version) {
        bail!(
            "the version `{}` cannot be part of a folder's name; use one such as 1.0.0",
            description.version
        );
    }
    let parent = out.map_or_else(|| plugin.folder.join("pack"), Path::to_owned);
    let packed = parent.join(format!("{}-{}", description.name, description.version));
    let file = packed.join(format!("{}.wasm", description.name));
    if !force {
        must_be_new(&file, &subject.component)?;
    }
    std::fs::create_dir_all(&packed)
        .with_context(|| format!("{} cannot be created", packed.display()))?;
    std::fs::copy(&subject.component, &file)
        .with_context(|| format!("{} cannot be written", file.display()))?;
    let manifest_file = packed.join(MANIFEST);
    std::fs::write(&manifest_file, manifest_text(&inspection)?)
        .with_context(|| format!("{} cannot be written", manifest_file.display()))?;
    let file = file
        .canonicalize()
        .with_context(|| format!("{} cannot be found", file.display()))?;
    let example = Example::read(&plugin.folder.join("fixtures"), role(&inspection));
    terminal::print(&format!(
        "# {}\n{}\n",
        packed.display(),
        settings(&inspection, &file, &example)?
    ))
}

/// Checks a component and its fixtures. Returns the description of the component.
async fn check_component(component: &Path, plugin: &Plugin) -> Result<Inspection> {
    let bench = fixture_run::open(component).await?;
    let inspection = bench.inspection();
    settle(plugin, inspection)?;
    must_be_grantable(inspection)?;
    must_hold(&bench, &plugin.folder.join("fixtures")).await?;
    Ok(inspection.clone())
}

/// Fails if a fixture fails. A plugin may have no fixtures.
async fn must_hold(bench: &Workbench, fixtures: &Path) -> Result<()> {
    if !fixtures.is_dir() {
        return Ok(());
    }
    let cases = fixture_run::read(fixtures, bench.inspection().world)?;
    let mut failures = Vec::new();
    for case in &cases {
        failures.extend(case.failure(bench).await?);
    }
    if failures.is_empty() {
        return Ok(());
    }
    let (failed, shown) = (failures.len(), failures.join("\n"));
    bail!(
        "{failed} of {} fixtures failed (- expected, + got), so nothing was packed\n{shown}",
        cases.len()
    )
}

/// Fails if another component was packed with this version, because an operator may already run it.
fn must_be_new(file: &Path, component: &Path) -> Result<()> {
    let Ok(packed) = std::fs::read(file) else {
        return Ok(());
    };
    let made = std::fs::read(component)
        .with_context(|| format!("{} cannot be read", component.display()))?;
    if packed == made {
        return Ok(());
    }
    bail!(
        "{} is another component of the same version; give the plugin a new version, or replace that one with \
         `--force`",
        file.display()
    )
}

fn in_a_version(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')
}

/// Returns the `plugin.toml` for the operator.
fn manifest_text(inspection: &Inspection) -> Result<String> {
    let packed = Manifest {
        contract: Some(format!(
            "{}@{}",
            inspection.world.package(),
            inspection.contract_version
        )),
        file: Some(format!("{}.wasm", inspection.description.name)),
        size: Some(inspection.size),
        sha256: Some(inspection.sha256.clone()),
        ..manifest(inspection)
    };
    toml::to_string(&packed).context("plugin.toml cannot be written")
}

/// Returns the table of the operator's settings. It grants all requests of the plugin.
fn settings(inspection: &Inspection, file: &Path, example: &Example) -> Result<String> {
    let description = &inspection.description;
    let role = role(inspection);
    let table = if role.is_mapper() {
        "plugins.claim_mappers"
    } else {
        "plugins.approval_channels"
    };
    let mut text = String::new();
    writeln!(text, "[[{table}]]")?;
    writeln!(text, "name = {}", toml_text(&description.name))?;
    writeln!(text, "file = {}", toml_text(&file.to_string_lossy()))?;
    writeln!(text, "sha256 = {}", toml_text(&inspection.sha256))?;
    let (key, requested) = if role.is_mapper() {
        ("writes", &description.writes)
    } else {
        ("http_hosts", &description.hosts)
    };
    let open = requested.iter().any(|name| name == "*");
    let (names, note) = match example.hosts.as_slice() {
        hosts @ [_, ..] if open && !role.is_mapper() => (
            hosts,
            " # the hosts of the fixtures; replace them with your hosts",
        ),
        _ if open => (
            requested.as_slice(),
            " # list the names: the plugin leaves the choice to you",
        ),
        _ => (requested.as_slice(), ""),
    };
    let names: Vec<String> = names.iter().map(|name| toml_text(name)).collect();
    writeln!(text, "{key} = [{}]{note}", names.join(", "))?;
    writeln!(
        text,
        "# applications = [\"did:key:...\"]   # only for these; without the key, for all"
    )?;
    if role == Role::DelegatedApprovalChannel {
        writeln!(
            text,
            "# The server trusts each approval of the vendor, which can sign in as each user that has an identifier"
        )?;
        writeln!(
            text,
            "# for this channel, to each application of the channel."
        )?;
        writeln!(text, "trust = \"delegated\"")?;
        writeln!(
            text,
            "# shows_letters = true   # only if the vendor's app shows the letters beside the question"
        )?;
    }
    // JSON may have values that TOML cannot represent, such as null. Then the settings have no example.
    if let Some(config) = example
        .config
        .as_ref()
        .and_then(|config| toml::Table::try_from(config).ok())
        .filter(|table| !table.is_empty())
    {
        let nested = format!("{table}.config")
            .rsplit('.')
            .fold(config, |inner, name| {
                toml::Table::from_iter([(name.to_owned(), toml::Value::Table(inner))])
            });
        let config = toml::to_string(&nested)?;
        write!(
            text,
            "\n# An example, from the plugin's first fixture.\n{config}"
        )?;
    }
    Ok(text)
}

/// The settings in a plugin's fixtures.
#[derive(Default)]
pub struct Example {
    /// Settings that the plugin accepts: those of its first fixture that expects no rejection of the settings.
    pub config: Option<serde_json::Value>,
    /// The hosts to which a channel sends requests.
    hosts: Vec<String>,
}

impl Example {
    /// Reads the fixtures. Without fixtures there is no example.
    pub fn read(folder: &Path, role: Role) -> Self {
        if role.is_mapper() {
            let fixtures = fixtures::read::<fixtures::MapperFixture>(folder).unwrap_or_default();
            let good = |fixture: &fixtures::MapperFixture| {
                !matches!(fixture.expect, MapperOutcome::Invalid(_))
            };
            let first = fixtures.into_iter().map(|named| named.fixture).find(good);
            return Self {
                config: first.map(|fixture| fixture.config),
                hosts: Vec::new(),
            };
        }
        let fixtures = fixtures::read::<fixtures::ChannelFixture>(folder).unwrap_or_default();
        let requests = fixtures
            .iter()
            .flat_map(|named| &named.fixture.http)
            .map(|exchange| &exchange.request.url);
        let hosts: BTreeSet<&str> = requests
            .filter_map(|url| url.split_once("://")?.1.split('/').next())
            .collect();
        let hosts = hosts.into_iter().map(str::to_owned).collect();
        let good = |fixture: &fixtures::ChannelFixture| {
            !matches!(fixture.expect, ChannelOutcome::Invalid(_))
        };
        let first = fixtures.into_iter().map(|named| named.fixture).find(good);
        Self {
            config: first.map(|fixture| fixture.config),
            hosts,
        }
    }
}

#[cfg(test)]
mod tests {
    use assent_plugin_host::World;

    use super::*;

    #[test]
    fn the_packed_settings_list_the_decisions_of_the_operator() {
        let hosts = vec!["api.vendor.example".to_owned()];
        let of = |world: World| {
            let description =
                serde_json::json!({ "name": "vendor", "version": "1.0.0", "hosts": ["*"] });
            let inspection = Inspection {
                world,
                contract_version: "1.0.0".to_owned(),
                imports: Vec::new(),
                size: 0,
                sha256: String::new(),
                description: serde_json::from_value(description).expect("a description"),
            };
            settings(
                &inspection,
                Path::new("vendor.wasm"),
                &Example {
                    config: None,
                    hosts: hosts.clone(),
                },
            )
            .expect("settings")
        };
        let delegated = of(World::DelegatedChannel);
        assert!(delegated.contains("# applications = ["), "{delegated}");
        assert!(
            delegated.contains("can sign in as each user")
                && delegated.contains("\ntrust = \"delegated\"\n"),
            "{delegated}"
        );
        assert!(
            delegated.contains("http_hosts = [\"api.vendor.example\"] # the hosts of the fixtures"),
            "{delegated}"
        );
        assert!(
            delegated.contains("\n# shows_letters = true"),
            "the operator decides: {delegated}"
        );
        let carried = of(World::ApprovalChannel);
        assert!(
            carried.contains("# applications = [") && !carried.contains("trust"),
            "{carried}"
        );
    }
}
