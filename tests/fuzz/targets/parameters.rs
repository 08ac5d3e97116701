//! The parameters of a request, in its query or body: the parsed values, and the rejected requests.

#![no_main]

use assent::oidc::parameters::{Parameters, ParametersError};
use assent_model::scope::Scopes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(parameters) = Parameters::parse(input) else {
        return;
    };
    let sent: Vec<(String, String)> = form_urlencoded::parse(input).into_owned().collect();
    assert!(sent.len() <= 64, "{} parameters were accepted", sent.len());
    let times = |wanted: &str| sent.iter().filter(|(name, _)| name == wanted).count();

    for (name, value) in &sent {
        let expected = (times(name) == 1 && !value.is_empty()).then_some(value.as_str());
        assert_eq!(parameters.get(name), expected, "{name}");
    }
    match parameters.refuse_repeated() {
        Ok(()) => {
            for name in [
                "client_id",
                "redirect_uri",
                "response_type",
                "scope",
                "state",
                "nonce",
                "code",
                "request",
            ] {
                assert!(times(name) <= 1, "{name} is repeated and was not rejected");
            }
        }
        Err(ParametersError::Repeated(name)) => {
            assert!(times(name) > 1, "{name} is not repeated and was rejected")
        }
        Err(error) => panic!("a limit was applied too late: {error}"),
    }
    if let Some(scope) = parameters.get("scope") {
        let known = Scopes::parse_known(scope);
        assert!(
            known
                .iter()
                .all(|one| scope.split(' ').any(|name| name == one.as_str())),
            "{known} was not requested"
        );
        assert_eq!(Scopes::parse_known(&known.to_string()), known);
    }
});
