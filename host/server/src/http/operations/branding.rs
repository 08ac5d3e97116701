//! The operator's branding of the pages: a logo, and a stylesheet of colours. The addresses of both contain the hash of
//! their content.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};

use crate::config::Branding;
use crate::domain::Services;
use crate::domain::operations::branding::{Logo, LogoKind};
use crate::http::assets::{CSS, FOREVER, PNG, SVG, hashed_path};
use assent_model::colour::Colour;
use assent_model::palette::{Palette, Theme};

const COLOURS: &str = "colours.css";

/// The policy of an image that is opened directly, outside of a page: it may load and execute nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/// The address of the operator's logo.
pub(crate) fn logo_address(services: &Services) -> Option<String> {
    services.logo.as_ref().map(|logo| {
        let ending = match logo.kind {
            LogoKind::Svg => "svg",
            LogoKind::Png => "png",
        };
        format!("/assets/logo.{}.{ending}", logo.digest)
    })
}

/// The address of the operator's colours.
pub(crate) fn colours_address(services: &Services) -> Option<String> {
    colours(&services.settings.branding).map(|css| hashed_path(COLOURS, css.as_bytes()))
}

/// The stylesheet with the operator's colours; `None` if the operator set none.
fn colours(pages: &Branding) -> Option<String> {
    let rule = |accent: Colour, theme| {
        let Palette {
            accent,
            hover,
            ink,
            soft,
        } = Palette::from_accent(accent, theme);
        format!(
            ":root {{ --accent: {accent}; --accent-hover: {hover}; --accent-ink: {ink}; --accent-soft: {soft}; }}\n"
        )
    };
    let light = pages.accent.map(|accent| {
        format!(
            "@media (prefers-color-scheme: light) {{ {} }}\n",
            rule(accent, Theme::Light).trim_end()
        )
    });
    let dark = pages.accent_dark.map(|accent| {
        format!(
            "@media (prefers-color-scheme: dark) {{ {} }}\n",
            rule(accent, Theme::Dark).trim_end()
        )
    });
    let rules: String = light.into_iter().chain(dark).collect();
    (!rules.is_empty()).then_some(rules)
}

/// The operator's file at this path.
pub(crate) fn find(services: &Services, path: &str) -> Option<Response> {
    if logo_address(services).is_some_and(|address| address == path) {
        let Logo { bytes, kind, .. } = services.logo.clone()?;
        let content_type = match kind {
            LogoKind::Svg => SVG,
            LogoKind::Png => PNG,
        };
        return Some(file(
            bytes,
            content_type,
            &[(CONTENT_SECURITY_POLICY, POLICY)],
        ));
    }
    if path.starts_with("/assets/colours.")
        && colours_address(services).is_some_and(|address| address == path)
    {
        return Some(file(
            colours(&services.settings.branding)?.into_bytes(),
            CSS,
            &[],
        ));
    }
    None
}

fn file(
    bytes: Vec<u8>,
    content_type: &'static str,
    more: &[(HeaderName, &'static str)],
) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(FOREVER));
    for (name, value) in more {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backgrounds_for_contrast_match_the_stylesheet() {
        let css = include_str!("../../../assets/assent.css");
        let (light, dark) = css
            .split_once("@media (prefers-color-scheme: dark)")
            .unwrap();
        for (part, theme) in [(light, Theme::Light), (dark, Theme::Dark)] {
            let [ground, surface] = theme.grounds();
            assert!(
                part.contains(&format!("--ground: {ground};"))
                    && part.contains(&format!("--surface: {surface};"))
            );
        }
    }

    #[test]
    fn only_themes_with_a_configured_colour_have_styles() {
        assert_eq!(colours(&Branding::default()), None);
        let pages = Branding {
            accent: Some(Colour::new(0x80, 0, 0)),
            ..Branding::default()
        };
        let css = colours(&pages).unwrap();
        assert!(
            css.contains("--accent: #800000;") && !css.contains("dark"),
            "{css}"
        );
    }
}
