//! The accent colour of the pages in a theme, and the colours derived from it.

use super::colour::Colour;

const BLACK: Colour = Colour::new(0, 0, 0);
const WHITE: Colour = Colour::new(255, 255, 255);

/// The minimum contrast of text with its background (WCAG 2.2, 1.4.3, level AA).
pub const LEAST_CONTRAST: f64 = 4.5;

/// The light or dark theme, according to the user's system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on light backgrounds.
    Light,
    /// Light text on dark backgrounds.
    Dark,
}

impl Theme {
    /// Returns the backgrounds of pages and of cards, as in the stylesheet.
    pub const fn grounds(self) -> [Colour; 2] {
        match self {
            Self::Light => [Colour::new(0xf3, 0xf5, 0xf8), Colour::new(0xff, 0xff, 0xff)],
            Self::Dark => [Colour::new(0x0d, 0x13, 0x18), Colour::new(0x16, 0x1e, 0x25)],
        }
    }
}

/// An accent colour, and the colours derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Links, and the backgrounds of primary buttons.
    pub accent: Colour,
    /// A primary button under the pointer.
    pub hover: Colour,
    /// The text on a primary button.
    pub ink: Colour,
    /// The background of slightly emphasised content.
    pub soft: Colour,
}

impl Palette {
    /// Returns the palette of an accent colour in a theme.
    pub fn from_accent(accent: Colour, theme: Theme) -> Self {
        let [ground, card] = theme.grounds();
        match theme {
            Theme::Light => Self {
                accent,
                hover: accent.mixed(BLACK, 20),
                ink: WHITE,
                soft: card.mixed(accent, 10),
            },
            Theme::Dark => Self {
                accent,
                hover: accent.mixed(WHITE, 25),
                ink: ground,
                soft: card.mixed(accent, 12),
            },
        }
    }

    /// Returns the lowest contrast between a text and its background, and that background.
    pub fn least_contrast(&self, theme: Theme) -> (f64, Colour) {
        let [ground, card] = theme.grounds();
        let pairs = [
            (self.accent, ground),
            (self.accent, card),
            (self.accent, self.soft),
            (self.ink, self.accent),
        ];
        let contrasts = pairs.map(|(text, ground)| (text.contrast(ground), ground));
        contrasts
            .into_iter()
            .fold((f64::INFINITY, ground), |least, one| {
                if one.0 < least.0 { one } else { least }
            })
    }
}

/// Returns the nearest readable colour in a theme: darker on light backgrounds, lighter on dark ones.
pub fn readable(accent: Colour, theme: Theme) -> Colour {
    let end = if theme == Theme::Light { BLACK } else { WHITE };
    let mut steps = (0..=100).map(|hundredths| accent.mixed(end, hundredths));
    steps
        .find(|colour| {
            Palette::from_accent(*colour, theme).least_contrast(theme).0 >= LEAST_CONTRAST
        })
        .unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_a_readable_variant_and_a_readable_colour_is_unchanged() {
        for text in [
            "#000000", "#ffffff", "#ff0000", "#ffcc00", "#0b5a6e", "#6fcbdd", "#808080", "#0000ff",
        ] {
            let colour: Colour = text.parse().unwrap();
            for theme in [Theme::Light, Theme::Dark] {
                let near = readable(colour, theme);
                let palette = Palette::from_accent(near, theme);
                assert!(
                    palette.least_contrast(theme).0 >= LEAST_CONTRAST,
                    "{text} {theme:?}"
                );
                // The text of a button under the pointer is readable, too.
                assert!(
                    palette.ink.contrast(palette.hover) >= LEAST_CONTRAST,
                    "{text} {theme:?}"
                );
                assert_eq!(readable(near, theme), near);
            }
        }
    }
}
