use proptest::prelude::*;

use super::LifecycleState::{Active, Invited, Suspended, Terminated};
use super::is_other_address;
use crate::name::LoginName;
use crate::user::profile::Profile;

/// Returns a profile with only this member.
fn with(name: &str, value: &str) -> Profile {
    serde_json::from_value(serde_json::json!({ name: value })).unwrap_or_default()
}

#[test]
fn profile_values_must_have_the_format_of_their_claim() {
    for (name, good, bad) in [
        (
            "birthdate",
            &["1815-12-10", "0000-02-29", "1815"][..],
            &["yesterday", "1815-13-01", "10.12.1815", "18151210", ""][..],
        ),
        (
            "zoneinfo",
            &[
                "Europe/London",
                "America/Argentina/Buenos_Aires",
                "UTC",
                "Etc/GMT+1",
            ],
            &["Europe London", "/", "a//b", ""],
        ),
        (
            "locale",
            &["en", "en-GB", "de_AT", "zh-Hant-TW"],
            &["English language", "e", "en-", "1"],
        ),
        (
            "phone_number",
            &["+49 30 123456", "+1 (604) 555-1234;ext=5678", "030/123456"],
            &["call me", "+", "12", "+49 30 123456;ext="],
        ),
        (
            "website",
            &["https://ada.example.org/", "http://localhost"],
            &["ada.example.org", "javascript:alert(1)", "https://"],
        ),
        (
            "picture",
            &["https://ada.example.org/a.png"],
            &["data:image/png;base64,AA"],
        ),
        ("nickname", &["", "Ada"], &["a\nb"]),
    ] {
        for text in good {
            assert_eq!(with(name, text).unfit_field(), None, "{name} {text}");
        }
        for text in bad {
            assert_eq!(
                with(name, text).unfit_field().map(|(unfit, _)| unfit),
                Some(name),
                "{text}"
            );
        }
    }
}

#[test]
fn only_formatted_and_street_address_may_have_several_lines() {
    let of = |member: &str, text: &str| -> Profile {
        serde_json::from_value(serde_json::json!({"address": {member: text}})).unwrap_or_default()
    };
    for member in ["formatted", "street_address"] {
        assert_eq!(
            of(member, "12 St James's Square\r\n2nd floor\nLondon").unfit_field(),
            None,
            "{member}"
        );
        assert!(
            of(member, "a\tb").unfit_field().is_some()
                && of(member, "a\rb").unfit_field().is_some(),
            "{member}"
        );
    }
    for member in ["locality", "region", "postal_code", "country"] {
        assert_eq!(of(member, "Köln").unfit_field(), None, "{member}");
        for text in ["a\nb", &"x".repeat(1025)] {
            assert_eq!(
                of(member, text).unfit_field().map(|(unfit, _)| unfit),
                Some("address"),
                "{member}"
            );
        }
    }
    let whole = serde_json::json!({"address": {
        "street_address": "12 St James's Square\n2nd floor", "locality": "London", "postal_code": "SW1Y 4JH",
            "country": "UK",
    }});
    let whole: Profile = serde_json::from_value(whole).unwrap_or_default();
    let lines = ["12 St James's Square", "2nd floor", "SW1Y 4JH London", "UK"];
    assert_eq!(whole.address.in_lines(), lines);
    assert_eq!(
        of("formatted", "one\r\ntwo").address.in_lines(),
        ["one", "two"]
    );
    assert!(Profile::default().address.in_lines().is_empty());
}

proptest! {
    #[test]
    fn no_text_panics(text in ".*") {
        for name in ["birthdate", "zoneinfo", "locale", "phone_number", "website"] {
            let _ = with(name, &text).unfit_field();
        }
    }
}

#[test]
fn a_name_is_another_address_unless_it_is_the_own_email_address() {
    let name = |text: &str| text.parse::<LoginName>().expect("a name");
    let ceo = name("ceo@corp.example");
    assert!(is_other_address(&ceo, None));
    assert!(is_other_address(&ceo, Some(&name("mallory@corp.example"))));
    assert!(!is_other_address(&ceo, Some(&name("CEO@corp.example"))));
    assert!(!is_other_address(&name("ceo"), None));
}

#[test]
fn a_user_never_returns_to_invited_or_from_terminated() {
    let all = [Invited, Active, Suspended, Terminated];
    let allowed = |from: super::LifecycleState| {
        all.into_iter()
            .filter(move |to| from.transition_to(*to).is_ok())
            .collect::<Vec<_>>()
    };
    assert_eq!(allowed(Invited), all);
    assert_eq!(allowed(Active), [Active, Suspended, Terminated]);
    assert_eq!(allowed(Suspended), [Active, Suspended, Terminated]);
    assert_eq!(allowed(Terminated), [Terminated]);
    assert_eq!(
        Active.transition_to(Invited).unwrap_err().to_string(),
        "cannot change from active to invited"
    );
}
