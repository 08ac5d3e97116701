//! Tokens and identifiers: each has exactly one spelling and one kind.

#![no_main]

use std::sync::{Arc, LazyLock};

use assent::keys::{SealingKeys, SymmetricKey, TokenSealer};
use assent::oidc::bearer;
use assent::oidc::bearer::TokenScheme;
use assent_model::id::{Did, UserId};
use assent_model::secret::{Digest, Token};
use assent_model::token::prefix;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;

const KINDS: [&str; 5] = [
    prefix::CODE,
    prefix::ACCESS,
    prefix::ADMIN,
    prefix::SESSION,
    prefix::ENROLMENT,
];

static SEALING: LazyLock<Arc<SealingKeys>> = LazyLock::new(|| {
    let key = SymmetricKey::from_bytes(&[7; 32]).expect("a key");
    Arc::new(SealingKeys::single(key).expect("a sealing key"))
});

static SEALER: LazyLock<TokenSealer> = LazyLock::new(|| TokenSealer::new(Arc::clone(&SEALING)));

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    assert!(
        SEALING.open("cookie", text).is_err(),
        "a value that was never sealed"
    );
    let parsed: Vec<(&str, Token)> = KINDS
        .into_iter()
        .filter_map(|kind| Some((kind, Token::parse(kind, text)?)))
        .collect();
    assert!(parsed.len() <= 1, "{text} is of two kinds");
    for (kind, token) in parsed {
        assert_eq!(token.expose(), text);
        assert_eq!(token.digest(), Digest::sha256(input));
        let encoded = text
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix('_'))
            .expect("the prefix of its kind");
        let bytes = URL_SAFE_NO_PAD.decode(encoded).expect("base64url");
        assert_eq!(
            (bytes.len(), bytes.get(..16)),
            (48, Some(token.id().as_slice()))
        );
        assert_eq!(URL_SAFE_NO_PAD.encode(bytes), encoded, "another spelling");
    }
    if let Ok(id) = text.parse::<UserId>() {
        assert_eq!(id.to_string(), text, "another spelling");
        assert_eq!(UserId::from_bytes(*id.as_bytes()), id);
    }
    if let Ok(did) = text.parse::<Did>() {
        assert_eq!(did.as_str(), text);
        let bytes = bs58::decode(&text["did:key:z".len()..])
            .into_vec()
            .expect("base58");
        let key = bytes[2..].try_into().expect("32 bytes");
        assert_eq!(Did::from_ed25519(key), did, "another spelling");
    }
    if let Some(digest) = Digest::from_text(text) {
        assert_eq!(digest.to_text(), text.to_ascii_lowercase());
    }
    assert!(
        SEALER.open_access(text).is_none() && SEALER.open_refresh(text).is_none(),
        "a token that was never sealed"
    );
    if let Ok((scheme, token)) = bearer::token_of(Some(text)) {
        let name = match scheme {
            TokenScheme::Bearer => "bearer ",
            TokenScheme::Dpop => "dpop ",
        };
        assert!(
            text.get(..name.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(name))
        );
        assert!(text.trim_end().ends_with(token));
    }
});
