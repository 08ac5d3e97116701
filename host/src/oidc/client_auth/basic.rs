//! `client_secret_basic`: the `Authorization` header.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::id::Did;
use crate::secret::Secret;

/// Reads `Basic base64(id:secret)`. A Client ID is a DID and has colons; our secrets have none. So both encodings are
/// understood: both parts form-urlencoded (RFC 6749 section 2.3.1), and raw, split at the last colon.
pub fn parse(header: &str) -> Option<(Did, Secret)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = zeroize::Zeroizing::new(STANDARD.decode(encoded.trim()).ok()?);
    let (id, secret) = std::str::from_utf8(&decoded).ok()?.rsplit_once(':')?;
    let id = id.parse().ok().or_else(|| form_decoded(id)?.parse().ok())?;
    Some((id, Secret::new(form_decoded(secret)?)))
}

/// One form-urlencoded value. `None` if the text is more than that.
fn form_decoded(text: &str) -> Option<String> {
    if text.contains(['&', '=']) {
        return None;
    }
    // A value without a name would be read as a name, so it is given one.
    form_urlencoded::parse(format!("v={text}").as_bytes()).next().map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";

    fn read(credentials: &str) -> Option<(String, String)> {
        let header = format!("Basic {}", STANDARD.encode(credentials));
        parse(&header).map(|(id, secret)| (id.to_string(), secret.expose().to_owned()))
    }

    #[test]
    fn both_encodings_of_a_client_id_with_colons_are_understood() {
        let expected = Some((ID.to_owned(), "s3cret-_x".to_owned()));
        assert_eq!(read(&format!("{ID}:s3cret-_x")), expected);
        assert_eq!(read(&format!("{}:s3cret-_x", ID.replace(':', "%3A"))), expected);
        assert_eq!(read(&format!("{}:s3cret%2D_x", ID.replace(':', "%3a"))), expected);
    }

    #[test]
    fn what_is_not_basic_is_refused() {
        for header in ["", "Basic", "Basic !!", "Bearer abc", "Basic Zm9v"] {
            assert!(parse(header).is_none(), "{header}");
        }
        assert_eq!(read("someone:secret"), None);
    }

    proptest! {
        #[test]
        fn no_header_panics(header in ".*", credentials in ".*") {
            let _ = parse(&header);
            let _ = read(&credentials);
        }
    }
}
