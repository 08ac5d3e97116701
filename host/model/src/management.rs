//! Configuration as code: the owner who manages an object with a manifest, and the object's key in the manifest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum length of an owner or a key, in characters.
const LONGEST: usize = 64;

/// A text that cannot be an owner or a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected 1 to 64 lower-case letters, digits, hyphens, dots and underscores, with a letter or digit first, such \
     as platform-team"
)]
pub struct SlugError;

fn slug(text: &str) -> Result<String, SlugError> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = (1..=LONGEST).contains(&text.len())
        && text.bytes().next().is_some_and(is_letter)
        && text
            .bytes()
            .all(|byte| is_letter(byte) || matches!(byte, b'-' | b'.' | b'_'));
    if fits {
        Ok(text.to_owned())
    } else {
        Err(SlugError)
    }
}

/// Defines a text for paths of the admin API and for manifests.
macro_rules! slugs {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
            #[serde(into = "String", try_from = "String")]
            pub struct $name(String);

            impl $name {
                /// Returns the text.
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl FromStr for $name {
                type Err = SlugError;
                fn from_str(text: &str) -> Result<Self, SlugError> {
                    slug(text).map(Self)
                }
            }

            impl TryFrom<String> for $name {
                type Error = SlugError;
                fn try_from(text: String) -> Result<Self, SlugError> {
                    text.parse()
                }
            }

            impl From<$name> for String {
                fn from(slug: $name) -> Self {
                    slug.0
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&self.0)
                }
            }
        )*
    };
}

slugs! {
    /// The owner of objects that manifests manage, such as `platform-team`. The caller chooses the name.
    ManifestOwner;
    /// The name of an object in the manifests of its owner. It never changes.
    ManifestKey;
}

/// An owner and a key, which identify a managed object of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Management {
    /// The owner.
    pub owner: ManifestOwner,
    /// The key.
    pub key: ManifestKey,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_key_is_valid_in_a_url_path() {
        for text in ["a", "wiki", "1st", "eu-west.wiki_2", &"x".repeat(64)] {
            let key: ManifestKey = text.parse().unwrap();
            assert_eq!(key.as_str(), text);
        }
        for text in [
            "",
            "Wiki",
            "-a",
            ".",
            "..",
            "a b",
            "a/b",
            "a%2fb",
            "ü",
            &"x".repeat(65),
        ] {
            assert_eq!(text.parse::<ManifestOwner>(), Err(SlugError), "{text:?}");
        }
    }
}
