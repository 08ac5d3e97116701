//! The settings of the pages: their language, and the operator's logo and colours.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use assent_model::colour::Colour;
use assent_model::language::Language;
use assent_model::palette::{LEAST_CONTRAST, Palette, Theme, readable};

/// The language of the pages, and the operator's branding. The name in the head of each page is `operator`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Branding {
    /// The language for browsers that prefer no supported language.
    pub language: Language,
    /// The operator's logo in SVG or PNG, 64 KiB at most. Pages show it before the operator's name, 32 pixels high.
    pub logo_file: Option<PathBuf>,
    /// The colour of links and buttons in the light colour scheme, such as `#0b5a6e`.
    pub accent: Option<Colour>,
    /// The colour of links and buttons in the dark colour scheme, such as `#6fcbdd`.
    pub accent_dark: Option<Colour>,
    /// The contact on error pages: an email address, or an https URL.
    pub support: Option<String>,
}

impl Branding {
    /// Returns the target of the help link.
    pub fn support_address(&self) -> Option<String> {
        let support = self.support.as_deref()?;
        Some(if is_email(support) {
            format!("mailto:{support}")
        } else {
            support.to_owned()
        })
    }
}

fn is_email(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty() && host.contains('.') && name.chars().all(plain) && host.chars().all(plain)
    })
}

/// Checks the rules that the types cannot express.
pub(super) fn check(branding: &Branding, expect: &mut impl FnMut(bool, &str, &str)) {
    for (key, accent, theme) in [
        ("accent", branding.accent, Theme::Light),
        ("accent_dark", branding.accent_dark, Theme::Dark),
    ] {
        let Some(accent) = accent else { continue };
        let (contrast, ground) = Palette::from_accent(accent, theme).least_contrast(theme);
        let expected = format!(
            "{accent} has a contrast of {contrast:.1} to 1 with {ground}, and text needs {LEAST_CONTRAST} (WCAG AA); \
             expected a {} colour, such as {}",
            if theme == Theme::Light {
                "darker"
            } else {
                "lighter"
            },
            readable(accent, theme),
        );
        expect(
            contrast >= LEAST_CONTRAST,
            &format!("branding.{key}"),
            &expected,
        );
    }
    let is_address = |text: &str| {
        text.parse::<Url>()
            .is_ok_and(|url| url.scheme() == "https" && url.has_host())
    };
    expect(
        branding
            .support
            .as_deref()
            .is_none_or(|text| is_email(text) || is_address(text)),
        "branding.support",
        "expected an email address or an https address, such as help@example.org or https://example.org/help",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(toml: &str) -> Vec<String> {
        let branding: Branding = toml::from_str(toml).expect("of the right kind");
        let mut problems = Vec::new();
        check(&branding, &mut |good, key, expected| {
            if !good {
                problems.push(format!("{key}: {expected}"));
            }
        });
        problems
    }

    #[test]
    fn an_unreadable_colour_is_rejected_with_a_readable_suggestion() {
        let [problem] = &problems("accent = \"#ffcc00\"")[..] else {
            panic!("one problem")
        };
        assert!(
            problem.starts_with("branding.accent: #ffcc00 has a contrast of 1.4 to 1 with "),
            "{problem}"
        );
        let better = problem.rsplit(' ').next().unwrap();
        assert!(
            problems(&format!("accent = \"{better}\"")).is_empty(),
            "{problem}"
        );
        assert!(problems("accent = \"#0b5a6e\"\naccent_dark = \"#6fcbdd\"").is_empty());
        assert_eq!(
            problems("accent = \"#6fcbdd\"\naccent_dark = \"#0b5a6e\"").len(),
            2,
            "each in its own theme"
        );
    }

    #[test]
    fn support_is_an_address() {
        for (support, address) in [
            ("help@example.org", Some("mailto:help@example.org")),
            (
                "https://example.org/help?a=b",
                Some("https://example.org/help?a=b"),
            ),
            ("http://example.org", None),
            ("javascript:alert(1)", None),
            ("help@example.org?subject=x", None),
            ("call us", None),
            ("", None),
        ] {
            let toml = format!("support = \"{support}\"");
            assert_eq!(problems(&toml).is_empty(), address.is_some(), "{support}");
            if let Some(address) = address {
                let branding: Branding = toml::from_str(&toml).expect("of the right kind");
                assert_eq!(branding.support_address().as_deref(), Some(address));
            }
        }
    }
}
