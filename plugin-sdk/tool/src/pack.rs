//! Packing: what an operator is given, and what they paste into their settings.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use assent::plugins::{Inspection, Workbench};
use assent_plugin_sdk::fixtures::{self, ChannelOutcome, MapperOutcome};

use crate::new::toml_text;
use crate::plugin::{Manifest, Plugin, Role, Source};
use crate::subject::{Subject, must_agree, must_be_grantable, role, sink_name};
use crate::toolchain::Choice;
use crate::trial;

/// Writes the folder `NAME-VERSION` and prints the settings.
#[allow(clippy::print_stdout, reason = "the settings are what the command is run for")]
pub fn pack(folder: &Path, out: Option<&Path>, force: bool, choice: Choice) -> Result<()> {
    let subject = Subject::of(folder, choice)?;
    let Some(plugin) = &subject.plugin else {
        bail!("{} is a file; give the folder of the plugin", folder.display());
    };
    if matches!(plugin.source, Source::Packed) {
        bail!("{} is packed already; give the folder of the plugin's project", folder.display());
    }
    let inspection = crate::wait(tried(&subject.component, plugin))??;
    let description = &inspection.description;
    if description.version.is_empty() || !description.version.bytes().all(in_a_version) {
        bail!("the version `{}` can't be part of a folder's name; give one such as 1.0.0", description.version);
    }
    let parent = out.map_or_else(|| plugin.folder.join("pack"), Path::to_owned);
    let packed = parent.join(format!("{}-{}", description.name, description.version));
    let file = packed.join(format!("{}.wasm", description.name));
    if !force {
        must_be_new(&file, &subject.component)?;
    }
    std::fs::create_dir_all(&packed).with_context(|| format!("{} can't be made", packed.display()))?;
    std::fs::copy(&subject.component, &file).with_context(|| format!("{} can't be written", file.display()))?;
    let manifest = packed.join("plugin.toml");
    std::fs::write(&manifest, manifest_text(&inspection)?)
        .with_context(|| format!("{} can't be written", manifest.display()))?;
    let file = file.canonicalize().with_context(|| format!("{} can't be found", file.display()))?;
    let config = example_config(&plugin.folder.join("fixtures"), role(&inspection));
    println!("# {}\n{}", packed.display(), settings(&inspection, &file, config.as_ref())?);
    Ok(())
}

/// What a component is, whose fixtures hold.
async fn tried(component: &Path, plugin: &Plugin) -> Result<Inspection> {
    let bench = trial::open(component).await?;
    let inspection = bench.inspection();
    must_agree(plugin, inspection)?;
    must_be_grantable(inspection)?;
    must_hold(&bench, &plugin.folder.join("fixtures")).await?;
    Ok(inspection.clone())
}

/// Fails where a fixture does not hold. A plugin need not have any.
async fn must_hold(bench: &Workbench, fixtures: &Path) -> Result<()> {
    if !fixtures.is_dir() {
        return Ok(());
    }
    let cases = trial::read(fixtures, bench.inspection().world)?;
    let mut failures = Vec::new();
    for case in &cases {
        failures.extend(case.failure(bench).await?);
    }
    if failures.is_empty() {
        return Ok(());
    }
    let (failed, shown) = (failures.len(), failures.join("\n"));
    bail!("{failed} of {} fixtures do not hold (- expected, + got), so nothing was packed\n{shown}", cases.len())
}

/// Fails where another component was packed under this version: somebody may run it already.
fn must_be_new(file: &Path, component: &Path) -> Result<()> {
    let Ok(packed) = std::fs::read(file) else { return Ok(()) };
    let made = std::fs::read(component).with_context(|| format!("{} can't be read", component.display()))?;
    if packed == made {
        return Ok(());
    }
    bail!(
        "{} is another component of the same version; give the plugin a new version, or replace that one with `--force`",
        file.display()
    )
}

fn in_a_version(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')
}

/// `plugin.toml` as an operator gets it. Every value is the component's own, or was compared with it.
fn manifest_text(inspection: &Inspection) -> Result<String> {
    let description = &inspection.description;
    let sinks = description.sinks.as_ref();
    let packed = Manifest {
        name: description.name.clone(),
        version: description.version.clone(),
        role: role(inspection),
        summary: description.summary.clone(),
        writes: description.writes.clone(),
        sinks: sinks.map(|sinks| sinks.iter().map(|sink| sink_name(*sink)).collect()),
        hosts: description.hosts.clone(),
        contract: Some(format!("{}@{}", inspection.world.package(), inspection.contract_version)),
        file: Some(format!("{}.wasm", description.name)),
        size: Some(inspection.size),
        sha256: Some(inspection.sha256.clone()),
    };
    toml::to_string(&packed).context("plugin.toml can't be written")
}

