//! The contracts of plugins.

use std::path::Path;

use anyhow::Context;

use crate::markdown::heading;

const INTRODUCTION: &str = "\
A plugin is a WebAssembly component that implements one of these contracts. Each contract has a version of its own; a
server serves all released versions. [Write a plugin](../developers/plugins.md) shows how to start.

";

/// The file of each contract, and its subject.
const CONTRACTS: [(&str, &str); 3] = [
    ("wit/claims@1.0.0/claims.wit", "Claim mappers"),
    ("wit/approval@1.0.0/approval.wit", "Approval channels"),
    ("wit/host@1.0.0/host.wit", "Functions of the host"),
];

pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let mut page = heading("Plugin contracts", "the folder wit") + INTRODUCTION;
    for (file, title) in CONTRACTS {
        let text = std::fs::read_to_string(root.join(file)).context(file)?;
        page.push_str(&format!(
            "## {title}\n\n```wit\n{}\n```\n\n",
            text.trim_end()
        ));
    }
    Ok(page.trim_end().to_owned() + "\n")
}
