//! An entry as one line of JSON, in an export and in a stream. The values have exactly the chained form, so a file of
//! such lines can be verified without the database.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::audit::chain::Record;

/// The line. Reading borrows the values.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    lane: i64,
    seq: i64,
    id: String,
    at: String,
    event: String,
    actor: Actor,
    user_id: Option<String>,
    application_id: Option<String>,
    approval_id: Option<String>,
    #[serde(borrow)]
    detail: &'a RawValue,
    #[serde(borrow)]
    personal: Option<&'a RawValue>,
    personal_salt: Option<String>,
    personal_digest: Option<String>,
    /// Only if a user changed another user's object.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    origin: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin_salt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin_digest: Option<String>,
    previous: String,
    digest: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Actor {
    kind: String,
    id: Option<String>,
}

/// Returns the entry as a line, without a line end.
///
/// # Errors
/// If the entry cannot be written as JSON.
pub fn write(record: &Record) -> Result<String, serde_json::Error> {
    let detail = raw(&record.detail)?;
    let personal = record.personal.as_deref().map(raw).transpose()?;
    let origin = record.origin.as_deref().map(raw).transpose()?;
    let line = Line {
        lane: record.lane,
        seq: record.seq,
        id: record.id.clone(),
        at: jiff::Timestamp::from_millisecond(record.at)
            .map(|at| at.to_string())
            .unwrap_or_default(),
        event: record.event.clone(),
        actor: Actor {
            kind: record.actor_kind.clone(),
            id: record.actor.clone(),
        },
        user_id: record.user.clone(),
        application_id: record.application.clone(),
        approval_id: record.approval.clone(),
        detail: &detail,
        personal: personal.as_deref(),
        personal_salt: record.salt.clone(),
        personal_digest: record.personal_digest.clone(),
        origin: origin.as_deref(),
        origin_salt: record.origin_salt.clone(),
        origin_digest: record.origin_digest.clone(),
        previous: record.previous.clone(),
        digest: record.digest.clone(),
    };
    serde_json::to_string(&line)
}

/// Returns the unchanged text. A value that is not JSON on one line was not written by the server. It becomes a string,
/// so that the rest can be exported, and verification detects it.
fn raw(text: &str) -> Result<Box<RawValue>, serde_json::Error> {
    let one_line = !text.contains(['\n', '\r']);
    match RawValue::from_string(text.to_owned()) {
        Ok(value) if one_line => Ok(value),
        _ => serde_json::value::to_raw_value(text),
    }
}

