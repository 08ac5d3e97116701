//! The changes by a reload or rollback of the plugins, as text for a terminal.

use serde::Deserialize;

use assent_admin_client::terminal::harmless;

/// The operations that replace the plugins.
const EXCHANGES: [&str; 2] = ["plugins.reload", "plugins.rollback"];

#[derive(Deserialize)]
struct Plugins {
    #[serde(default)]
    plugins: Vec<Plugin>,
    last_reload: Option<Reload>,
    previous: Option<Previous>,
    /// The replacement continues in the background.
    #[serde(default)]
    reloading: bool,
}

#[derive(Deserialize)]
struct Previous {
    plugins: Vec<Plugin>,
}

#[derive(Deserialize, PartialEq)]
struct Plugin {
    plugin: String,
    version: String,
    sha256: String,
}

#[derive(Deserialize)]
struct Reload {
    #[serde(default)]
    needs_restart: Vec<String>,
}

/// Whether the response of this operation is about a replacement of the plugins.
pub(super) fn is(operation: &str) -> bool {
    EXCHANGES.contains(&operation)
}

/// Returns the text for a response: the loaded plugins, and the changes of each.
///
/// # Errors
/// If the response does not match its schema.
pub(super) fn text(operation: &str, bytes: &[u8]) -> anyhow::Result<String> {
    let Plugins {
        plugins,
        last_reload,
        previous,
        reloading,
    } = serde_json::from_slice(bytes)?;
    if reloading {
        return Ok(
            "The reload continues in the background. `assent plugins list` shows in last_reload how it ended.\n"
                .to_owned(),
        );
    }
    let before = previous
        .map(|previous| previous.plugins)
        .unwrap_or_default();
    let (done, count) = (
        if operation.ends_with("rollback") {
            "rolled back"
        } else {
            "reloaded"
        },
        plugins.len(),
    );
    let mut shown = format!("Plugins {done}: {count} loaded.\n");
    for plugin in &plugins {
        let was = before.iter().find(|other| other.plugin == plugin.plugin);
        let (name, digest) = (harmless(&plugin.plugin), short(&plugin.sha256));
        let version = harmless(&plugin.version);
        shown.push_str(&match was {
            None => format!("  {name}: new, {version} (sha256 {digest})\n"),
            Some(was) if was == plugin => format!("  {name}: same component, {version}\n"),
            Some(was) => format!(
                "  {name}: {} (sha256 {}) -> {version} (sha256 {digest})\n",
                harmless(&was.version),
                short(&was.sha256)
            ),
        });
    }
    let is_gone = |was: &&Plugin| !plugins.iter().any(|plugin| plugin.plugin == was.plugin);
    for was in before.iter().filter(is_gone) {
        shown.push_str(&format!("  {}: removed\n", harmless(&was.plugin)));
    }
    if !done.starts_with("rolled") {
        shown.push_str("Each plugin has the settings of the file as it is now.\n");
    }
    if let Some(Reload { needs_restart }) =
        last_reload.filter(|reload| !reload.needs_restart.is_empty())
    {
        let tables = needs_restart
            .iter()
            .map(|table| harmless(table))
            .collect::<Vec<_>>()
            .join(", ");
        shown.push_str(&format!(
            "These settings changed too, and need a restart: {tables}.\n"
        ));
    }
    Ok(shown)
}

/// Returns the beginning of a digest, for comparison by eye.
fn short(digest: &str) -> String {
    format!(
        "{}…",
        harmless(&digest.chars().take(12).collect::<String>())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_reload_lists_the_changed_plugins() {
        let answer = r#"{"plugins": [
                {"plugin": "same", "version": "1.0.0", "sha256": "aaaaaaaaaaaaaaaa"},
                {"plugin": "newer", "version": "1.1.0", "sha256": "cccccccccccccccc"},
                {"plugin": "added", "version": "0.1.0", "sha256": "dddddddddddddddd"}],
            "last_reload": {"at": "now", "error": null, "needs_restart": ["http", "store"]},
            "previous": {"at": "now", "digest": "x", "plugins": [
                {"plugin": "same", "version": "1.0.0", "sha256": "aaaaaaaaaaaaaaaa"},
                {"plugin": "newer", "version": "1.0.0", "sha256": "bbbbbbbbbbbbbbbb"},
                {"plugin": "old", "version": "1.0.0", "sha256": "eeeeeeeeeeeeeeee"}]}}"#;
        assert_eq!(
            text("plugins.reload", answer.as_bytes()).expect("read"),
            "Plugins reloaded: 3 loaded.\n  same: same component, 1.0.0\n  \
             newer: 1.0.0 (sha256 bbbbbbbbbbbb…) -> 1.1.0 (sha256 cccccccccccc…)\n  \
             added: new, 0.1.0 (sha256 dddddddddddd…)\n  old: removed\n\
             Each plugin has the settings of the file as it is now.\n\
             These settings changed too, and need a restart: http, store.\n"
        );
    }

    #[test]
    fn an_unfinished_reload_is_not_reported_as_done() {
        let answer = r#"{"plugins": [], "last_reload": null, "previous": null, "reloading": true}"#;
        let output = text("plugins.reload", answer.as_bytes()).expect("read");
        assert!(
            output.starts_with("The reload continues in the background."),
            "{output}"
        );
    }
}
