//! Formats previews of claims as text: a table for each token or response with claims, or a comparison with a
//! candidate.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::terminal::{self, Table, harmless};

/// The OpenAPI schema of a preview.
pub const PREVIEW: &str = "ClaimsPreview";
/// The OpenAPI schema of a comparison.
pub const COMPARISON: &str = "ClaimsComparison";

/// The text for a value that only a sign-in determines.
const AT_SIGN_IN: &str = "set at sign-in";

#[derive(Deserialize)]
struct Preview {
    sinks: Vec<SinkPreview>,
}

#[derive(Deserialize)]
struct SinkPreview {
    sink: String,
    #[serde(default)]
    scope: String,
    token: Option<Token>,
    name_id: Option<NameId>,
    claims: Option<Map<String, Value>>,
    #[serde(default)]
    attributes: Vec<Attribute>,
    stopped: Option<PluginStop>,
    #[serde(default)]
    origins: Vec<ClaimOrigin>,
    #[serde(default)]
    calls: Vec<PluginCall>,
}

#[derive(Deserialize)]
struct Token {
    iss: String,
    aud: String,
    at_sign_in: Vec<String>,
    slim_id_token: bool,
}

#[derive(Deserialize)]
struct NameId {
    format: String,
    value: Option<String>,
}

#[derive(Deserialize)]
struct Attribute {
    name: String,
    values: Vec<String>,
}

#[derive(Deserialize, PartialEq)]
struct PluginStop {
    plugin: Option<String>,
    outcome: String,
    reason: String,
}

#[derive(Deserialize)]
struct PluginCall {
    plugin: String,
    outcome: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ClaimOrigin {
    name: String,
    plugin: Option<String>,
    change: String,
    scope: Option<String>,
}

#[derive(Deserialize)]
struct Comparison {
    candidate: Preview,
    differences: Vec<Difference>,
    #[serde(default)]
    log: Vec<LogLine>,
}

#[derive(Deserialize)]
struct LogLine {
    level: String,
    message: String,
}

#[derive(Deserialize)]
struct Difference {
    sink: String,
    path: String,
    current: Option<Value>,
    candidate: Option<Value>,
}

/// Returns the text for a response with this schema, or `None` for other schemas.
///
/// # Errors
/// If the response does not match its schema.
pub fn text(schema: Option<&str>, bytes: &[u8]) -> anyhow::Result<Option<String>> {
    Ok(match schema {
        Some(PREVIEW) => Some(of_preview(&serde_json::from_slice(bytes)?)),
        Some(COMPARISON) => Some(of_comparison(&serde_json::from_slice(bytes)?)),
        _ => None,
    })
}

/// A comparison as text.
#[derive(Debug)]
pub struct ComparisonText {
    /// The text.
    pub text: String,
    /// The fault of a plugin, if there is one. A denial is no fault.
    pub fault: Option<ComparisonFault>,
}

/// The fault of a plugin in a comparison. `Display` returns it without the reason, which the text contains.
#[derive(Debug, PartialEq, Eq)]
pub enum ComparisonFault {
    /// The candidate failed, also if its claims were only omitted (`on_failure = "omit"`).
    Candidate,
    /// The plugin with this name ended the preview of a sink.
    OtherPlugin(String),
}

impl fmt::Display for ComparisonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Candidate => f.write_str("the candidate failed"),
            Self::OtherPlugin(name) => write!(
                f,
                "the plugin {} failed, so the comparison is incomplete",
                harmless(name)
            ),
        }
    }
}

/// Returns the text for a comparison with the candidate that has this name.
///
/// # Errors
/// If the response does not match its schema.
pub fn comparison(plugin: &str, bytes: &[u8]) -> anyhow::Result<ComparisonText> {
    let comparison = serde_json::from_slice(bytes)?;
    Ok(ComparisonText {
        text: of_comparison(&comparison),
        fault: fault(plugin, &comparison.candidate),
    })
}

/// Returns the fault of the candidate with this name, or else the first fault of another plugin.
fn fault(plugin: &str, candidate: &Preview) -> Option<ComparisonFault> {
    let mut other = None;
    for SinkPreview { stopped, calls, .. } in &candidate.sinks {
        let stopped = stopped
            .iter()
            .filter(|stopped| stopped.outcome == "failed")
            .filter_map(|stopped| stopped.plugin.as_deref());
        // `stopped` contains a reason of the server instead of the plugin's reason, so the calls count too. Omitted
        // claims of another plugin do not prevent a comparison.
        let called = calls
            .iter()
            .filter(|call| {
                call.outcome == "failed" || (call.outcome == "skipped" && call.plugin == plugin)
            })
            .map(|call| call.plugin.as_str());
        for failed in stopped.chain(called) {
            if failed == plugin {
                return Some(ComparisonFault::Candidate);
            }
            other = other.or(Some(failed));
        }
    }
    other.map(|name| ComparisonFault::OtherPlugin(name.to_owned()))
}

