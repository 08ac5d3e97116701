//! The kind and the description of a component, for an operator before the grant of permissions.

use std::path::Path;

use anyhow::Result;
use assent_admin_client::terminal;
use assent_model::printable::line;
use assent_plugin_host::{Compiler, Inspection, inspect};

use crate::built_component::BuiltComponent;
use crate::description::{compare, must_be_grantable, role, sink_name};
use crate::process::wait;
use crate::toolchain::Choice;

/// The longest displayed line, in bytes.
const LONGEST: usize = 8 << 10;

/// Compiles a component within the server's limits, and shows its description and its requests. The `plugin.toml` of a
/// project or of a packed plugin must agree with them. The command does not write it, because a build does.
///
/// # Errors
/// If the server would not load the component, or `plugin.toml` does not agree with it.
pub fn check(path: &Path, choice: Choice) -> Result<()> {
    let subject = BuiltComponent::from_path(path, choice)?;
    let inspection = wait(inspect(&subject.component, &Compiler::of_this_program()))??;
    terminal::report_line(format_args!("{}", subject.component.display()));
    for (name, value) in lines(&inspection) {
        terminal::report_line(format_args!("  {name:<12}{}", line(&value, LONGEST)));
    }
    if let Some(plugin) = &subject.plugin {
        compare(plugin, &inspection)?;
        terminal::report_line(format_args!("  {:<12}agrees", "plugin.toml"));
    }
    must_be_grantable(&inspection)
}

fn lines(inspection: &Inspection) -> Vec<(&'static str, String)> {
    let description = &inspection.description;
    let list = |names: &[String]| {
        if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(", ")
        }
    };
    let mut lines = vec![
        (
            "plugin",
            format!(
                "{} {}: {}",
                description.name, description.version, description.summary
            ),
        ),
        ("role", role(inspection).to_string()),
        (
            "contract",
            format!(
                "{}@{}",
                inspection.world.package(),
                inspection.contract_version
            ),
        ),
        ("imports", list(&inspection.imports)),
        ("size", format!("{} bytes", thousands(&inspection.size))),
        ("sha256", inspection.sha256.clone()),
    ];
    if role(inspection).is_mapper() {
        let sinks = description.sinks.as_ref();
        let sinks = sinks.map(|sinks| {
            sinks
                .iter()
                .map(|sink| sink_name(*sink))
                .collect::<Vec<_>>()
                .join(", ")
        });
        lines.push(("writes", list(&description.writes)));
        lines.push(("sinks", sinks.unwrap_or_else(|| "every sink".to_owned())));
        let denies = if description.denies {
            "some sign-ins"
        } else {
            "nothing"
        };
        lines.push(("denies", denies.to_owned()));
    } else {
        lines.push(("hosts", list(&description.hosts)));
        let follows = if description.follow_redirects {
            "followed"
        } else {
            "not followed"
        };
        lines.push(("redirects", follows.to_owned()));
    }
    let properties = description
        .config_schema
        .as_ref()
        .and_then(|schema| schema.get("properties")?.as_object());
    let settings = properties.map(|properties| {
        properties
            .keys()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    });
    lines.push((
        "settings",
        settings.unwrap_or_else(|| "none described".to_owned()),
    ));
    lines
}

/// Formats a number with separators: `1,557,861`.
pub fn thousands<T: ToString>(number: &T) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators() {
        assert_eq!(
            ["7", "999", "1000", "1557861"].map(|number| thousands(&number)),
            ["7", "999", "1,000", "1,557,861"]
        );
    }
}
