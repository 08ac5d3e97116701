//! The comparison of texts with the committed ones. With `UPDATE_SNAPSHOTS=1` the test writes the files instead.

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::{read_file, write_file};

/// The number of lines that a failure shows before the first difference, and of each text after it.
const CONTEXT: usize = 4;
const SHOWN: usize = 12;

/// Compares the texts with the files in a folder of `expected`, by their names. A file without a text is an error.
pub(super) fn assert_snapshots(folder: &str, texts: &BTreeMap<String, String>) {
    let path = super::folder().join("expected").join(folder);
    let files = files_in(&path);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(&path).expect("a folder");
        for file in files.iter().filter(|file| !texts.contains_key(*file)) {
            std::fs::remove_file(path.join(file)).expect("removed");
        }
        for (name, text) in texts {
            write_file(path.join(name), text);
        }
        return;
    }
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| !texts.contains_key(*file)) {
        problems.push(format!(
            "{}: no test writes this file",
            path.join(file).display()
        ));
    }
    for (name, text) in texts {
        let file = path.join(name);
        if !files.contains(name) {
            problems.push(format!("{}: the file is missing", file.display()));
            continue;
        }
        if let Some(difference) = difference(&read_file(&file), text) {
            problems.push(format!("{}{difference}", file.display()));
        }
    }
    assert!(
        problems.is_empty(),
        "{} snapshots differ; if this is intended, run the test with UPDATE_SNAPSHOTS=1\n\n{}",
        problems.len(),
        problems
            .iter()
            .take(5)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n\n")
    );
}

fn files_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let entries = entries.map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Returns the first different lines with some context.
fn difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (expected.split('\n').collect(), found.split('\n').collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new);
    let at = same.count();
    let mut text = format!(":{}\n", at + 1);
    let mut show = |mark: &str, lines: &[&str]| {
        for line in lines {
            text.push_str(&format!("{mark} {line}\n"));
        }
    };
    show(" ", &old[at.saturating_sub(CONTEXT)..at]);
    // Lines that are equal at the end of both are no difference.
    let end = old[at..].iter().rev().zip(new[at..].iter().rev());
    let end = end.take_while(|(old, new)| old == new).count();
    let part = |lines: &[&str]| lines.len().saturating_sub(end).clamp(at, at + SHOWN);
    show("-", &old[at..part(&old)]);
    show("+", &new[at..part(&new)]);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_shows_the_first_different_lines() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let shown = difference("a\nb\nc\nd", "a\nb\nx\nd").expect("a difference");
        assert_eq!(shown, ":3\n  a\n  b\n- c\n+ x\n");
        let shown = difference("a\nb", "a\nb\nc").expect("a difference");
        assert_eq!(shown, ":3\n  a\n  b\n+ c\n");
    }
}