/// Parses a line.
///
/// # Errors
/// If the line is not an entry.
pub fn read(line: &str) -> Result<Record, serde_json::Error> {
    let line: Line<'_> = serde_json::from_str(line)?;
    let at: jiff::Timestamp = line
        .at
        .parse()
        .map_err(|_| serde::de::Error::custom("at: expected a moment"))?;
    Ok(Record {
        lane: line.lane,
        seq: line.seq,
        previous: line.previous,
        digest: line.digest,
        id: line.id,
        at: at.as_millisecond(),
        event: line.event,
        actor_kind: line.actor.kind,
        actor: line.actor.id,
        user: line.user_id,
        application: line.application_id,
        approval: line.approval_id,
        detail: line.detail.get().to_owned(),
        personal: line.personal.map(|personal| personal.get().to_owned()),
        salt: line.personal_salt,
        personal_digest: line.personal_digest,
        origin: line.origin.map(|origin| origin.get().to_owned()),
        origin_salt: line.origin_salt,
        origin_digest: line.origin_digest,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audit::chain::{Mark, Walk, personal_digest};
    use crate::secret::Digest;

    /// Any record, at its position after the first mark.
    fn any_record() -> impl Strategy<Value = Record> {
        let text = || "\\PC{0,12}";
        let some = || proptest::option::of(text());
        let about = (some(), some(), some(), some());
        let content = (
            proptest::collection::btree_map(text(), text(), 0..4),
            some(),
            some(),
            text(),
        );
        (
            0..4_000_000_000_000_i64,
            (text(), text(), text()),
            about,
            content,
        )
            .prop_map(
                |(
                    at,
                    (id, event, actor_kind),
                    (actor, user, application, approval),
                    (detail, personal, origin, salt),
                )| {
                    let origin = origin
                        .map(|address| serde_json::json!({ "ip_address": address }).to_string());
                    let personal =
                        personal.map(|name| serde_json::json!({ "name": name }).to_string());
                    let mut record = Record {
                        lane: 1,
                        seq: 0,
                        previous: String::new(),
                        digest: String::new(),
                        id,
                        at,
                        event,
                        actor_kind,
                        actor,
                        user,
                        application,
                        approval,
                        detail: serde_json::to_string(&detail).expect("JSON"),
                        personal_digest: personal
                            .as_ref()
                            .map(|text| personal_digest(&salt, text).to_text()),
                        salt: personal.is_some().then(|| salt.clone()),
                        personal,
                        origin_digest: origin
                            .as_ref()
                            .map(|text| personal_digest(&salt, text).to_text()),
                        origin_salt: origin.is_some().then_some(salt),
                        origin,
                    };
                    record.follow(&Mark::START);
                    record
                },
            )
    }

    proptest! {
        #[test]
        fn a_written_line_is_read_back_and_verifies(record in any_record()) {
            let line = write(&record).expect("written");
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(&read(&line).expect("read"), &record);
            prop_assert_eq!(Walk::after(1, Mark::START).step(&record), Ok(()));
        }

        /// Two different entries never have the same encoding, so their digests differ.
        #[test]
        fn different_entries_have_different_encodings(one in any_record(), other in any_record()) {
            let covered_part = |record: &Record| Record {
                digest: String::new(),
                personal: None,
                salt: None,
                origin: None,
                origin_salt: None,
                ..record.clone()
            };
            prop_assert_eq!(covered_part(&one) == covered_part(&other), one.content_digest() == other.content_digest());
            // A character that moves from one value to the next.
            let mut moved = one.clone();
            if let Some(letter) = moved.event.pop() {
                moved.actor_kind.insert(0, letter);
                prop_assert!(moved.content_digest() != one.content_digest());
            }
            let nothing = Record { user: Some(String::new()), ..one.clone() };
            prop_assert_eq!(nothing.content_digest() == one.content_digest(), one.user.as_deref() == Some(""));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = read(&text);
        }
    }

    #[test]
    fn invalid_json_is_exported_on_one_line_and_detected() {
        let mut record = Record {
            lane: 1,
            seq: 0,
            previous: String::new(),
            digest: String::new(),
            id: "id".to_owned(),
            at: 0,
            event: "event".to_owned(),
            actor_kind: "host".to_owned(),
            actor: None,
            user: None,
            application: None,
            approval: None,
            detail: "{}".to_owned(),
            personal: None,
            salt: None,
            personal_digest: None,
            origin: None,
            origin_salt: None,
            origin_digest: None,
        };
        record.follow(&Mark::START);
        for forged in ["{", "{\n}", "nonsense"] {
            record.detail = forged.to_owned();
            let line = write(&record).expect("written");
            let read = read(&line).expect("read");
            assert!(
                !line.contains('\n')
                    && Digest::from_text(&read.digest) != Some(read.content_digest()),
                "{line}"
            );
        }
    }

    /// External verifiers depend on the encoding, so a change needs a new version. Another program computed the
    /// digests.
    #[test]
    fn the_encoding_is_stable() {
        let mut record = read(concat!(
            r#"{"lane":1,"seq":1,"id":"019a","at":"2026-11-22T09:30:00.123Z","event":"user.created","actor":{"kind":"host","id":null},"#,
            r#""user_id":"u","application_id":null,"approval_id":null,"detail":{"a":[1,2.5]},"personal":{"name":"Ada"},"#,
            r#""personal_salt":"00ff","personal_digest":"","previous":"","digest":""}"#
        ))
        .expect("a line");
        record.personal_digest = Some(personal_digest("00ff", r#"{"name":"Ada"}"#).to_text());
        record.follow(&Mark::START);
        assert_eq!(
            record.personal_digest.as_deref(),
            Some("1024ca56885388ada60837587038969a3202715f1ee88b80c4012ce381c99f9f")
        );
        assert_eq!(
            record.digest,
            "152ba4b86e95e652b7ad5d1d3a1feb736c916a16d8cb96e9e703a44af6a9dc28"
        );
    }
}
