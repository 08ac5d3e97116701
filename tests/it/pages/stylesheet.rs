//! The stylesheet and templates support right-to-left scripts.

use std::path::Path;

use crate::harness::read_file;

/// Properties and values that name a side, instead of the start or the end of a line.
const SIDES: [&str; 12] = [
    "margin-left",
    "margin-right",
    "padding-left",
    "padding-right",
    "border-left",
    "border-right",
    "text-align: left",
    "text-align: right",
    "float: left",
    "float: right",
    "-left-radius",
    "-right-radius",
];

#[test]
fn no_css_rule_uses_physical_directions() {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("host/server");
    let read = |name| read_file(host.join("assets").join(name));
    for line in (read("assent.css")
        + &read("portal.css")
        + &read("authenticator.css")
        + &read("console.css"))
        .lines()
    {
        let rule = line.trim();
        assert!(
            !SIDES.iter().any(|side| rule.contains(side)),
            "{rule}: name the start or the end instead"
        );
        assert!(
            !rule.starts_with("left:") && !rule.starts_with("right:"),
            "{rule}: use inset-inline"
        );
    }
}
