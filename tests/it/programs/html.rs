//! The behaviour of a browser on pages of other programs: forms with a SAML message, which a script would submit, and
//! frames.

use std::collections::HashMap;

use url::Url;

use crate::harness::{Browser, Page};

/// Submits the form with a SAML message on the page, if there is one.
pub async fn message_posted(browser: &Browser, page: &Page) -> Option<Page> {
    let (form, fields) = message(page)?;
    let action = resolved(page, &form["action"]);
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    Some(browser.post(action.as_str(), &fields).await)
}

/// Returns the form with a SAML message on the page, with its hidden fields.
fn message(page: &Page) -> Option<(Attributes, Vec<(String, String)>)> {
    let fields: Vec<(String, String)> = tags(&page.body, "input")
        .into_iter()
        .filter(|input| input.get("type").is_some_and(|kind| kind == "hidden"))
        .filter_map(|input| {
            Some((
                input.get("name")?.clone(),
                input.get("value").cloned().unwrap_or_default(),
            ))
        })
        .collect();
    fields
        .iter()
        .any(|(name, _)| name == "SAMLRequest" || name == "SAMLResponse")
        .then_some(())?;
    Some((tags(&page.body, "form").into_iter().next()?, fields))
}

/// Returns the URLs of the page's frames.
pub fn frames(page: &Page) -> Vec<String> {
    tags(&page.body, "iframe")
        .iter()
        .filter_map(|frame| Some(resolved(page, frame.get("src")?).into()))
        .collect()
}

fn resolved(page: &Page, address: &str) -> Url {
    Url::parse(&page.url)
        .and_then(|url| url.join(address))
        .expect("an address")
}

/// The attributes of a start tag.
pub type Attributes = HashMap<String, String>;

/// Returns the start tags of this name, with their attributes. It supports only the HTML that these programs write.
pub fn tags(body: &str, name: &str) -> Vec<Attributes> {
    let mut found = Vec::new();
    let mut rest = body;
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        let named = after
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name));
        if named
            && after[name.len()..].starts_with(|next: char| next.is_whitespace() || next == '>')
        {
            found.push(attributes(&after[name.len()..]));
        }
    }
    found
}

/// Returns the attributes of a start tag, from the text after its name.
fn attributes(mut rest: &str) -> Attributes {
    let mut found = Attributes::new();
    loop {
        rest = rest.trim_start_matches(|next: char| next.is_whitespace() || next == '/');
        let end = rest
            .find(|next: char| next.is_whitespace() || "=>/".contains(next))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() {
            return found;
        }
        let mut value = "";
        rest = after;
        if let Some(after) = after.strip_prefix('=') {
            let quote = after
                .chars()
                .next()
                .filter(|quote| "'\"".contains(*quote))
                .expect("a quoted value");
            (value, rest) = after[1..].split_once(quote).expect("the value's end");
        }
        found.insert(name.to_ascii_lowercase(), unescaped(value));
    }
}

/// Returns a value without HTML escapes.
pub fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (reference, after) = part.split_once(';').expect("the reference's end");
        value.push(character(reference));
        value.push_str(after);
    }
    value
}

fn character(reference: &str) -> char {
    let number = match reference {
        "amp" => return '&',
        "lt" => return '<',
        "gt" => return '>',
        "quot" => return '"',
        "apos" => return '\'',
        "colon" => return ':',
        "plus" => return '+',
        "equals" => return '=',
        _ => reference
            .strip_prefix('#')
            .unwrap_or_else(|| panic!("&{reference};")),
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    number
        .ok()
        .and_then(char::from_u32)
        .unwrap_or_else(|| panic!("&{reference};"))
}
