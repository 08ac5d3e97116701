//! Credentials that the host adds to plugins' requests.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::sha::sha256;
use openssl::sign::Signer;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};
use zeroize::Zeroizing;

use super::host::{HOST_HEADERS, HostPattern};
use crate::spec::{Credential, CredentialGrant, Credentials};
use assent_model::clock::SharedClock;
use assent_model::secret::Secret;

/// RFC 9530, section 2.
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
/// RFC 9421, section 4.
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");
/// The shortest permitted secret. A response could contain a shorter text by chance.
const SHORTEST_SECRET: usize = 8;

/// The credentials of one plugin's requests.
pub(super) struct Keychain {
    keys: Vec<Key>,
    credentials: Arc<dyn Credentials>,
    clock: SharedClock,
}

struct Key {
    /// The hosts of the credential. Empty means every host that the plugin may call.
    hosts: Vec<HostPattern>,
    kind: CredentialKind,
    /// The secret, in the encodings in which a response may repeat it.
    forms: Vec<Zeroizing<Vec<u8>>>,
}

enum CredentialKind {
    Vapid,
    Header {
        name: HeaderName,
        value: HeaderValue,
    },
    Signature {
        key_id: String,
        key: PKey<Private>,
    },
}

impl Keychain {
    /// Reads the credentials. The error is the end of a sentence about the plugin.
    pub(super) fn new(
        grants: &[CredentialGrant],
        credentials: Arc<dyn Credentials>,
        clock: SharedClock,
    ) -> Result<Self, String> {
        let keys = grants.iter().map(Key::new).collect::<Result<_, _>>()?;
        Ok(Self {
            keys,
            credentials,
            clock,
        })
    }

