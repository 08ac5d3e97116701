//! `client_secret_basic`: the `Authorization` header.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::oidc::error::Reason;
use assent_model::id::Did;
use assent_model::secret::Secret;

/// Reads `Basic base64(id:secret)`. A client ID is a DID and contains colons; the secrets of this server contain none.
/// So both encodings are accepted: both parts form-urlencoded (RFC 6749 section 2.3.1), and raw, split at the last
/// colon.
///
/// # Errors
/// The reason if the header is malformed or has no valid client ID.
pub fn parse(header: &str) -> Result<(Did, Secret), Reason> {
    let decoded = credentials(header).ok_or("the Authorization header cannot be read")?;
    let text = std::str::from_utf8(&decoded)
        .ok()
        .and_then(|text| text.rsplit_once(':'));
    let (id, secret) = text.ok_or("the Authorization header cannot be read")?;
    let id = id
        .parse()
        .ok()
        .or_else(|| form_decoded(id)?.parse().ok())
        .ok_or(UNKNOWN)?;
    let secret = form_decoded(secret).ok_or("the client secret is not form-urlencoded")?;
    Ok((id, Secret::new(secret)))
}

/// No application has such a client ID.
pub const UNKNOWN: Reason = "the application is unknown";

fn credentials(header: &str) -> Option<Zeroizing<Vec<u8>>> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    STANDARD.decode(encoded.trim()).ok().map(Zeroizing::new)
}

/// Decodes one form-urlencoded value. Returns `None` if the text contains more than one value.
fn form_decoded(text: &str) -> Option<String> {
    if text.contains(['&', '=']) {
        return None;
    }
    // The parser would read a value without a name as a name, so the value gets one.
    form_urlencoded::parse(format!("v={text}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";

    fn read(credentials: &str) -> Option<(String, String)> {
        let header = format!("Basic {}", STANDARD.encode(credentials));
        parse(&header)
            .ok()
            .map(|(id, secret)| (id.to_string(), secret.expose().to_owned()))
    }

    #[test]
    fn both_encodings_of_a_client_id_with_colons_are_accepted() {
        let expected = Some((ID.to_owned(), "s3cret-_x".to_owned()));
        assert_eq!(read(&format!("{ID}:s3cret-_x")), expected);
        assert_eq!(
            read(&format!("{}:s3cret-_x", ID.replace(':', "%3A"))),
            expected
        );
        assert_eq!(
            read(&format!("{}:s3cret%2D_x", ID.replace(':', "%3a"))),
            expected
        );
    }

    #[test]
    fn malformed_and_unknown_credentials_are_rejected() {
        for header in ["", "Basic", "Basic !!", "Bearer abc", "Basic Zm9v"] {
            assert!(
                parse(header).is_err_and(|reason| reason.contains("cannot be read")),
                "{header}"
            );
        }
        assert_eq!(
            parse(&format!("Basic {}", STANDARD.encode("someone:secret"))).unwrap_err(),
            UNKNOWN
        );
    }

    proptest! {
        #[test]
        fn no_header_panics(header in ".*", credentials in ".*") {
            let _ = parse(&header);
            let _ = read(&credentials);
        }
    }
}
