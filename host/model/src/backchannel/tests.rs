use std::time::Duration;

use proptest::prelude::*;

use super::{BindingMessage, BindingMessageError, LongestExpiry, LongestExpiryError};

/// Returns the error of a text, and `None` if it is a binding message.
fn error_of(text: &str) -> Option<BindingMessageError> {
    BindingMessage::parse(text).err()
}

#[test]
fn a_binding_message_is_one_line_of_ordinary_text() {
    for text in [
        "1234",
        "W4SCT",
        "O",
        "l2",
        "Pay 12.50 EUR to Books & Co. for order 4/2",
        "12.50EUR",
        "Deploy 4.2 to production",
        "Deploy v4.2",
        "Deploy 4.2.1, please.",
        "Deploy 4.2.1.7",
        "Due 1.2.2027",
        "Meet at 10:30 a.m., gate 4:2",
        "Tel: 42, data: none",
        "Wait...ok",
        "Überweisung an Jürgen",
        "Jose\u{301} and Ma\u{308}rz",
        "支払いを承認。金額は50円",
        "Оплата заказа 42",
        "За 42",
        "Đặt hàng 42",
        "สั่งซื้อ 42",
        "Order 42 \u{1f4e6}\u{2728} \u{1f469}\u{200d}\u{1f4bb}",
        "Love \u{2764}\u{fe0f}\u{200d}\u{1f525} 42",
        "Yes and/or no, e.g. this",
        "3@1.50",
        "Acme™ 42",
    ] {
        let message = BindingMessage::parse(text).expect(text);
        assert_eq!(message.as_str(), text);
    }
}

#[test]
fn line_ends_bidi_marks_and_length_are_rejected() {
    let long = "a".repeat(101);
    let huge = "a".repeat(10_000);
    for text in ["", long.as_str(), huge.as_str()] {
        assert_eq!(error_of(text), Some(BindingMessageError::Length));
    }
    for text in [
        "two\nlines",
        "two\r\nlines",
        "two\u{2028}lines",
        "tab\there",
        " 42",
        "42 ",
        "wide\u{3000}space",
        "pay \u{202e}05 EUR",
        "pay \u{2066}05 EUR",
        "zero\u{200b}width",
        "...",
        "-",
    ] {
        assert_eq!(
            error_of(text),
            Some(BindingMessageError::Unprintable),
            "{text:?}"
        );
    }
}

#[test]
fn invisible_text_is_rejected() {
    for hidden in [
        '\u{2800}',
        '\u{34f}',
        '\u{fe0f}',
        '\u{fe00}',
        '\u{200c}',
        '\u{200d}',
        '\u{17b4}',
        '\u{180b}',
        '\u{e0100}',
        '\u{e0041}',
        '\u{1bca0}',
        '\u{fffc}',
        '\u{e000}',
        '\u{f0000}',
        '\u{378}',
        '\u{3164}',
        '\u{600}',
        '\u{1d159}',
        '\u{13441}',
    ] {
        for text in [
            hidden.to_string(),
            format!("4{hidden}2"),
            format!("42{hidden}"),
            format!("a{hidden}b"),
        ] {
            assert_eq!(
                error_of(&text),
                Some(BindingMessageError::Unprintable),
                "{text:?}"
            );
        }
    }
    // The parts of emoji are permitted only within them.
    for text in [
        "\u{1f469}\u{200d}",
        "\u{1f469}\u{200d}x",
        "4\u{fe0f}2",
        "\u{1f469}\u{fe0f}\u{fe0f}",
    ] {
        assert_eq!(
            error_of(text),
            Some(BindingMessageError::Unprintable),
            "{text:?}"
        );
    }
}

#[test]
fn marks_that_hide_or_change_a_character_are_rejected() {
    let stacked = format!("a{}", "\u{301}".repeat(99));
    for text in [
        stacked.as_str(),
        "a\u{301}\u{301}\u{301}",
        "5\u{338}0",
        "O\u{338}",
        "5\u{301}",
        "5\u{20e3}",
        "a\u{20dd}",
        "\u{301}a",
        "a \u{301}b",
    ] {
        assert_eq!(error_of(text), Some(BindingMessageError::Marks), "{text:?}");
    }
}

#[test]
fn look_alike_digits_are_rejected() {
    for text in [
        "\u{660}\u{661}",
        "\u{ff11}\u{ff12}",
        "\u{1d7d9}2",
        "4²",
        "①",
        "Ⅳ",
        "З0",
        "1\u{41e}0",
        "ⓄO",
        "Ｏ2",
        "𝐎2",
        "ﬁ2\u{ff2f}",
    ] {
        assert_eq!(error_of(text), Some(BindingMessageError::Digit), "{text:?}");
    }
}