/// Returns the sinks in which the server or a plugin prevents the response.
fn stops(preview: &Preview) -> impl Iterator<Item = (&str, &PluginStop)> {
    let sinks = preview.sinks.iter();
    sinks.filter_map(|sink| Some((sink.sink.as_str(), sink.stopped.as_ref()?)))
}

fn of_preview(Preview { sinks }: &Preview) -> String {
    let mut parts: Vec<String> = by_host(sinks)
        .into_iter()
        .map(|stopped| words("Stopped", stopped))
        .collect();
    parts.extend(sinks.iter().map(of_sink));
    parts.join("\n")
}

/// Returns the stop by the server itself, which is the same for each sink.
fn by_host(sinks: &[SinkPreview]) -> Option<&PluginStop> {
    sinks
        .iter()
        .filter_map(|sink| sink.stopped.as_ref())
        .find(|stopped| stopped.plugin.is_none())
}

fn of_sink(sink: &SinkPreview) -> String {
    let mut shown = format!("{}\n", place(&sink.sink));
    if !sink.scope.is_empty() {
        shown.push_str(&format!("Scopes: {}\n", harmless(&sink.scope)));
    }
    if let Some(stopped) = sink
        .stopped
        .as_ref()
        .filter(|stopped| stopped.plugin.is_some())
    {
        shown.push_str(&words("Stopped", stopped));
    }
    omissions(sink).for_each(|line| shown.push_str(&line));
    let rows = rows(sink);
    if rows.is_empty() {
        shown.push_str("Nothing.\n");
    } else {
        shown.push_str(&table(["NAME", "VALUE", "FROM"], rows));
    }
    if sink.token.as_ref().is_some_and(|token| token.slim_id_token) {
        shown.push_str(
            "The application has slim_id_token: the claims of the scopes are only at UserInfo.\n",
        );
    }
    shown
}

fn place(sink: &str) -> String {
    match sink {
        "id-token" => "ID token".to_owned(),
        "userinfo" => "UserInfo".to_owned(),
        "introspection" => "Introspection".to_owned(),
        "saml-assertion" => "Assertion".to_owned(),
        other => harmless(other),
    }
}

fn words(
    begin: &str,
    PluginStop {
        plugin,
        outcome,
        reason,
    }: &PluginStop,
) -> String {
    let reason = harmless(reason);
    match plugin.as_deref().map(harmless) {
        None => format!("{begin}: no user would be signed in: {reason}\n"),
        Some(plugin) if outcome == "denied" => {
            format!("{begin}: the plugin {plugin} rejects this user: {reason}\n")
        }
        Some(plugin) => format!("{begin}: the plugin {plugin} failed: {reason}\n"),
    }
}

/// Returns a line for each plugin that failed, and whose claims are omitted (`on_failure = "omit"`).
fn omissions(sink: &SinkPreview) -> impl Iterator<Item = String> {
    let skipped = sink.calls.iter().filter(|call| call.outcome == "skipped");
    skipped.map(|PluginCall { plugin, reason, .. }| {
        let reason = reason.as_deref().unwrap_or("no reason");
        format!(
            "{} failed, its claims are omitted: {}\n",
            harmless(plugin),
            harmless(reason)
        )
    })
}

/// Returns the rows of one sink: first the server's own claims, then the user's values, then the values set at sign-in.
fn rows(sink: &SinkPreview) -> Vec<[String; 3]> {
    let host = |name: &str, value: &str| [harmless(name), harmless(value), "Assent".to_owned()];
    let mut rows = Vec::new();
    if let Some(NameId { format, value }) = &sink.name_id {
        let [name, value, from] = host("NameID", value.as_deref().unwrap_or(AT_SIGN_IN));
        let format = format.rsplit(':').next().unwrap_or_default();
        rows.push([name, value, format!("{from}, as {}", harmless(format))]);
    }
    // If a plugin stops the sink, no token exists.
    let token = sink.token.as_ref().filter(|_| sink.claims.is_some());
    if let Some(Token { iss, aud, .. }) = token {
        rows.extend([host("iss", iss), host("aud", aud)]);
    }
    rows.extend(
        sink.origins
            .iter()
            .map(|origin| [harmless(&origin.name), value(sink, origin), from(origin)]),
    );
    rows.extend(
        token
            .into_iter()
            .flat_map(|token| &token.at_sign_in)
            .map(|name| host(name, AT_SIGN_IN)),
    );
    rows
}

