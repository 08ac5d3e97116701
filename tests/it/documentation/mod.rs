//! The book in `docs` and the other pages of the project: the pages are complete, their links resolve, their settings
//! are valid, and their commands succeed as written.

mod commands;
mod endpoints;
mod links;
mod markdown;
mod snippets;
mod tutorials;

use std::path::{Path, PathBuf};

use crate::harness::read_file;
use markdown::Page;

/// The pages outside the book.
const OTHERS: [&str; 8] = [
    "README.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "packaging/compose/README.md",
    "packaging/helm/assent/README.md",
    "packaging/monitoring/README.md",
];
/// The longest page that is written by hand, in lines.
const LONGEST_PAGE: usize = 300;
/// The longest README, in lines.
const LONGEST_README: usize = 150;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_owned()
}

/// Returns the Markdown files below a folder, as paths from the root.
fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(markdown_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns all pages of the book and of the project, by their paths from the root.
fn pages() -> Vec<Page> {
    let root = root();
    let mut files = markdown_files(&root.join("docs"));
    files.extend(OTHERS.map(|file| root.join(file)));
    files
        .into_iter()
        .map(|file| {
            let path = file.strip_prefix(&root).expect("below the root").to_owned();
            Page::parse(path, read_file(&file))
        })
        .collect()
}

fn is_generated(page: &Page) -> bool {
    page.text.contains("<!-- Generated from ")
}

#[test]
fn generated_pages_match_the_code() {
    for page in assent_reference::pages(&root()).expect("the pages") {
        let file = root().join("docs/reference").join(page.file);
        assert!(
            read_file(&file) == page.text,
            "{} is out of date: run `make docs`",
            file.display()
        );
    }
}

#[test]
fn the_summary_has_each_page_of_the_book_once() {
    let summary = Page::parse(
        "docs/SUMMARY.md".into(),
        read_file(root().join("docs/SUMMARY.md")),
    );
    let mut listed: Vec<String> = summary.links().map(|link| link.target.clone()).collect();
    listed.sort();
    let files = markdown_files(&root().join("docs"));
    let mut there: Vec<String> = files
        .iter()
        .map(|file| file.strip_prefix(root().join("docs")).expect("below docs"))
        .map(|file| file.display().to_string())
        .filter(|file| file != "SUMMARY.md")
        .collect();
    there.sort();
    assert_eq!(listed, there);
}

#[test]
fn handwritten_pages_are_short() {
    let mut long = Vec::new();
    for page in pages() {
        let lines = page.text.lines().count();
        let longest = match page.path.to_str() {
            Some("README.md") => LONGEST_README,
            _ => LONGEST_PAGE,
        };
        if !is_generated(&page) && lines > longest {
            long.push(format!(
                "{}: {lines} lines, {longest} at most",
                page.path.display()
            ));
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn the_readme_has_short_sentences() {
    const LONGEST: usize = 30;
    let readme = Page::parse("README.md".into(), read_file(root().join("README.md")));
    let long: Vec<String> = readme
        .sentences()
        .into_iter()
        .filter(|sentence| sentence.split_whitespace().count() > LONGEST)
        .collect();
    assert!(long.is_empty(), "longer than {LONGEST} words: {long:#?}");
}
