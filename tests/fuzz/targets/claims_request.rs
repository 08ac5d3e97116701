//! The `claims` parameter: a parsed request is bounded, and storing it with a login does not change it.

#![no_main]

use assent_model::claims_request::ClaimsRequest;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(request) = ClaimsRequest::parse(text) else {
        return;
    };
    assert!(
        request.names().count() <= 64,
        "{} claims were accepted",
        request.names().count()
    );
    assert_eq!(request.is_empty(), request.names().next().is_none());
    let wanted = || request.id_token.values().chain(request.userinfo.values());
    assert!(wanted().all(|wanted| wanted.values.iter().all(|value| wanted.admits(value))));
    // JSON parsers keep about sixteen digits of a fraction.
    if wanted().all(|wanted| wanted.values.iter().all(is_exact)) {
        let text = serde_json::to_string(&request).expect("a request can be written");
        assert_eq!(
            serde_json::from_str::<ClaimsRequest>(&text).ok().as_ref(),
            Some(&request),
            "{text}"
        );
        if wanted().all(|wanted| wanted.values.is_empty()) {
            assert_eq!(ClaimsRequest::parse(&text), Ok(request), "{text}");
        }
    }
});

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(values) => values.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}