fn value(sink: &SinkPreview, origin: &ClaimOrigin) -> String {
    if origin.change == "removed" {
        return "-".to_owned();
    }
    match &sink.claims {
        Some(claims) => plain(claims.get(&origin.name)),
        None => {
            let named = sink
                .attributes
                .iter()
                .filter(|attribute| attribute.name == origin.name);
            harmless(
                &named
                    .flat_map(|attribute| &attribute.values)
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
            )
        }
    }
}

fn from(
    ClaimOrigin {
        plugin,
        change,
        scope,
        ..
    }: &ClaimOrigin,
) -> String {
    let who = plugin
        .as_deref()
        .map_or_else(|| "Assent".to_owned(), harmless);
    match (change.as_str(), scope) {
        ("replaced", _) => format!("{who}, in place of another value"),
        ("removed", _) => format!("{who}, which removed it"),
        ("provided", Some(scope)) => format!("{who}, for the scope {}", harmless(scope)),
        _ => who,
    }
}

/// Formats a value in one line: strings without quotes, other values as JSON.
fn plain(value: Option<&Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(Value::String(text)) => harmless(text),
        Some(value) => harmless(&value.to_string()),
    }
}

fn of_comparison(
    Comparison {
        candidate,
        differences,
        log,
    }: &Comparison,
) -> String {
    let mut reasons: Vec<&PluginStop> = Vec::new();
    // A sink that a plugin stops has no claims at all. The reason says this, so its differences are left out.
    let mut empty: Vec<&str> = Vec::new();
    for (sink, stopped) in stops(candidate) {
        if !reasons.contains(&stopped) {
            reasons.push(stopped);
        }
        if stopped.plugin.is_some() {
            empty.push(sink);
        }
    }
    let differences: Vec<&Difference> = differences
        .iter()
        .filter(|difference| !empty.contains(&difference.sink.as_str()))
        .collect();
    let mut shown: String = reasons
        .into_iter()
        .map(|stopped| {
            words(
                if stopped.plugin.is_some() {
                    "Stopped with the candidate"
                } else {
                    "Stopped"
                },
                stopped,
            )
        })
        .collect();
    let mut omitted: Vec<String> = candidate.sinks.iter().flat_map(omissions).collect();
    let mut known = BTreeSet::new();
    omitted.retain(|line| known.insert(line.clone()));
    for line in omitted {
        shown.push_str(&format!("With the candidate: {line}"));
    }
    let row = |Difference {
                   sink,
                   path,
                   current,
                   candidate,
               }: &Difference| {
        [
            place(sink),
            harmless(path),
            plain(current.as_ref()),
            plain(candidate.as_ref()),
        ]
    };
    if differences.is_empty() {
        if empty.is_empty() {
            shown.push_str("No differences.\n");
        }
    } else {
        let rows = differences.into_iter().map(row).collect();
        shown.push_str(&table(
            ["SINK", "VALUE", "CURRENT", "WITH THE CANDIDATE"],
            rows,
        ));
    }
    for LogLine { level, message } in log {
        shown.push_str(&format!(
            "Log: {}: {}\n",
            harmless(level),
            harmless(message)
        ));
    }
    shown
}

