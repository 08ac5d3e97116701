//! The links of the pages.

use std::path::{Component, Path, PathBuf};

use super::markdown::Page;
use super::{pages, root};
use crate::harness::read_file;

/// Normalizes a path: `a/../b` becomes `b`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

#[test]
fn each_link_leads_to_a_file_and_a_heading() {
    let pages = pages();
    let mut broken = Vec::new();
    for page in &pages {
        for link in page.links() {
            let target = link.target.as_str();
            if target.starts_with("http://")
                || target.starts_with("https://")
                || target.starts_with("mailto:")
            {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = page.path.parent().unwrap_or(Path::new(""));
            let path = match file {
                "" => page.path.clone(),
                file => normal(&folder.join(file)),
            };
            let place = format!("{}:{}: {target}", page.path.display(), link.line);
            if !root().join(&path).exists() {
                broken.push(format!("{place}: no such file"));
                continue;
            }
            // The book contains only the files in its folder.
            if page.path.starts_with("docs") && !path.starts_with("docs") {
                broken.push(format!("{place}: outside of the book"));
            }
            if !anchor.is_empty() && path.extension().is_some_and(|ending| ending == "md") {
                let known = pages.iter().find(|page| page.path == path);
                let parsed;
                let known = match known {
                    Some(known) => known,
                    None => {
                        parsed = Page::parse(path.clone(), read_file(root().join(&path)));
                        &parsed
                    }
                };
                if !known.anchors.iter().any(|one| one == anchor) {
                    broken.push(format!("{place}: no such heading"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Checks the files of mdBook's `{{#include ../../path}}`.
#[test]
fn each_included_file_exists() {
    let mut missing = Vec::new();
    for page in pages() {
        for part in page.text.split("{{#include ").skip(1) {
            let target = part.split("}}").next().unwrap_or_default();
            let file = target.split(':').next().unwrap_or_default();
            let folder = page.path.parent().unwrap_or(Path::new(""));
            if !root().join(normal(&folder.join(file))).is_file() {
                missing.push(format!("{}: {target}", page.path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
