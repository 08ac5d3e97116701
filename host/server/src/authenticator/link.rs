//! Links that were copied from a message or a page.

use assent_model::token_text::{self, TokenTextError};

/// The largest number of times that a link is encoded in other links.
const WRAPPERS: usize = 3;

/// Returns a text with a link, and the same text as it is encoded in other links.
fn forms(text: &str) -> impl Iterator<Item = String> {
    let decoded = |form: &String| {
        let decoded = percent_encoding::percent_decode_str(form).decode_utf8_lossy();
        Some(decoded.into_owned())
    };
    std::iter::successors(Some(text.to_owned()), decoded).take(WRAPPERS + 1)
}

/// Returns the token in a link. Signs and line breaks that programs add do not matter, nor does a link that contains
/// this one.
pub(super) fn token_in<const BYTES: usize>(prefix: &str, text: &str) -> anyhow::Result<String> {
    let mut is_damaged = false;
    for form in forms(text) {
        match token_text::find::<BYTES>(prefix, &form) {
            Ok(token) => return Ok(token),
            Err(TokenTextError::Damaged) => is_damaged = true,
            Err(TokenTextError::OtherKind) => {
                is_damaged |= form.contains("#enrol=") || form.contains("#login=");
            }
        }
    }
    anyhow::ensure!(is_damaged, "this is not such a link");
    anyhow::bail!(
        "the link is damaged: a part of it is missing or was changed; copy all of it again"
    )
}

/// Returns the page of a link: the text before its fragment.
pub(super) fn page_of(text: &str) -> Option<String> {
    forms(text).find_map(|form| {
        let (before, _) = form.split_once('#')?;
        let start = before.rfind("http")?;
        before.get(start..).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use assent_model::token::prefix;

    use super::*;

    #[test]
    fn a_link_is_read_as_scanners_and_mail_programs_write_it() {
        const PAGE: &str = "https://id.example.org/authenticator";
        let token = token_text::write(prefix::ENROLMENT, &[9; 48]);
        let link = format!("{PAGE}#enrol={}", *token);
        let encoded = |text: &str| -> String {
            url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
        };
        let wrapped = |link: &str| {
            let scanner = "https://eur01.safelinks.protection.outlook.com/";
            format!("{scanner}?url={}&data=05%7C02&reserved=0", encoded(link))
        };
        for text in [
            link.clone(),
            encoded(&link),
            wrapped(&link),
            wrapped(&wrapped(&link)),
            link.replace('=', "=3D"),
            format!("Open this link:\r\n{}\r\n", link.replace('=', "=3D")),
        ] {
            let found = token_in::<48>(prefix::ENROLMENT, &text);
            assert_eq!(found.ok().as_ref(), Some(&*token), "{text}");
            assert_eq!(page_of(&text).as_deref(), Some(PAGE), "{text}");
        }
    }
}