/// The table of the operator's settings, with everything granted that the plugin asks for.
fn settings(inspection: &Inspection, file: &Path, config: Option<&serde_json::Value>) -> Result<String> {
    let description = &inspection.description;
    let role = role(inspection);
    let table = if role.is_mapper() { "plugins.claims" } else { "plugins.approval_channels" };
    let mut text = String::new();
    writeln!(text, "[[{table}]]")?;
    writeln!(text, "name = {}", toml_text(&description.name))?;
    writeln!(text, "file = {}", toml_text(&file.to_string_lossy()))?;
    writeln!(text, "sha256 = {}", toml_text(&inspection.sha256))?;
    let (key, asked) =
        if role.is_mapper() { ("writes", &description.writes) } else { ("http_hosts", &description.hosts) };
    let names: Vec<String> = asked.iter().map(|name| toml_text(name)).collect();
    let open = asked.iter().any(|name| name == "*");
    let note = if open { " # name each yourself: the plugin leaves the choice to you" } else { "" };
    writeln!(text, "{key} = [{}]{note}", names.join(", "))?;
    writeln!(text, "# applications = [\"did:key:...\"]   # for these alone; without it, for all")?;
    if role == Role::DelegatedApprovalChannel {
        writeln!(
            text,
            "# With this its word counts as the person's: whoever answers for the vendor can sign in as anybody"
        )?;
        writeln!(text, "# whom the channel has an address of, to each application that it serves.")?;
        writeln!(text, "trust = \"delegated\"")?;
    }
    // JSON may have what TOML has not, such as null; then the operator writes the settings without an example.
    if let Some(config) = config.and_then(|config| toml::Table::try_from(config).ok()).filter(|table| !table.is_empty())
    {
        let nested = format!("{table}.config")
            .rsplit('.')
            .fold(config, |inner, name| toml::Table::from_iter([(name.to_owned(), toml::Value::Table(inner))]));
        let config = toml::to_string(&nested)?;
        write!(text, "\n# An example, from the plugin's first fixture.\n{config}")?;
    }
    Ok(text)
}

/// Settings that the plugin takes: those of its first fixture that does not refuse them.
fn example_config(folder: &Path, role: Role) -> Option<serde_json::Value> {
    if role.is_mapper() {
        let fixtures = fixtures::read::<fixtures::MapperFixture>(folder).ok()?;
        let good = |fixture: &fixtures::MapperFixture| !matches!(fixture.expect, MapperOutcome::Invalid(_));
        return fixtures.into_iter().map(|named| named.fixture).find(good).map(|fixture| fixture.config);
    }
    let fixtures = fixtures::read::<fixtures::ChannelFixture>(folder).ok()?;
    let good = |fixture: &fixtures::ChannelFixture| !matches!(fixture.expect, ChannelOutcome::Invalid(_));
    fixtures.into_iter().map(|named| named.fixture).find(good).map(|fixture| fixture.config)
}

#[cfg(test)]
mod tests {
    use assent::plugins::World;

    use super::*;

    #[test]
    fn the_settings_say_what_the_operator_decides() {
        let of = |world: World| {
            let description = serde_json::json!({ "name": "vendor", "version": "1.0.0", "hosts": ["*"] });
            let inspection = Inspection {
                world,
                contract_version: "1.0.0".to_owned(),
                imports: Vec::new(),
                size: 0,
                sha256: String::new(),
                description: serde_json::from_value(description).expect("a description"),
            };
            settings(&inspection, Path::new("vendor.wasm"), None).expect("settings")
        };
        let delegated = of(World::DelegatedChannel);
        assert!(delegated.contains("# applications = ["), "{delegated}");
        assert!(
            delegated.contains("can sign in as anybody") && delegated.contains("\ntrust = \"delegated\"\n"),
            "{delegated}"
        );
        let carried = of(World::ApprovalChannel);
        assert!(carried.contains("# applications = [") && !carried.contains("trust"), "{carried}");
    }
}
