//! The logos of applications, as an administrator uploads them.

/// The maximum size of a logo, in bytes. It is small, because a page may show many logos.
pub const LARGEST: usize = 64 * 1024;

/// The logo of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationLogo {
    /// The format.
    pub kind: LogoFormat,
    /// Sixteen hexadecimal digits of its SHA-256.
    pub digest: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// The format of a logo. None of them can contain a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LogoFormat {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
}
crate::enum_texts!(LogoFormat);

/// An error in the file of a logo. The message describes the expected file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogoError {
    /// The file is too large.
    #[error("expected an image of 64 KiB at most")]
    TooLarge,
    /// The format is not one that every browser supports.
    #[error("expected an image in PNG, JPEG or WebP format")]
    Unknown,
}

impl LogoFormat {
    /// Returns the media type (RFC 2046, RFC 9649).
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }

    /// Detects the format from the first bytes. The name of the file is ignored.
    fn detect(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }
}

impl ApplicationLogo {
    /// Returns the logo in a file.
    ///
    /// # Errors
    /// [`LogoError`] if the file is too large or has another format.
    pub fn new(bytes: Vec<u8>) -> Result<Self, LogoError> {
        if bytes.len() > LARGEST {
            return Err(LogoError::TooLarge);
        }
        let kind = LogoFormat::detect(&bytes).ok_or(LogoError::Unknown)?;
        let digest = openssl::sha::sha256(&bytes)
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            kind,
            digest,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_detected_from_the_bytes_and_the_size_is_limited() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\nIHDR"[..], Ok(LogoFormat::Png)),
            (b"\xff\xd8\xff\xe0", Ok(LogoFormat::Jpeg)),
            (b"RIFF\x24\0\0\0WEBPVP8 ", Ok(LogoFormat::Webp)),
            (b"RIFF\x24\0\0\0WAVE", Err(LogoError::Unknown)),
            (
                b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
                Err(LogoError::Unknown),
            ),
            (b"RIFF", Err(LogoError::Unknown)),
            (b"", Err(LogoError::Unknown)),
        ] {
            assert_eq!(
                ApplicationLogo::new(bytes.to_vec()).map(|logo| logo.kind),
                kind
            );
        }
        let mut large = b"\xff\xd8\xff".to_vec();
        large.resize(LARGEST, 0);
        assert!(ApplicationLogo::new(large.clone()).is_ok());
        large.push(0);
        assert_eq!(ApplicationLogo::new(large), Err(LogoError::TooLarge));
    }
}
