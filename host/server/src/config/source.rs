//! The source of a setting: a line of the file, or an environment variable.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::environment::variable_of;

/// The settings file with its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettingsFile<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl SettingsFile<'_> {
    /// Returns the source of the value of a key: the environment variable if it is set, else the file and line.
    pub(super) fn source_of(&self, key: &str) -> String {
        variable_of(key).unwrap_or_else(|| self.place_of(key))
    }

    /// Returns the file, and the line of the key, or of a table that it belongs to, if the file has it.
    pub(super) fn place_of(&self, key: &str) -> String {
        let path = self.path.display();
        match self.offset_of(key) {
            Some(offset) => format!("{path}:{}", self.position_at(offset).0),
            None => path.to_string(),
        }
    }

    /// Returns the file with a line and a column.
    pub(super) fn place_at(&self, offset: usize) -> String {
        let (line, column) = self.position_at(offset);
        format!("{}:{line}:{column}", self.path.display())
    }

    /// Returns the line and the column, each from 1.
    fn position_at(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or_default();
        (
            before.matches('\n').count() + 1,
            before.chars().rev().take_while(|c| *c != '\n').count() + 1,
        )
    }

    /// Returns the offset of the last part of the key that the file has.
    fn offset_of(&self, key: &str) -> Option<usize> {
        let root = DeTable::parse(self.text).ok()?;
        let mut parts = key.split('.');
        let (mut offset, mut value) = entry(root.get_ref(), parts.next()?)?;
        for part in parts {
            let below = match value {
                DeValue::Table(table) => entry(table, part),
                DeValue::Array(items) => part
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index))
                    .map(|item| (item.span().start, item.get_ref())),
                _ => None,
            };
            match below {
                Some(below) => (offset, value) = below,
                None => break,
            }
        }
        Some(offset)
    }
}

fn entry<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<(usize, &'t DeValue<'i>)> {
    let found = table.iter().find(|(name, _)| name.get_ref() == key);
    found.map(|(name, value)| (name.span().start, Spanned::get_ref(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_tables_lists_and_inline_tables() {
        let text = "base_url = \"x\"\n\n[http]\nlisten = \"a\"\ntls = { key_file = \"k\" }\n\
                    [[plugins.claim_mappers]]\nname = \"a\"\n[[plugins.claim_mappers]]\nname = \"b\"\n\
                    [approvals]\ndenial_cooldowns = [\n  \"1s\",\n  \"2\",\n]\n";
        let file = SettingsFile {
            path: Path::new("FILE"),
            text,
        };
        for (key, place) in [
            ("base_url", "FILE:1"),
            ("http.listen", "FILE:4"),
            ("http.tls.key_file", "FILE:5"),
            ("plugins.claim_mappers.1.name", "FILE:9"),
            ("approvals.denial_cooldowns.1", "FILE:13"),
            // The file has only the table.
            ("http.mtls.listen", "FILE:3"),
            ("session.idle_timeout", "FILE"),
        ] {
            assert_eq!(file.place_of(key), place, "{key}");
        }
        assert_eq!(file.place_at(text.len()), "FILE:15:1");
        let broken = SettingsFile {
            path: Path::new("FILE"),
            text: "a = ",
        };
        assert_eq!(broken.place_of("a"), "FILE");
    }
}
