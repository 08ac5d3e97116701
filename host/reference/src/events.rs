//! The events of the audit log.

use std::path::Path;

use crate::markdown::{code, heading, prose, table};
use crate::sources::entries;

const INTRODUCTION: &str = "\
Each entry of the audit log has one of these events. The names are stable. [The audit
log](../administrators/audit-log.md) explains how to read and verify the entries.

";

pub(crate) fn page(root: &Path) -> anyhow::Result<String> {
    let mut events = entries(&root.join("host/model/src/audit/mod.rs"), "events")?;
    events.sort_by(|one, other| one.text.cmp(&other.text));
    let rows = events
        .iter()
        .map(|event| [code(&event.text), prose(&event.about)]);
    Ok(heading("Audit events", "host/model/src/audit/mod.rs")
        + INTRODUCTION
        + table(["Event", "Meaning"], rows).trim_end()
        + "\n")
}
