use proptest::prelude::*;

use super::*;

fn registered(uri: &str, kind: ApplicationType) -> [RedirectUri; 1] {
    [RedirectUri::register(uri, kind, false).expect("fit to register")]
}

#[test]
fn a_redirect_uri_that_is_not_identical_is_rejected() {
    let uris = registered("https://rp.example/cb", ApplicationType::Web);
    assert!(CheckedRedirect::find(&uris, "https://rp.example/cb").is_some());
    for requested in [
        "https://rp.example/cb/",
        "https://rp.example/c",
        "https://rp.example/cb?x=1",
        "https://rp.example/cb#f",
        "https://rp.example/CB",
        "https://RP.example/cb",
        "https://rp.example:443/cb",
        "https://rp.example:8443/cb",
        "https://rp@evil.example/cb",
        "https://rp.example@evil.example/cb",
        "https://rp.example/x/../cb",
        "https://rp.example/%63b",
        "https://rp.example/%2563b",
        "http://rp.example/cb",
        "https://rp.example.evil/cb",
        "javascript:alert(1)",
        "",
        " https://rp.example/cb",
    ] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_none(),
            "{requested}"
        );
    }
}

#[test]
fn only_the_port_of_a_loopback_redirect_uri_may_differ() {
    let uris = registered("http://127.0.0.1/cb", ApplicationType::Native);
    for requested in ["http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_some(),
            "{requested}"
        );
    }
    for requested in [
        "http://127.0.0.1:51004/cb2",
        "http://127.0.0.1:51004@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://127.0.0.1:99999/cb",
        "http://127.0.0.1:/cb",
        "http://localhost:51004/cb",
        "http://[::1]:51004/cb",
        "https://127.0.0.1:51004/cb",
        "http://127.0.0.1:1evil/cb",
    ] {
        assert!(
            CheckedRedirect::find(&uris, requested).is_none(),
            "{requested}"
        );
    }
}

#[test]
fn the_form_of_redirect_uris_depends_on_the_application_type() {
    use ApplicationType::{Native, Spa, Web};
    let fit = |uri, kind, development| RedirectUri::register(uri, kind, development).is_ok();
    assert!(fit("https://a.example/cb", Web, false) && fit("https://a.example/cb", Spa, false));
    assert!(!fit("http://a.example/cb", Web, true) && !fit("http://localhost:3000/cb", Web, false));
    assert!(fit("http://localhost:3000/cb", Spa, true));
    assert!(fit("com.example.app://cb", Native, false) && fit("http://[::1]/cb", Native, false));
    assert!(
        !fit("https://a.example/cb", Native, false)
            && !fit("javascript://a/%0aalert(1)", Native, false)
    );
    assert!(
        !fit("https://u:p@a.example/cb", Web, false) && !fit("https://a.example/cb#x", Web, false)
    );
    assert!(!fit("/cb", Web, true) && !fit("com.example.app:cb", Native, false));
    assert!(
        !fit("https:a.example/cb", Web, false) && !fit("com.example.app:cb?x=://", Native, false)
    );
    assert!(
        !fit("https://@a.example/cb", Web, false) && !fit("com.example.app://@", Native, false)
    );
    assert!(
        !fit("https://a.example;script-src/cb", Web, false)
            && !fit("https://*.a.example/cb", Web, false)
    );
    assert!(
        fit("com.example.app:///cb@1", Native, false) && !fit("HTTPS://a.example/cb", Web, false)
    );
}

#[test]
fn parameters_are_appended_to_an_existing_query() {
    let uri = CheckedRedirect("https://rp.example/cb?a=1".to_owned());
    assert_eq!(
        uri.with_query(&[("state", "x&y z")]),
        "https://rp.example/cb?a=1&state=x%26y+z"
    );
}

proptest! {
    #[test]
    fn any_accepted_loopback_uri_has_the_registered_host_and_path(
        requested in "http://(127\\.0\\.0\\.1|\\[::1\\]|localhost)(:[0-9]{0,6})?(/cb|/|@evil/cb)?.{0,3}",
    ) {
        let uris = registered("http://127.0.0.1/cb", ApplicationType::Native);
        if CheckedRedirect::find(&uris, &requested).is_some() {
            let url = Url::parse(&requested).expect("an admitted URI parses");
            prop_assert_eq!(url.host_str(), Some("127.0.0.1"));
            prop_assert_eq!(url.path(), "/cb");
            prop_assert!(url.username().is_empty() && url.query().is_none() && url.fragment().is_none());
        }
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = RedirectUri::register(&text, ApplicationType::Native, true);
        let _ = split_loopback(&text);
    }
}
