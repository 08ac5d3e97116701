//! The settings of the pages: what language they speak, and how the operator wants them to look.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::model::colour::Colour;
use crate::model::language::Language;
use crate::model::palette::{LEAST_CONTRAST, Palette, Theme, readable};

/// What pages say and how they look. The name that they have in their head is `operator`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pages {
    /// The language of people whose browser prefers none that the pages speak.
    pub language: Language,
    /// A picture in SVG or PNG that stands before the operator's name, of 64 KiB at most. It is shown 32 pixels high.
    pub logo_file: Option<PathBuf>,
    /// The colour of links and buttons where the person's system is light, such as `#0b5a6e`.
    pub accent: Option<Colour>,
    /// The same where the person's system is dark, such as `#6fcbdd`.
    pub accent_dark: Option<Colour>,
    /// Where people find help when something went wrong: an e-mail address, or an https address.
    pub support: Option<String>,
}

impl Pages {
    /// Where the link to help leads.
    pub fn support_address(&self) -> Option<String> {
        let support = self.support.as_deref()?;
        Some(if is_email(support) { format!("mailto:{support}") } else { support.to_owned() })
    }
}

fn is_email(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && name.chars().all(plain) && host.chars().all(plain)
    })
}

/// What the types can't say.
pub(super) fn check(pages: &Pages, expect: &mut impl FnMut(bool, &str, &str)) {
    for (key, accent, theme) in
        [("accent", pages.accent, Theme::Light), ("accent_dark", pages.accent_dark, Theme::Dark)]
    {
        let Some(accent) = accent else { continue };
        let (contrast, ground) = Palette::of(accent, theme).least_contrast(theme);
        let expected = format!(
            "{accent} has a contrast of {contrast:.1} to 1 where {ground} is beside it, and text needs {LEAST_CONTRAST} \
             (WCAG AA); expected a {} colour, such as {}",
            if theme == Theme::Light { "darker" } else { "lighter" },
            readable(accent, theme),
        );
        expect(contrast >= LEAST_CONTRAST, &format!("pages.{key}"), &expected);
    }
    let is_address = |text: &str| text.parse::<Url>().is_ok_and(|url| url.scheme() == "https" && url.has_host());
    expect(
        pages.support.as_deref().is_none_or(|text| is_email(text) || is_address(text)),
        "pages.support",
        "expected an e-mail address or an https address, such as help@example.org or https://example.org/help",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(toml: &str) -> Vec<String> {
        let pages: Pages = toml::from_str(toml).expect("of the right kind");
        let mut problems = Vec::new();
        check(&pages, &mut |good, key, expected| {
            if !good {
                problems.push(format!("{key}: {expected}"));
            }
        });
        problems
    }

    #[test]
    fn a_colour_that_cannot_be_read_is_refused_with_one_that_can() {
        let [problem] = &problems("accent = \"#ffcc00\"")[..] else { panic!("one problem") };
        assert!(problem.starts_with("pages.accent: #ffcc00 has a contrast of 1.4 to 1 where "), "{problem}");
        let better = problem.rsplit(' ').next().unwrap();
        assert!(problems(&format!("accent = \"{better}\"")).is_empty(), "{problem}");
        assert!(problems("accent = \"#0b5a6e\"\naccent_dark = \"#6fcbdd\"").is_empty());
        assert_eq!(problems("accent = \"#6fcbdd\"\naccent_dark = \"#0b5a6e\"").len(), 2, "each in its own theme");
    }

    #[test]
    fn support_is_an_address() {
        for (support, address) in [
            ("help@example.org", Some("mailto:help@example.org")),
            ("https://example.org/help?a=b", Some("https://example.org/help?a=b")),
            ("http://example.org", None),
            ("javascript:alert(1)", None),
            ("help@example.org?subject=x", None),
            ("call us", None),
            ("", None),
        ] {
            let toml = format!("support = \"{support}\"");
            assert_eq!(problems(&toml).is_empty(), address.is_some(), "{support}");
            if let Some(address) = address {
                let pages: Pages = toml::from_str(&toml).expect("of the right kind");
                assert_eq!(pages.support_address().as_deref(), Some(address));
            }
        }
    }
}