    /// Adds the credentials for this URL. They replace the plugin's own headers of these names. `elsewhere` means that
    /// the request was redirected to another origin. Then only credentials with a list of hosts that matches are added.
    /// The error is the reason for a missing credential.
    pub(super) fn add(
        &self,
        headers: &mut HeaderMap,
        method: &reqwest::Method,
        url: &Url,
        body: &[u8],
        elsewhere: bool,
    ) -> Result<(), String> {
        for key in self.keys.iter().filter(|key| key.is_for(url, elsewhere)) {
            match &key.kind {
                CredentialKind::Vapid => {
                    // RFC 8292, section 2: the audience is the origin of the push endpoint.
                    let value = self.credentials.vapid(&url.origin().ascii_serialization());
                    let value = value.ok_or("the host has no VAPID key for this request")?;
                    headers.insert(AUTHORIZATION, sensitive(&value)?);
                }
                CredentialKind::Header { name, value, .. } => {
                    headers.insert(name, value.clone());
                }
                CredentialKind::Signature { key_id, key, .. } => {
                    let created = self.clock.now().seconds();
                    for (name, value) in signature(method, url, body, created, key_id, key)? {
                        headers.insert(name, value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns whether a text contains one of the secrets, plain or in a common encoding. This protects from services
    /// that repeat a request carelessly. A malicious service can use another encoding.
    pub(super) fn is_repeated_in(&self, text: &[u8]) -> bool {
        let holds = |form: &Zeroizing<Vec<u8>>| {
            text.windows(form.len())
                .any(|window| window == form.as_slice())
        };
        self.keys.iter().flat_map(|key| &key.forms).any(holds)
    }
}

impl Key {
    fn new(grant: &CredentialGrant) -> Result<Self, String> {
        let hosts = grant
            .hosts
            .iter()
            .map(|text| HostPattern::parse(text))
            .collect::<Result<_, _>>()?;
        let (kind, forms) = match &grant.credential {
            Credential::Vapid => (CredentialKind::Vapid, Vec::new()),
            Credential::Header {
                name,
                prefix,
                secret,
            } => {
                long_enough(secret)?;
                let name = HeaderName::try_from(name.as_str()).map_err(|_| {
                    format!("`credentials` has the header `{name}`, which is not a header name")
                })?;
                if HOST_HEADERS.contains(&name.as_str()) {
                    return Err(format!(
                        "`credentials` has the header `{name}`, which belongs to the connection"
                    ));
                }
                let value = Zeroizing::new(format!("{prefix}{}", secret.expose()));
                (
                    CredentialKind::Header {
                        name,
                        value: sensitive(&value)?,
                    },
                    forms(secret),
                )
            }
            Credential::Signature { key_id, key } => {
                let plain =
                    |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
                if key_id.is_empty() || !key_id.bytes().all(plain) {
                    return Err(
                        "`credentials` has an invalid `key_id`; use printable ASCII characters, but no quotes and \
                         backslashes"
                            .to_owned(),
                    );
                }
                long_enough(key)?;
                let forms = forms(key);
                let key = PKey::hmac(key.expose().as_bytes()).map_err(|error| error.to_string())?;
                (
                    CredentialKind::Signature {
                        key_id: key_id.clone(),
                        key,
                    },
                    forms,
                )
            }
        };
        Ok(Self { hosts, kind, forms })
    }

    fn is_for(&self, url: &Url, elsewhere: bool) -> bool {
        let Some(Host::Domain(host)) = url.host() else {
            return false;
        };
        (self.hosts.is_empty() && !elsewhere)
            || self.hosts.iter().any(|pattern| pattern.matches(host, url))
    }
}

fn long_enough(secret: &Secret) -> Result<(), String> {
    if secret.expose().len() < SHORTEST_SECRET {
        return Err(format!(
            "`credentials` has a secret of fewer than {SHORTEST_SECRET} characters"
        ));
    }
    Ok(())
}

/// Returns a secret in plain form and in JSON, percent encoding, base64 and hexadecimal.
fn forms(secret: &Secret) -> Vec<Zeroizing<Vec<u8>>> {
    let text = secret.expose();
    let json = serde_json::to_string(text).unwrap_or_default();
    let encoded: [String; 7] = [
        text.to_owned(),
        json.trim_matches('"').to_owned(),
        form_urlencoded::byte_serialize(text.as_bytes()).collect(),
        STANDARD_NO_PAD.encode(text),
        URL_SAFE_NO_PAD.encode(text),
        hex::encode(text),
        hex::encode_upper(text),
    ];
    encoded
        .into_iter()
        .map(|form| Zeroizing::new(form.into_bytes()))
        .filter(|form| !form.is_empty())
        .collect()
}

fn sensitive(value: &str) -> Result<HeaderValue, String> {
    let value = HeaderValue::try_from(value);
    let mut value = value
        .map_err(|_| "`credentials` has a secret that is not a valid header value".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the headers of a signed request: `Content-Digest` (RFC 9530) and a signature (RFC 9421) over the method, the
/// URL and the digest. `created` is in seconds since the epoch.
fn signature(
    method: &reqwest::Method,
    url: &Url,
    body: &[u8],
    created: i64,
    key_id: &str,
    key: &PKey<Private>,
) -> Result<[(HeaderName, HeaderValue); 3], String> {
    let digest = format!("sha-256=:{}:", STANDARD.encode(sha256(body)));
    let parameters = format!(
        "(\"@method\" \"@target-uri\" \"content-digest\");created={created};keyid=\"{key_id}\";alg=\"hmac-sha256\""
    );
    // RFC 9421, section 2.5.
    let base = format!(
        "\"@method\": {method}\n\"@target-uri\": {url}\n\"content-digest\": {digest}\n\"@signature-params\": \
         {parameters}"
    );
    let sign = || Signer::new(MessageDigest::sha256(), key)?.sign_oneshot_to_vec(base.as_bytes());
    let signed = sign().map_err(|error| format!("the request cannot be signed: {error}"))?;
    let value = |text: String| {
        HeaderValue::try_from(text)
            .map_err(|_| "the signature is not a valid header value".to_owned())
    };
    Ok([
        (CONTENT_DIGEST, value(digest)?),
        (SIGNATURE_INPUT, value(format!("assent={parameters}"))?),
        (
            SIGNATURE,
            value(format!("assent=:{}:", STANDARD.encode(signed)))?,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::NoCredentials;
    use assent_model::clock::{ManualClock, Timestamp};

    fn keychain(hosts: &[&str], credential: Credential) -> Result<Keychain, String> {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let clock = Arc::new(ManualClock::new(Timestamp::from_seconds(1_618_884_473)));
        Keychain::new(
            &[CredentialGrant { hosts, credential }],
            Arc::new(NoCredentials),
            clock,
        )
    }

    fn header(value: &str) -> Credential {
        Credential::Header {
            name: "Authorization".to_owned(),
            prefix: "Bearer ".to_owned(),
            secret: Secret::new(value),
        }
    }

    fn added(keychain: &Keychain, url: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("the plugin's own"));
        let url = Url::parse(url).expect("a URL");
        keychain
            .add(&mut headers, &reqwest::Method::POST, &url, b"{}", false)
            .expect("added");
        headers
    }

    #[test]
    fn a_credential_replaces_the_header_of_the_plugin_for_its_hosts_only() {
        let keychain = keychain(&["api.example"], header("01234/56789")).expect("a keychain");
        assert_eq!(
            added(&keychain, "https://api.example/x")[AUTHORIZATION],
            "Bearer 01234/56789"
        );
        assert_eq!(
            added(&keychain, "https://other.example/x")[AUTHORIZATION],
            "the plugin's own"
        );
        assert!(added(&keychain, "https://api.example/x")[AUTHORIZATION].is_sensitive());
        for repeated in [
            "you said Bearer 01234/56789!",
            "01234/56789",
            "k=01234%2F56789",
            "MDEyMzQvNTY3ODk=",
            "30313233342f3536373839",
        ] {
            assert!(keychain.is_repeated_in(repeated.as_bytes()), "{repeated}");
        }
        assert!(!keychain.is_repeated_in(b"Bearer 01234"));
    }

    #[test]
    fn unusable_credentials_are_errors() {
        assert!(keychain(&[], header("short")).is_err_and(|error| error.contains("8 characters")));
        assert!(keychain(&[], header("with\na line break")).is_err());
        assert!(keychain(&["a/b"], header("long enough")).is_err());
        let named = |name: &str| {
            let secret = Secret::new("long enough");
            Credential::Header {
                name: name.to_owned(),
                prefix: String::new(),
                secret,
            }
        };
        assert!(keychain(&[], named("Host")).is_err_and(|error| error.contains("connection")));
        assert!(keychain(&[], named("two words")).is_err());
        let signature = |id: &str| Credential::Signature {
            key_id: id.to_owned(),
            key: Secret::new("long enough"),
        };
        assert!(keychain(&[], signature("a\"b")).is_err() && keychain(&[], signature("")).is_err());
    }

    #[test]
    fn a_signature_covers_method_url_and_body() {
        let credential = Credential::Signature {
            key_id: "k1".to_owned(),
            key: Secret::new("0123456789abcdef"),
        };
        let keychain = keychain(&[], credential).expect("a keychain");
        let headers = added(&keychain, "https://api.example/requests?a=b");
        // The output of `printf '{}' | openssl dgst -sha256 -binary | base64`.
        assert_eq!(
            headers[CONTENT_DIGEST],
            "sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"
        );
        let parameters = "(\"@method\" \"@target-uri\" \
             \"content-digest\");created=1618884473;keyid=\"k1\";alg=\"hmac-sha256\"";
        assert_eq!(headers[SIGNATURE_INPUT], format!("assent={parameters}"));
        let base = format!(
            "\"@method\": POST\n\"@target-uri\": https://api.example/requests?a=b\n\"content-digest\": \
             {}\n\"@signature-params\": {parameters}",
            headers[CONTENT_DIGEST].to_str().expect("text")
        );
        let key = PKey::hmac(b"0123456789abcdef").expect("a key");
        let mut signer = Signer::new(MessageDigest::sha256(), &key).expect("a signer");
        let expected =
            STANDARD.encode(signer.sign_oneshot_to_vec(base.as_bytes()).expect("signed"));
        assert_eq!(headers[SIGNATURE], format!("assent=:{expected}:"));
    }
}
