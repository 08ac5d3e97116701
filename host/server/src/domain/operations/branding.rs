//! Branding: the operator's logo, read once at the start.

use std::io::Read;
use std::path::{Path, PathBuf};

use openssl::sha::sha256;

/// The largest file of a logo, in bytes. The limit is small because every sign-in page loads the logo.
pub const LARGEST: u64 = 64 * 1024;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The operator's logo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logo {
    /// The file.
    pub bytes: Vec<u8>,
    /// The file type.
    pub kind: LogoKind,
    /// The first sixteen hexadecimal digits of its SHA-256 digest.
    pub digest: String,
}

/// The file type of a logo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoKind {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Network Graphics.
    Png,
}

/// The reason why a logo cannot be used. The message says how to correct it.
#[derive(Debug, thiserror::Error)]
pub enum LogoFileError {
    /// The file cannot be read.
    #[error("branding.logo_file: {}: cannot be read: {reason}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: std::io::Error,
    },
    /// The file is too large.
    #[error(
        "branding.logo_file: {}: is larger than 64 KiB; every sign-in page would load it, so use a smaller one",
        .0.display()
    )]
    TooLarge(PathBuf),
    /// The file has no format that all browsers support.
    #[error("branding.logo_file: {}: expected an SVG (without a DOCTYPE) or a PNG", .0.display())]
    Unknown(PathBuf),
}

impl Logo {
    /// Reads the file of a logo.
    ///
    /// # Errors
    /// [`LogoFileError`] if the file cannot be read, or is not suitable as a logo.
    pub fn read(file: &Path) -> Result<Self, LogoFileError> {
        let unreadable = |reason| LogoFileError::Unreadable {
            file: file.to_owned(),
            reason,
        };
        let mut bytes = Vec::new();
        let opened = std::fs::File::open(file).map_err(unreadable)?;
        opened
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if bytes.len() as u64 > LARGEST {
            return Err(LogoFileError::TooLarge(file.to_owned()));
        }
        let kind = kind_of(&bytes).ok_or_else(|| LogoFileError::Unknown(file.to_owned()))?;
        let digest = sha256(&bytes)
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            bytes,
            kind,
            digest,
        })
    }
}

fn kind_of(bytes: &[u8]) -> Option<LogoKind> {
    if bytes.starts_with(PNG) {
        return Some(LogoKind::Png);
    }
    let mut text = std::str::from_utf8(bytes)
        .ok()?
        .trim_start_matches('\u{feff}')
        .trim_start();
    // The declaration and comments may precede the first element.
    while let Some(end) = [("<?xml", "?>"), ("<!--", "-->")]
        .into_iter()
        .find_map(|(begin, end)| {
            let rest = text.strip_prefix(begin)?;
            rest.split_once(end).map(|(_, rest)| rest.trim_start())
        })
    {
        text = end;
    }
    let rest = text.strip_prefix("<svg")?;
    rest.starts_with(|c: char| c.is_whitespace() || c == '>')
        .then_some(LogoKind::Svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_logo_is_detected_from_its_content() {
        for (bytes, kind) in [
            (
                &b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>"[..],
                Some(LogoKind::Svg),
            ),
            (
                b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- <html> -->\n<svg>",
                Some(LogoKind::Svg),
            ),
            (b"\x89PNG\r\n\x1a\nIHDR", Some(LogoKind::Png)),
            (b"<!DOCTYPE svg [<!ENTITY x \"y\">]><svg>", None),
            (b"<html><svg>", None),
            (b"<svgs>", None),
            (b"<!-- never ends <svg>", None),
            (b"GIF89a", None),
            (b"", None),
        ] {
            assert_eq!(kind_of(bytes), kind, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_missing_or_oversized_logo_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("logo.svg");
        let error = Logo::read(&file).unwrap_err().to_string();
        assert!(
            error.starts_with("branding.logo_file: ") && error.contains("cannot be read"),
            "{error}"
        );
        let mut svg = b"<svg>".to_vec();
        svg.resize(64 * 1024, b' ');
        std::fs::write(&file, &svg).unwrap();
        assert_eq!(Logo::read(&file).unwrap().bytes, svg);
        svg.push(b' ');
        std::fs::write(&file, &svg).unwrap();
        let error = Logo::read(&file).unwrap_err().to_string();
        assert!(error.ends_with("so use a smaller one"), "{error}");
    }
}
