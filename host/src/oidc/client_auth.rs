//! Client authentication at the token endpoint (RFC 6749 section 2.3): `client_secret_basic` for web applications,
//! `none` for SPAs and native apps. An application has one method, and no other is accepted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::TokenError;
use super::parameters::Parameters;
use crate::domain::limits::Network;
use crate::domain::{Broken, Host};
use crate::id::Did;
use crate::model::application::Application;
use crate::secret::Secret;

/// How a client says who it is.
enum Presented {
    /// With the `Authorization` header.
    Basic { id: Did, secret: Secret },
    /// With `client_id` alone.
    Nothing { id: Did },
}

/// Finds out which application calls. Of one application and place only so many may fail, so that secrets can't be
/// guessed; who succeeds is not counted.
pub async fn authenticate(
    host: &Host,
    from: Network,
    authorization: Option<&str>,
    parameters: &Parameters,
) -> Result<Application, TokenError> {
    let by_header = authorization.is_some();
    let presented = presented(authorization, parameters)?;
    let (Presented::Basic { id, .. } | Presented::Nothing { id }) = &presented;
    let limit = &host.limits.client_failures;
    let caller = (id.clone(), from);
    limit.check(&caller, host.now()).map_err(TokenError::TooManyFailures)?;
    let found = host.store.application(id).await.map_err(Broken::from)?;
    let good = found.filter(|application| {
        let confidential = application.settings.application_type.is_confidential();
        match &presented {
            Presented::Basic { secret, .. } => confidential && application.secret == Some(secret.digest()),
            Presented::Nothing { .. } => !confidential,
        }
    });
    good.ok_or_else(|| {
        // Whether this one was still within the limit is for the next request to find out.
        let _ = limit.take(&caller, host.now());
        TokenError::InvalidClient { by_header }
    })
}

fn presented(authorization: Option<&str>, parameters: &Parameters) -> Result<Presented, TokenError> {
    let client_id = parameters.get("client_id");
    let in_body = parameters.get("client_secret").is_some() || parameters.get("client_assertion").is_some();
    match authorization {
        Some(_) if in_body => {
            Err(TokenError::InvalidRequest("the client authenticates in two ways at once; use one".to_owned()))
        }
        Some(header) => {
            let (id, secret) = basic(header).ok_or(TokenError::InvalidClient { by_header: true })?;
            if client_id.is_some_and(|other| other != id.as_str()) {
                return Err(TokenError::InvalidRequest("client_id differs from the Authorization header's".to_owned()));
            }
            Ok(Presented::Basic { id, secret })
        }
        None if in_body => Err(TokenError::InvalidClient { by_header: false }),
        None => {
            let id = client_id.ok_or_else(|| TokenError::InvalidRequest("client_id is missing".to_owned()))?;
            let id = id.parse().map_err(|_| TokenError::InvalidClient { by_header: false })?;
            Ok(Presented::Nothing { id })
        }
    }
}

/// Reads `Basic base64(id:secret)`. A Client ID is a DID and has colons; our secrets have none. So both encodings are
/// understood: both parts form-urlencoded (RFC 6749 section 2.3.1), and raw, split at the last colon.
fn basic(header: &str) -> Option<(Did, Secret)> {
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
        basic(&header).map(|(id, secret)| (id.to_string(), secret.expose().to_owned()))
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
            assert!(basic(header).is_none(), "{header}");
        }
        assert_eq!(read("someone:secret"), None);
    }

    proptest! {
        #[test]
        fn no_header_panics(header in ".*", credentials in ".*") {
            let _ = basic(&header);
            let _ = read(&credentials);
        }
    }
}