#[test]
fn links_are_rejected() {
    for text in [
        "see https://evil.example",
        "see WWW.evil.example",
        "see evil.example/login",
        "mailto:eve@evil.example",
        "evil.example",
        "evil.example?x=1",
        "evil.example:8443/login",
        "192.0.2.77/login",
        "192.0.2.77:8443",
        "evil.example./login",
        "evil.xn--p1ai/login",
        "https:/evil.example/x",
        "https:evil.example",
        "https:evil",
        "(mailto:eve@evil.example)",
        "sms:+491234567",
        "tel:112",
        "eve@evil.example",
        "eve@e.x",
        "evil．example/login",
        "evil。example",
        "evil․example",
        "https：／／evil",
        "пример.рф",
        "(evil.example)",
        "\"evil.example\"",
        "x,evil.example",
        "app://open",
    ] {
        assert_eq!(error_of(text), Some(BindingMessageError::Link), "{text:?}");
    }
}

#[test]
fn a_stored_message_is_read_without_the_rules() {
    let message = BindingMessage::of_stored("evil.example".to_owned());
    assert_eq!(message.as_str(), "evil.example");
}

proptest! {
    /// Text that looks the same as an accepted message is none.
    #[test]
    fn an_invisible_character_is_rejected_anywhere(
        text in "[a-zA-Z0-9 ÄäЖ支]{0,20}[a-z]",
        place in 0_usize..20,
        hidden in prop_oneof![
            Just('\u{34f}'), Just('\u{200b}'), Just('\u{200c}'), Just('\u{200d}'), Just('\u{2060}'),
            Just('\u{2800}'), Just('\u{feff}'), proptest::char::range('\u{fe00}', '\u{fe0f}'),
            proptest::char::range('\u{e000}', '\u{f8ff}'),
            proptest::char::range('\u{e0000}', '\u{e0fff}'),
        ],
    ) {
        let place = text.char_indices().map(|(place, _)| place).nth(place).unwrap_or(text.len());
        let text = format!("{}{hidden}{}", &text[..place], &text[place..]);
        prop_assert!(BindingMessage::parse(&text).is_err(), "{text:?}");
    }

    /// A link is rejected beside any text and punctuation.
    #[test]
    fn a_link_is_rejected_anywhere(
        before in "[a-z0-9 ]{0,10}[ (,;'\"]",
        link in prop_oneof![
            "[a-z]{1,9}\\.(com|example|de|xn--p1ai)(/[a-z]{0,5})?",
            "(https?|tel|sms|mailto):[+a-z0-9]{1,9}",
            "[a-z]{1,9}@[a-z]{1,9}\\.[a-z]{1,5}",
        ],
        after in "[ ),;!?'\"]?",
    ) {
        let text = format!("x{before}{link}{after}x");
        let text = text.trim();
        prop_assert_eq!(error_of(text), Some(BindingMessageError::Link), "{:?}", text);
    }

    /// What is accepted has at most 100 characters, one that is seen, and no other digits than those of ASCII.
    #[test]
    fn an_accepted_text_is_visible(text in "\\PC{0,20}") {
        if BindingMessage::parse(&text).is_ok() {
            prop_assert!(text.chars().any(|c| c.is_alphanumeric() || !c.is_ascii() || "$+<=>^`|~".contains(c)));
            prop_assert!(text.chars().all(|c| !c.is_control() && (!c.is_numeric() || c.is_ascii_digit())));
            prop_assert_eq!(text.trim(), text.as_str());
        }
    }

    /// A text of letters, digits and spaces is accepted.
    #[test]
    fn plain_words_and_sums_are_accepted(text in "[A-Z][a-z]{0,9} [0-9]{1,6}(\\.[0-9]{2})?( [a-z]{1,9}){0,3}") {
        prop_assert_eq!(error_of(&text), None);
    }
}

#[test]
fn an_expiry_is_between_ten_seconds_and_that_of_the_application() {
    let usual = LongestExpiry::default();
    assert_eq!(usual.permitted(10), Some(Duration::from_secs(10)));
    assert_eq!(usual.permitted(600), Some(Duration::from_secs(600)));
    assert_eq!((usual.permitted(9), usual.permitted(601)), (None, None));
    let day = LongestExpiry::of_seconds(86_400).unwrap();
    assert_eq!(day.permitted(86_400), Some(Duration::from_secs(86_400)));
    for seconds in [0, 9, 86_401, u32::MAX] {
        assert_eq!(LongestExpiry::of_seconds(seconds), Err(LongestExpiryError));
    }
    let stored: Result<LongestExpiry, _> = serde_json::from_str("86401");
    assert!(stored.is_err());
}
