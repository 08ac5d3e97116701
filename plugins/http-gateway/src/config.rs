//! The plugin's settings.

use std::collections::BTreeMap;
use std::fmt;

use assent_plugin_sdk::delegated::{Method, Question};
use assent_plugin_sdk::{Map, Value, json};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

/// The characters that are encoded in a path: all except the unreserved ones (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The fields of a question.
const FIELDS: [&str; 9] = [
    "request_id",
    "user",
    "application",
    "account",
    "place",
    "browser",
    "binding_message",
    "expires_at",
    "callback_url",
];

/// The plugin's settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address before all paths.
    pub(crate) base_url: String,
    #[serde(default = "begin_path")]
    pub(crate) begin_path: String,
    #[serde(default = "status_path")]
    pub(crate) status_path: String,
    #[serde(default)]
    pub(crate) cancel_path: Option<String>,
    #[serde(default)]
    pub(crate) cancel_method: CancelMethod,
    #[serde(default)]
    pub(crate) poll_interval: Interval,
    /// Other names for the fields of the question. An empty name omits the field.
    #[serde(default)]
    pub(crate) question: BTreeMap<String, String>,
    /// Fields that are added to each question.
    #[serde(default)]
    pub(crate) extra: Map<String, Value>,
    #[serde(default)]
    pub(crate) answer: AnswerFields,
    #[serde(default)]
    pub(crate) statuses: Statuses,
}

fn begin_path() -> String {
    "/approvals".to_owned()
}

fn status_path() -> String {
    "/approvals/{id}".to_owned()
}

/// A duration: digits and a unit, `ms`, `s` or `m`, as in `500ms`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Interval {
    millis: u32,
}

impl Default for Interval {
    fn default() -> Self {
        Self { millis: 2000 }
    }
}

impl TryFrom<String> for Interval {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
        let factor = match text.strip_prefix(digits) {
            Some("ms") => Some(1),
            Some("s") => Some(1_000),
            Some("m") => Some(60_000),
            _ => None,
        };
        let number = digits
            .parse::<u32>()
            .ok()
            .filter(|_| !digits.starts_with('+'));
        number
            .zip(factor)
            .and_then(|(number, factor)| number.checked_mul(factor))
            .map(|millis| Self { millis })
            .ok_or_else(|| {
                format!(
                    "expected a duration such as \"500ms\", \"2s\" or \"1m\", and not \"{text}\""
                )
            })
    }
}

/// The HTTP method that cancels a request.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CancelMethod {
    #[default]
    Delete,
    Post,
}

impl From<CancelMethod> for Method {
    fn from(method: CancelMethod) -> Self {
        match method {
            CancelMethod::Delete => Self::Delete,
            CancelMethod::Post => Self::Post,
        }
    }
}

/// The positions of the fields in the vendor's responses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AnswerFields {
    pub(crate) id: Place,
    pub(crate) request_id: Place,
    pub(crate) status: Place,
    pub(crate) poll_after_ms: Place,
}

impl Default for AnswerFields {
    fn default() -> Self {
        let place = |name: &str| Place(name.to_owned());
        Self {
            id: place("id"),
            request_id: place("request_id"),
            status: place("status"),
            poll_after_ms: place("poll_after_ms"),
        }
    }
}

/// The position of a field. Dots separate the names of nested objects.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Place(String);

impl Place {
    /// Returns the field's value.
    pub(crate) fn value_in<'a>(&self, answer: &'a Value) -> Option<&'a Value> {
        self.0
            .split('.')
            .try_fold(answer, |value, name| value.get(name))
            .filter(|value| !value.is_null())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The vendor's words for the state of a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Statuses {
    pub(crate) pending: Vec<String>,
    pub(crate) approved: Vec<String>,
    pub(crate) denied: Vec<String>,
    pub(crate) expired: Vec<String>,
}

impl Default for Statuses {
    fn default() -> Self {
        let word = |word: &str| vec![word.to_owned()];
        Self {
            pending: word("pending"),
            approved: word("approved"),
            denied: word("denied"),
            expired: word("expired"),
        }
    }
}