fn table<const COLUMNS: usize>(head: [&str; COLUMNS], rows: Vec<[String; COLUMNS]>) -> String {
    let rows: Vec<Vec<String>> = std::iter::once(head.map(str::to_owned))
        .chain(rows)
        .map(|row| row.into_iter().collect())
        .collect();
    let table = Table::for_rows(&rows, terminal::width());
    rows.iter().map(|row| table.line(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_shows_removed_and_replaced_claims_without_terminal_escapes() {
        let answer = r#"{"sinks": [{"sink": "userinfo", "scope": "openid", "claims": {"team": "\u001b[31mred", "sub": "s"},
            "origins": [{"name": "sub", "plugin": null, "change": "provided", "scope": "openid"},
                        {"name": "email", "plugin": "second", "change": "removed", "scope": "email"},
                        {"name": "team", "plugin": "second", "change": "replaced", "scope": null}]}]}"#;
        let shown = text(Some(PREVIEW), answer.as_bytes())
            .expect("read")
            .expect("a preview");
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[..2], ["UserInfo", "Scopes: openid"]);
        assert_eq!(lines[4], "email  -         second, which removed it");
        assert_eq!(
            lines[5],
            "team   \u{fffd}[31mred  second, in place of another value"
        );
        assert!(text(Some("User"), b"{}").expect("not parsed").is_none());
    }

    #[test]
    fn a_preview_and_a_comparison_name_the_plugins_whose_claims_are_omitted() {
        let sink = r#"{"sink": "userinfo", "scope": "openid", "claims": {"sub": "s"},
            "origins": [{"name": "sub", "plugin": null, "change": "provided", "scope": "openid"}],
            "calls": [{"plugin": "roles", "outcome": "changed"},
                      {"plugin": "staff-role", "outcome": "skipped", "reason": "trapped: \u001bunreachable"}]}"#;
        let line = "staff-role failed, its claims are omitted: trapped: \u{fffd}unreachable";
        let shown = text(
            Some(PREVIEW),
            format!(r#"{{"sinks": [{sink}]}}"#).as_bytes(),
        )
        .expect("read")
        .expect("a preview");
        assert_eq!(shown.lines().nth(2), Some(line), "{shown}");
        let compared =
            format!(r#"{{"candidate": {{"sinks": [{sink}, {sink}]}}, "differences": []}}"#);
        let candidate = comparison("staff-role", compared.as_bytes()).expect("read");
        assert_eq!(
            candidate.text,
            format!("With the candidate: {line}\nNo differences.\n")
        );
        assert_eq!(candidate.fault, Some(ComparisonFault::Candidate));
        // The candidate is compared, although the claims of another plugin are omitted.
        let other = comparison("roles", compared.as_bytes()).expect("read");
        assert_eq!((other.text, other.fault), (candidate.text, None));
        assert_eq!(
            text(Some(COMPARISON), compared.as_bytes()).expect("read"),
            Some(format!("With the candidate: {line}\nNo differences.\n"))
        );
    }

    #[test]
    fn a_failed_candidate_is_shown_by_its_reason_only() {
        let answer = |outcome: &str| {
            format!(
                r#"{{"candidate": {{"sinks": [
                    {{"sink": "id-token",
                        "stopped": {{"plugin": "a", "outcome": "{outcome}", "reason": "trapped"}}}},
                    {{"sink": "userinfo",
                        "stopped": {{"plugin": "a", "outcome": "{outcome}", "reason": "trapped"}}}},
                    {{"sink": "introspection", "claims": {{"team": "red"}}}}]}},
                "differences": [
                    {{"sink": "id-token", "path": "/claims/email", "current": "a@b.example", "candidate": null}},
                    {{"sink": "userinfo", "path": "/stopped", "current": null, "candidate": {{}}}}]}}"#
            )
        };
        let failed = comparison("a", answer("failed").as_bytes()).expect("read");
        assert_eq!(failed.fault, Some(ComparisonFault::Candidate));
        assert_eq!(
            failed.text,
            "Stopped with the candidate: the plugin a failed: trapped\n"
        );
        let denied = comparison("a", answer("denied").as_bytes()).expect("read");
        assert_eq!(denied.fault, None);
        assert_eq!(
            denied.text,
            "Stopped with the candidate: the plugin a rejects this user: trapped\n"
        );
        let equal = br#"{"candidate": {"sinks": [{"sink": "userinfo"}]}, "differences": []}"#;
        let equal = comparison("a", equal).expect("read");
        assert_eq!(
            (equal.text.as_str(), equal.fault),
            ("No differences.\n", None)
        );
    }

    #[test]
    fn a_fault_of_another_plugin_is_not_one_of_the_candidate() {
        let answer = br#"{"candidate": {"sinks": [
            {"sink": "id-token", "stopped": {"plugin": "other", "outcome": "failed", "reason": "trapped"},
                "calls": [{"plugin": "other", "outcome": "failed", "reason": "trapped"}]},
            {"sink": "userinfo", "claims": {"sub": "s"}, "calls": [{"plugin": "a", "outcome": "changed"}]}]},
            "differences": []}"#;
        let compared = comparison("a", answer).expect("read");
        assert_eq!(
            compared.text,
            "Stopped with the candidate: the plugin other failed: trapped\n"
        );
        let fault = compared.fault.expect("a fault");
        assert_eq!(fault, ComparisonFault::OtherPlugin("other".to_owned()));
        assert_eq!(
            fault.to_string(),
            "the plugin other failed, so the comparison is incomplete"
        );
        // A reason of the server replaces the reason of a plugin.
        let answer = br#"{"candidate": {"sinks": [{"sink": "id-token",
            "stopped": {"plugin": null, "outcome": "denied", "reason": "locked"},
            "calls": [{"plugin": "other", "outcome": "changed"},
                      {"plugin": "a", "outcome": "failed", "reason": "trapped"}]}]},
            "differences": []}"#;
        let fault = |plugin: &str| comparison(plugin, answer).expect("read").fault;
        assert_eq!(fault("a"), Some(ComparisonFault::Candidate));
        assert_eq!(
            fault("other"),
            Some(ComparisonFault::OtherPlugin("a".to_owned()))
        );
    }
}
