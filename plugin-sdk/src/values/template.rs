//! Templates in settings: texts with names in braces that stand for data of the user.

use std::collections::BTreeMap;

/// The largest number of texts from one template, if it names lists.
pub const MOST: usize = 1_000;

/// A template: a text in which `{name}` stands for the value with that name. `{{` and `}}` stand for braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Named(String),
}

/// The reason why a text is not a template. It is the end of a sentence that begins with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// `{email`
    #[error("has a `{{` without its `}}`; a brace itself is written twice")]
    Unclosed,
    /// `email}`
    #[error("has a `}}` without its `{{`; a brace itself is written twice")]
    Unopened,
    /// `{}`, or braces around a text that cannot be the name of a claim, such as JSON.
    #[error("has no name of a claim between `{{` and `}}`; a brace itself is written twice")]
    NoName,
}

/// The lists that a template names would result in more than [`MOST`] texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("results in more than {MOST} values")]
pub struct TooManyValuesError;

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// See [`TemplateError`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, braces) = rest.split_at(at);
            literal.push_str(before);
            rest = if let Some(after) = braces.strip_prefix("{{") {
                literal.push('{');
                after
            } else if let Some(after) = braces.strip_prefix("}}") {
                literal.push('}');
                after
            } else {
                let inside = braces.strip_prefix('{').ok_or(TemplateError::Unopened)?;
                let (name, after) = inside.split_once('}').ok_or(TemplateError::Unclosed)?;
                if name.is_empty()
                    || name.contains(|c: char| c == '{' || c == '"' || c.is_whitespace())
                {
                    return Err(TemplateError::NoName);
                }
                parts.push(Part::Text(std::mem::take(&mut literal)));
                parts.push(Part::Named(name.to_owned()));
                after
            };
        }
        literal.push_str(rest);
        parts.push(Part::Text(literal));
        Ok(Self { parts })
    }

    /// Returns whether the text is the same for every user.
    pub fn is_literal(&self) -> bool {
        self.names().next().is_none()
    }

    /// Returns the texts of the template, usually one. The list is empty if `known` has no value for one of the names.
    /// If the template names lists, there is one text for each combination of their members. Inserted values are not
    /// parsed as templates.
    ///
    /// # Errors
    /// [`TooManyValuesError`] if there would be more than [`MOST`] texts.
    pub fn fill(
        &self,
        known: impl Fn(&str) -> Vec<String>,
    ) -> Result<Vec<String>, TooManyValuesError> {
        // A repeated name has the same value each time.
        let mut choices = vec![BTreeMap::new()];
        for name in self.names() {
            if choices.iter().all(|choice| choice.contains_key(name)) {
                continue;
            }
            let texts = known(name);
            if texts.len().saturating_mul(choices.len()) > MOST {
                return Err(TooManyValuesError);
            }
            let chosen = |choice: &BTreeMap<_, _>, text: &String| {
                let mut choice = choice.clone();
                choice.insert(name, text.clone());
                choice
            };
            choices = choices
                .iter()
                .flat_map(|choice| texts.iter().map(|text| chosen(choice, text)))
                .collect();
        }
        Ok(choices.iter().map(|choice| self.text(choice)).collect())
    }

    /// Returns the name if the template is one name in braces and nothing else.
    pub fn sole_name(&self) -> Option<&str> {
        let mut written = self
            .parts
            .iter()
            .filter(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        match (written.next(), written.next()) {
            (Some(Part::Named(name)), None) => Some(name),
            _ => None,
        }
    }

    /// Returns the names in braces, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Named(name) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    fn text(&self, choice: &BTreeMap<&str, String>) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Named(name) => choice.get(name.as_str()).map_or("", String::as_str),
        });
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts_of(name: &str) -> Vec<String> {
        let texts: &[&str] = match name {
            "email" => &["ada@example.org"],
            "roles" => &["admin", "auditor"],
            "sites" => &["north", "south"],
            "sly" => &["{email}"],
            "many" => return (0..=MOST).map(|number| number.to_string()).collect(),
            _ => &[],
        };
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn filled(text: &str) -> Vec<String> {
        Template::parse(text)
            .expect("a value")
            .fill(texts_of)
            .expect("values")
    }

    #[test]
    fn names_are_replaced_by_their_values() {
        assert_eq!(filled("{email}"), ["ada@example.org"]);
        assert_eq!(filled("mailto:{email}?"), ["mailto:ada@example.org?"]);
        assert_eq!(filled("{email}{email}"), ["ada@example.orgada@example.org"]);
        assert_eq!(filled("staff"), ["staff"]);
        assert_eq!(filled(""), [""]);
    }

    #[test]
    fn a_value_is_repeated_for_each_member_of_a_list() {
        assert_eq!(filled("{roles}"), ["admin", "auditor"]);
        assert_eq!(
            filled("{email}/{roles}"),
            ["ada@example.org/admin", "ada@example.org/auditor"]
        );
        assert_eq!(
            filled("{roles}={roles}"),
            ["admin=admin", "auditor=auditor"]
        );
        assert_eq!(
            filled("{roles}@{sites}"),
            [
                "admin@north",
                "admin@south",
                "auditor@north",
                "auditor@south"
            ]
        );
    }

    #[test]
    fn a_value_with_an_unknown_name_is_omitted() {
        assert!(filled("{nothing}").is_empty());
        assert!(filled("{email} {nothing} {nothing} {roles}").is_empty());
    }

    #[test]
    fn the_number_of_values_from_lists_is_limited() {
        assert_eq!(
            Template::parse("{many}").expect("a value").fill(texts_of),
            Err(TooManyValuesError)
        );
        assert_eq!(
            Template::parse("{nothing}{many}")
                .expect("a value")
                .fill(texts_of),
            Ok(Vec::new())
        );
    }

    #[test]
    fn inserted_values_are_not_expanded_again() {
        assert_eq!(filled("{sly}"), ["{email}"]);
    }

    #[test]
    fn literal_braces_are_written_twice() {
        assert_eq!(filled("{{email}}"), ["{email}"]);
        assert_eq!(filled("{{{email}}}"), ["{ada@example.org}"]);
        assert_eq!(
            filled(r#"{{"roles":"{roles}"}}"#),
            [r#"{"roles":"admin"}"#, r#"{"roles":"auditor"}"#]
        );
    }

    #[test]
    fn a_sole_name_is_distinguished_from_one_in_a_text() {
        let parsed = |text: &str| Template::parse(text).expect("a value");
        assert_eq!(parsed("{email}").sole_name(), Some("email"));
        for text in ["", "email", "{email} ", "<{email}", "{email}{email}"] {
            assert_eq!(parsed(text).sole_name(), None, "{text}");
        }
        assert_eq!(
            parsed("{{x}} {a}-{b}").names().collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn unmatched_braces_and_invalid_names_are_errors() {
        for (text, error) in [
            ("{email", TemplateError::Unclosed),
            ("a {{{", TemplateError::Unclosed),
            ("email}", TemplateError::Unopened),
            ("{{email}", TemplateError::Unopened),
            ("{}", TemplateError::NoName),
            ("{e mail}", TemplateError::NoName),
            ("{{{e{mail}}", TemplateError::NoName),
            (r#"{"role":"admin"}"#, TemplateError::NoName),
        ] {
            assert_eq!(Template::parse(text), Err(error), "{text}");
        }
    }

    /// The server checks templates when it saves them, and has a test with the same table.
    #[test]
    fn the_grammar_matches_the_server() {
        let table: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("grammar.json")).expect("a table");
        for case in table {
            let text = case["text"].as_str().expect("a text");
            let read = match Template::parse(text) {
                Ok(template) => {
                    serde_json::json!({ "text": text, "names": template.names().collect::<Vec<_>>() })
                }
                Err(TemplateError::Unclosed) => {
                    serde_json::json!({ "text": text, "error": "unclosed", "at": case["at"] })
                }
                Err(TemplateError::Unopened) => {
                    serde_json::json!({ "text": text, "error": "unopened", "at": case["at"] })
                }
                Err(TemplateError::NoName) => {
                    serde_json::json!({ "text": text, "error": "no_name", "at": case["at"] })
                }
            };
            assert_eq!(read, case);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop_oneof![".*", "[{}a\"é ]{0,20}"]) {
            if let Ok(template) = Template::parse(&text) {
                let _ = template.fill(texts_of);
            }
        }

        #[test]
        fn literal_text_round_trips(text in prop_oneof![".*", "[{}a\"é ]{0,20}"]) {
            let written = text.replace('{', "{{").replace('}', "}}");
            let template = Template::parse(&written).expect("a value");
            prop_assert!(template.is_literal());
            prop_assert_eq!(template.fill(texts_of), Ok(vec![text]));
        }

        #[test]
        fn a_name_between_literal_texts_is_found(before in ".*", after in ".*") {
            let written = |text: &str| text.replace('{', "{{").replace('}', "}}");
            let template = Template::parse(&format!("{}{{email}}{}", written(&before), written(&after)));
            let expected = vec![format!("{before}ada@example.org{after}")];
            prop_assert_eq!(template.expect("a value").fill(texts_of), Ok(expected));
        }
    }
}
