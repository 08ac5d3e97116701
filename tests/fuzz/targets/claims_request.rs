//! The `claims` parameter: what is read is bounded, and the same after it was kept with a login.

#![no_main]

use assent::model::claims_request::ClaimsRequest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(request) = ClaimsRequest::parse(text) else { return };
    assert!(request.names().count() <= 64, "{} claims were taken", request.names().count());
    assert_eq!(request.is_empty(), request.names().next().is_none());
    for wanted in request.id_token.values().chain(request.userinfo.values()) {
        assert!(wanted.values.iter().all(|value| wanted.admits(value)));
    }
    let kept = serde_json::to_string(&request).expect("a request can be written");
    assert_eq!(serde_json::from_str::<ClaimsRequest>(&kept).ok().as_ref(), Some(&request), "{kept}");
    if request.id_token.values().chain(request.userinfo.values()).all(|wanted| wanted.values.is_empty()) {
        assert_eq!(ClaimsRequest::parse(&kept), Ok(request), "{kept}");
    }
});
