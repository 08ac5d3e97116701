//! The summary of a type of authorization details.

use super::action::RegisteredType;
use super::escape::{quoted_list, unquoted};
use super::joined::sentences;
use crate::messages::Message;
use assent_model::authorization_details::outline::{MemberOutline, ValueOutline};
use assent_model::authorization_details::schema::DetailsSchema;
use assent_model::language::Language;

/// Returns the summary of a type, with its text in each language, and with the values that each member of the schema
/// permits.
pub(super) fn message(registered: &RegisteredType) -> Message {
    let name = unquoted(registered.definition.name.as_str());
    let first = match registered.replaces {
        true => Message::new("action-replace-details-type").text("name", name),
        false => Message::new("action-register-details-type").text("name", name),
    };
    let template = |language: &Language| {
        let templates = &registered.definition.templates;
        unquoted(templates.get(language).map_or("", String::as_str))
    };
    let texts = [
        Message::new("action-details-type-english").text("text", template(&Language::English)),
        Message::new("action-details-type-german").text("text", template(&Language::German)),
    ];
    let members: Vec<Message> = match DetailsSchema::parse(&registered.definition.schema) {
        Ok(schema) => schema.outline().iter().map(member).collect(),
        // The plan checked it. The execution rejects what an earlier version accepted.
        Err(_) => vec![Message::new("action-details-type-invalid")],
    };
    let second = registered
        .definition
        .second_approver_group
        .map(|group| Message::new("action-details-type-second").text("group", group.to_string()));
    sentences(
        [first]
            .into_iter()
            .chain(second)
            .chain(texts)
            .chain(members),
    )
}

fn member(outline: &MemberOutline<'_>) -> Message {
    let path = outline.path.as_str();
    let values = match &outline.values {
        ValueOutline::Text { least, most } => Message::new("action-details-text")
            .text("member", path)
            .text("least", least.to_string())
            .text("most", most.to_string()),
        ValueOutline::Choice(choices) => Message::new("action-details-choice")
            .text("member", path)
            .message("choices", quoted_list(choices.iter().map(String::as_str))),
        ValueOutline::Integer { least, most } => number(path, *least, *most),
        ValueOutline::Object => Message::new("action-details-object").text("member", path),
    };
    let values = match outline.list {
        None => values,
        Some((least, most)) => Message::new("action-details-list")
            .message("values", values)
            .text("least", least.to_string())
            .text("most", most.to_string()),
    };
    match outline.is_required {
        true => values,
        false => Message::new("action-details-optional").message("values", values),
    }
}

/// Returns the limits of a number as text: they may have more digits than a number of a message.
fn number(path: &str, least: Option<i64>, most: Option<i64>) -> Message {
    match (least, most) {
        (None, None) => Message::new("action-details-integer").text("member", path),
        (Some(least), None) => Message::new("action-details-integer-from")
            .text("member", path)
            .text("least", least.to_string()),
        (None, Some(most)) => Message::new("action-details-integer-to")
            .text("member", path)
            .text("most", most.to_string()),
        (Some(least), Some(most)) => Message::new("action-details-integer-between")
            .text("member", path)
            .text("least", least.to_string())
            .text("most", most.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use assent_model::authorization_details::type_definition::TypeSource;

    fn summary(schema: Value, language: Language) -> String {
        let definition = TypeSource {
            name: "payment".parse().expect("a name"),
            schema,
            templates: BTreeMap::from(Language::ALL.map(|language| (language, "Pay".to_owned()))),
            second_approver_group: None,
        };
        let registered = RegisteredType {
            definition,
            replaces: true,
        };
        message(&registered).plain(language)
    }

    #[test]
    fn each_member_has_a_sentence() {
        let schema = json!({
            "type": "object",
            "properties": {
                "amount": {"type": "string", "maxLength": 12},
                "creditor": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "minLength": 2, "maxLength": 9}},
                },
                "currency": {"type": "string", "enum": ["EUR", "CHF"]},
                "days": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 30}, "maxItems": 3},
            },
            "required": ["amount", "currency", "creditor"],
        });
        assert_eq!(
            summary(schema.clone(), Language::English),
            "Replace the type of authorization details “payment”. Its English text is “Pay”. Its German text is “Pay”. \
             “amount” is a text of 1 to 12 characters. “creditor” has members. \
             “creditor.name” is a text of 2 to 9 characters, and may be absent. “currency” is one of “EUR”, “CHF”. \
             “days” is a whole number from 1 to 30, in a list of 1 to 3, and may be absent"
        );
        assert!(summary(schema, Language::German).ends_with(
            "„days“ ist eine ganze Zahl von 1 bis 30, in einer Liste von 1 bis 3, und darf fehlen"
        ));
    }

    #[test]
    fn each_change_of_the_schema_changes_the_text() {
        let of = |member: Value, required: Value| {
            let schema =
                json!({"type": "object", "properties": {"a": member}, "required": required});
            summary(schema, Language::English)
        };
        let members = [
            json!({"type": "integer"}),
            json!({"type": "integer", "minimum": 5}),
            json!({"type": "integer", "maximum": 5}),
            json!({"type": "integer", "minimum": 4, "maximum": 5}),
            json!({"type": "string", "maxLength": 5}),
            json!({"type": "string", "maxLength": 6}),
            json!({"type": "string", "enum": ["b"]}),
            json!({"type": "string", "enum": ["b", "c"]}),
            json!({"type": "array", "items": {"type": "integer"}, "maxItems": 2}),
            json!({"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
            json!({"type": "object", "properties": {"b": {"type": "integer"}}}),
        ];
        let texts = members.iter().flat_map(|member| {
            [json!([]), json!(["a"])].map(|required| of(member.clone(), required))
        });
        let texts: std::collections::BTreeSet<String> = texts.collect();
        assert_eq!(texts.len(), 2 * members.len());
    }
}
