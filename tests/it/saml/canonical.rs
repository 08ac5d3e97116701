//! Canonical XML is identical to that of libxml2, byte by byte.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use assent_saml_core::xml::{Document, XmlError, XmlLimits, canonical};
use serde_json::{Value, json};

use super::documents::{Dice, damaged, document};
use crate::harness::{Parsed, parse_json, utf8};

/// Returns the minimum number of compared canonical forms. With `C14N_DOCUMENTS=1000000`, the test compares more than
/// `make test` has time for.
fn documents() -> u64 {
    std::env::var("C14N_DOCUMENTS").map_or(10_000, |number| number.parsed())
}

struct Case {
    document: String,
    /// Whether the document is undamaged, so that it must be readable.
    full_flow: bool,
    element: usize,
    inclusive: Vec<&'static str>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut text = document(&mut dice);
        let full_flow = !dice.once_in(4);
        if !full_flow {
            text = damaged(&mut dice, &text);
        }
        let elements =
            read(&text).map_or(1, |document| document.unverified().descendants().count());
        let element = if dice.once_in(2) {
            1
        } else {
            1 + dice.below(elements)
        };
        let prefixes = ["#default", "a", "b", "c", "é", "xs", "unknown"];
        let inclusive = if dice.once_in(2) {
            Vec::new()
        } else {
            prefixes.into_iter().filter(|_| dice.once_in(3)).collect()
        };
        Self {
            document: text,
            full_flow,
            element,
            inclusive,
        }
    }

    /// Returns the canonical form of this implementation, or the reason why there is none.
    fn form(&self) -> Result<String, String> {
        let document = read(&self.document).map_err(|error| error.to_string())?;
        let mut elements = document.unverified().descendants();
        let element = elements.nth(self.element - 1).expect("it was counted");
        let left_out = element
            .descendants()
            .skip(1)
            .find(|element| element.local_name() == "left-out");
        canonical(element, &self.inclusive, left_out).map_err(|error| error.to_string())
    }
}

fn read(text: &str) -> Result<Document, XmlError> {
    Document::read(text.as_bytes(), XmlLimits::METADATA)
}

/// Returns the results of libxml2 for these cases.
fn libxml2(cases: &[Case]) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("py/libxml2.py");
    let mut command = Command::new("python3");
    command
        .arg(script)
        .env("PYTHONUTF8", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut process = command
        .spawn()
        .expect("python3 is missing: run `make test`");
    let mut input = process.stdin.take().expect("its input");
    let returned: String = cases
        .iter()
        .map(|case| json!({"document": case.document, "element": case.element, "inclusive": case.inclusive}))
        .map(|returned| format!("{returned}\n"))
        .collect();
    let writing = std::thread::spawn(move || input.write_all(returned.as_bytes()));
    let output = process.wait_with_output().expect("its output");
    writing.join().expect("no panic").expect("it reads all");
    assert!(
        output.status.success(),
        "libxml2 is missing: run `make test`"
    );
    let text = utf8(output.stdout);
    text.lines().map(|line| parse_json(line)).collect()
}

/// Returns whether libxml2 rejects a namespace as a URI. It parses namespaces as URIs, including the digits of the
/// port.
fn is_about_uri(answer: &Value) -> bool {
    let why = answer["refused"].as_str().unwrap_or_default();
    why == "no canonical form" || why.ends_with("is not a valid URI")
}

#[test]
fn canonicalization_matches_libxml2() {
    let (mut compared, mut refused, mut seeds) = (0, 0, 0..);
    while compared < documents() {
        let seeds: Vec<u64> = seeds.by_ref().take(10_000).collect();
        let cases: Vec<Case> = seeds.iter().map(|seed| Case::new(*seed)).collect();
        let answers = libxml2(&cases);
        assert_eq!(answers.len(), cases.len());
        for ((case, answer), seed) in cases.iter().zip(answers).zip(seeds) {
            match case.form() {
                // libxml2 writes nothing if the element is omitted, or is inside an omitted element.
                Ok(_) if answer["form"] == "" => {}
                Ok(_) if !case.full_flow && is_about_uri(&answer) => {}
                Ok(form) => {
                    assert_eq!(
                        answer["form"], form,
                        "document {seed}: {}\n{answer}",
                        case.document
                    );
                    compared += 1;
                }
                Err(error) => {
                    assert!(
                        !case.full_flow,
                        "document {seed} is rejected: {error}\n{}",
                        case.document
                    );
                    refused += 1;
                }
            }
        }
    }
    println!(
        "{compared} canonical forms are those of libxml2; {refused} damaged documents were refused"
    );
}