impl Config {
    /// Checks the settings beyond their types. Each error is one plain sentence.
    pub(crate) fn check(&self) -> Result<(), Vec<String>> {
        let mut errors = Vec::new();
        let rest = self
            .base_url
            .strip_prefix("https://")
            .or_else(|| self.base_url.strip_prefix("http://"));
        let host = rest
            .and_then(|rest| rest.split('/').next())
            .unwrap_or_default();
        if host.is_empty() || self.base_url.contains(['?', '#', '@', '{', ' ']) {
            errors.push(
                "`base_url`: expected an address such as https://api.vendor.example/v1, without a query".to_owned(),
            );
        }
        let paths = [
            ("begin_path", Some(&self.begin_path)),
            ("status_path", Some(&self.status_path)),
        ];
        for (name, path) in paths
            .into_iter()
            .chain([("cancel_path", self.cancel_path.as_ref())])
        {
            if path.is_some_and(|path| !path.starts_with('/') || path.contains(['#', ' '])) {
                errors.push(format!("`{name}`: expected a path that begins with `/`"));
            }
        }
        let names_it = |path: &String| path.contains("{id}") || path.contains("{request_id}");
        if !names_it(&self.status_path) || !self.cancel_path.as_ref().is_none_or(names_it) {
            errors.push(
                "`status_path` and `cancel_path`: expected `{id}` or `{request_id}` in them"
                    .to_owned(),
            );
        }
        if self.begin_path.contains("{id}") {
            errors.push(
                "`begin_path`: there is no `{id}` yet when a request begins; use `{request_id}`"
                    .to_owned(),
            );
        }
        errors.extend(
            self.question
                .keys()
                .filter(|name| !FIELDS.contains(&name.as_str()))
                .map(|name| {
                    format!(
                        "`question.{name}`: there is no such field; the fields are {}",
                        FIELDS.join(", ")
                    )
                }),
        );
        let Statuses {
            pending,
            approved,
            denied,
            expired,
        } = &self.statuses;
        if approved.is_empty() {
            errors.push("`statuses.approved`: expected at least one word".to_owned());
        }
        if approved.iter().any(|word| {
            pending
                .iter()
                .chain(denied)
                .chain(expired)
                .any(|other| other == word)
        }) {
            errors.push(
                "`statuses`: a word for `approved` is also a word for another state".to_owned(),
            );
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    pub(crate) fn url(&self, path: &str, id: &str, request_id: &str) -> String {
        let encoded = |text| utf8_percent_encode(text, RESERVED).to_string();
        let path = path
            .replace("{request_id}", &encoded(request_id))
            .replace("{id}", &encoded(id));
        format!("{}{path}", self.base_url.trim_end_matches('/'))
    }

    /// Returns the question with the vendor's field names.
    pub(crate) fn question_fields(&self, question: &Question) -> Map<String, Value> {
        let values = [
            json!(question.request_id),
            json!(question.address),
            json!(question.application),
            json!(question.account),
            json!(question.place),
            json!(question.browser),
            json!(question.binding),
            json!(question.expires_at),
            json!(question.callback_url),
        ];
        let mut fields = self.extra.clone();
        for (name, value) in FIELDS.into_iter().zip(values) {
            let name = self.question.get(name).map_or(name, String::as_str);
            if !name.is_empty() {
                fields.insert(name.to_owned(), value);
            }
        }
        fields
    }

    /// Returns the delay before the next poll, in milliseconds. The vendor's response takes precedence over the
    /// settings.
    pub(crate) fn poll_after(&self, answer: &Value) -> u32 {
        let millis = self
            .answer
            .poll_after_ms
            .value_in(answer)
            .and_then(Value::as_u64);
        millis.map_or(self.poll_interval.millis, |millis| {
            u32::try_from(millis).unwrap_or(u32::MAX)
        })
    }
}

/// Returns the JSON Schema of the settings.
pub(crate) fn schema() -> Value {
    let text = |default: &str| json!({ "type": "string", "default": default });
    let words = |default: &str| json!({ "type": "array", "items": { "type": "string" }, "default": [default] });
    let object = |properties: Value| {
        json!({ "type": "object", "additionalProperties": false, "default": {},
        "properties": properties })
    };
    let question: Map<String, Value> = FIELDS
        .into_iter()
        .map(|name| (name.to_owned(), text(name)))
        .collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["base_url"],
        "properties": {
            "base_url": { "type": "string" },
            "begin_path": text("/approvals"),
            "status_path": text("/approvals/{id}"),
            "cancel_path": { "type": "string" },
            "cancel_method": { "enum": ["delete", "post"], "default": "delete" },
            "poll_interval": { "type": "string", "pattern": "^[0-9]+(ms|s|m)$", "default": "2s" },
            "question": object(Value::Object(question)),
            "extra": { "type": "object", "default": {} },
            "answer": object(json!({
                "id": text("id"),
                "request_id": text("request_id"),
                "status": text("status"),
                "poll_after_ms": text("poll_after_ms"),
            })),
            "statuses": object(json!({
                "pending": words("pending"),
                "approved": words("approved"),
                "denied": words("denied"),
                "expired": words("expired"),
            })),
        },
    })
}
