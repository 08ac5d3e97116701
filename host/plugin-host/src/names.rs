//! The names of claims and attributes in descriptions, settings and results. They are untrusted input.

use super::description::Description;
use assent_model::printable::{is_printable, line};

/// The longest name, in characters.
const LONGEST: usize = 256;
/// The longest summary, in bytes.
const LONGEST_SUMMARY: usize = 1 << 10;

/// Returns the reason why a text cannot be the name of a claim or attribute, as the end of a sentence about it. `None`
/// if the text is a valid name.
pub(super) fn fault_of(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.chars().nth(LONGEST).is_some() {
        Some("is longer than 256 characters")
    } else if !name.chars().all(|character| {
        is_printable(character) && (character == ' ' || !character.is_whitespace())
    }) {
        Some("has a control character, a line end or another character that is not shown")
    } else if name.starts_with(' ') || name.ends_with(' ') {
        Some("begins or ends with a space")
    } else {
        None
    }
}

/// Returns whether a text is a valid name of a claim or attribute.
pub(super) fn is_name(name: &str) -> bool {
    fault_of(name).is_none()
}

/// Returns the name in a grant: `NAME` for `attribute:NAME`.
pub(super) fn name_in_grant(grant: &str) -> &str {
    grant.strip_prefix("attribute:").unwrap_or(grant)
}

/// Checks that the names in a description can be displayed, logged and compared. The error is the end of a sentence
/// about the plugin.
pub(super) fn check_names(mut description: Description) -> Result<Description, String> {
    let Description {
        name,
        version,
        writes,
        hosts,
        ..
    } = &description;
    let own = [("name", name.as_str()), ("version", version.as_str())];
    // The plugin's own name and version are optional.
    let own = own.into_iter().filter(|(_, text)| !text.is_empty());
    let writes = writes.iter().map(|grant| ("writes", name_in_grant(grant)));
    let hosts = hosts.iter().map(|host| ("hosts", host.as_str()));
    for (member, text) in own.chain(writes).chain(hosts) {
        if let Some(why) = fault_of(text) {
            return Err(format!(
                "its description has in `{member}` the text `{}`, which {why}",
                line(text, LONGEST)
            ));
        }
    }
    description.summary = line(&description.summary, LONGEST_SUMMARY);
    Ok(description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_printable() {
        let long = "n".repeat(LONGEST);
        for good in [
            "department",
            "https://example.com/claims/role",
            "First name",
            "Straße",
            "urn:oid:2.5.4.42",
            &long,
        ] {
            assert_eq!(fault_of(good), None, "{good}");
        }
        for bad in [
            "",
            " a",
            "a ",
            "a\nb",
            "a\r",
            "a\x1b[31m",
            "a\0",
            "a\u{202e}b",
            "a\u{2028}b",
            "a\u{200b}",
            "a\u{a0}b",
        ] {
            assert!(fault_of(bad).is_some(), "{bad:?}");
        }
        assert_eq!(
            fault_of(&format!("{long}n")),
            Some("is longer than 256 characters")
        );
    }

    #[test]
    fn names_in_a_description_are_printable() {
        let of = |json: serde_json::Value| {
            check_names(serde_json::from_value(json).expect("a description"))
        };
        let good = serde_json::json!({"name": "a", "version": "", "summary": "One.\nTwo\u{202e}.", "writes": ["*",
            "attribute:*", "role"]});
        assert_eq!(of(good).expect("good").summary, "One. Two .");
        for (member, value) in [
            ("name", serde_json::json!("a\x1b[2J")),
            ("version", serde_json::json!("1\r\n2")),
            ("writes", serde_json::json!(["a\u{202e}"])),
            ("writes", serde_json::json!(["attribute:a\nb"])),
            ("writes", serde_json::json!(["attribute:"])),
            ("hosts", serde_json::json!(["push.example\u{2066}"])),
        ] {
            let mut json = serde_json::json!({"name": "a", "version": "1"});
            json[member] = value;
            let error = of(json).expect_err("rejected");
            assert!(
                error.contains(&format!("`{member}`")) && error.chars().all(is_printable),
                "{error:?}"
            );
        }
    }
}
