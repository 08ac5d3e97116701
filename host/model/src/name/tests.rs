#![allow(clippy::unwrap_used, reason = "a failed test")]

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::*;

fn name(text: &str) -> String {
    text.parse::<LoginName>()
        .unwrap_or_else(|error| panic!("{text:?}: {error}"))
        .into()
}

#[test]
fn each_spelling_of_a_name_has_one_form() {
    for (spellings, form) in [
        (
            &["Ada@Example.ORG", " ada@example.org\n", "ADA@EXAMPLE.ORG"][..],
            "ada@example.org",
        ),
        (&["josé", "jose\u{301}", "JOSÉ", "JOSE\u{301}"], "josé"),
        (&["ada", "ＡＤＡ", "ａｄａ", "Ａda"], "ada"),
        (
            &[
                "ada@example.test",
                "ＡＤＡ＠ｅｘａｍｐｌｅ．ｔｅｓｔ",
                "ada@example。test",
            ],
            "ada@example.test",
        ),
        (
            &[
                "x@exämple.test",
                "X@EXÄMPLE.TEST",
                "x@exa\u{308}mple.test",
                "x@xn--exmple-cua.test",
                "x@XN--EXMPLE-CUA.test",
                "x@ｅｘämple．test",
            ],
            "x@xn--exmple-cua.test",
        ),
        (
            &[
                "домен@ПРИМЕР.испытание",
                "ДОМЕН@xn--e1afmkfd.xn--80akhbyknj4f",
            ],
            "домен@xn--e1afmkfd.xn--80akhbyknj4f",
        ),
        (&["ヤマダ", "ﾔﾏﾀ\u{ff9e}", "ヤマタ\u{3099}"], "ヤマダ"),
        (&["ΟΔΥΣΣΕΥΣ", "οδυσσευς"], "οδυσσευς"),
        // Korean in the form of some file systems; the signs of Kelvin and Ångström.
        (
            &["한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"],
            "한국",
        ),
        (&["\u{212a}Å", "\u{212a}\u{212b}", "kå"], "kå"),
        (&["STRAẞE", "straße"], "straße"),
        (
            &["אבג@example.test", "אבג@EXAMPLE.test"],
            "אבג@example.test",
        ),
        // The last `@` separates the domain.
        (&["A@B@Exämple.test"], "a@b@xn--exmple-cua.test"),
        // These are names, not addresses.
        (&["@ADA"], "@ada"),
        (&["ADA@"], "ada@"),
        (&["DOMAIN\\User"], "domain\\user"),
        (&["O'Neil+Test"], "o'neil+test"),
    ] {
        for spelling in spellings {
            assert_eq!(name(spelling), form, "{spelling:?}");
            assert!(is_same_name(spelling, form), "{spelling:?}");
        }
    }
}

/// Programs copy such characters with a name: from a web page, a table, or a message.
#[test]
fn invisible_characters_around_a_name_are_removed() {
    for invisible in [
        "\u{200b}",
        "\u{feff}",
        "\u{200e}",
        "\u{200f}",
        "\u{202a}",
        "\u{202c}",
        "\u{2066}",
        "\u{2069}",
        "\u{2060}",
        "\u{ad}",
        "\u{a0}",
        "\u{3000}",
        "\u{200d}",
        "\u{fe0f}",
        "\u{34f}",
        "\u{e0001}",
        "\u{e01ef}",
        "\u{2800}",
        "\u{3164}",
        "\u{1d173}",
        "\t",
        "\r\n",
        " \u{200b} ",
    ] {
        for text in [
            format!("{invisible}ada"),
            format!("ada{invisible}"),
            format!("{invisible}\u{200e}ada{invisible}"),
        ] {
            assert_eq!(name(&text), "ada", "{text:?}");
        }
        let error = LoginNameError::Character {
            character: invisible.chars().next().unwrap(),
            position: 3,
        };
        assert_eq!(format!("ad{invisible}a").parse::<LoginName>(), Err(error));
    }
    assert_eq!(
        display_text("\u{feff}Zürich \u{200b}", 80).unwrap(),
        "Zürich"
    );
}

#[test]
fn an_error_names_the_rejected_character() {
    for (text, character, position) in [
        ("a b", ' ', 2),
        (" ada\u{200b}x", '\u{200b}', 4),
        ("ada\u{2800}the", '\u{2800}', 4),
        ("a\nb", '\n', 2),
        ("\0ada", '\0', 1),
        ("ada\u{1b}", '\u{1b}', 4),
        ("ﬁna", 'ﬁ', 1),
        ("x²", '²', 2),
        ("ada😀", '😀', 4),
        ("a\u{fe6b}b", '\u{fe6b}', 2),
        ("a·b", '·', 2),
        ("ada@exämple/test", '/', 12),
        ("ada@a\u{fe6b}b", '\u{fe6b}', 6),
        ("ada@a\u{200d}b.org", '\u{200d}', 6),
        ("ada@exa mple.org", ' ', 8),
    ] {
        let error = text.parse::<LoginName>().unwrap_err();
        assert_eq!(
            error,
            LoginNameError::Character {
                character,
                position
            },
            "{text:?}"
        );
        assert!(
            error
                .to_string()
                .contains(&format!("character {position} is")),
            "{error}"
        );
    }
    let error = "ada\u{200b}x".parse::<LoginName>().unwrap_err();
    assert!(
        error.to_string().ends_with("character 4 is U+200B"),
        "{error}"
    );
    assert!(!error.to_string().contains('\u{200b}'), "{error}");
}

#[test]
fn other_texts_are_no_names() {
    use LoginNameError::{Direction, Domain, Length};
    for (text, error) in [
        ("", Length),
        (" \u{200b} ", Length),
        (&*"x".repeat(129), Length),
        (&*"é".repeat(129), Length),
        (&*"e\u{301}".repeat(4000), Length),
        (&*format!("x@{}.test", "ä".repeat(120)), Length),
        ("אבגabc", Direction),
        ("123אבג", Direction),
        ("ada@xn--zzzzzz99", Domain),
        (
            // The spelling in Unicode is rejected too.
            "x@xn--exmple-cua.te:st",
            LoginNameError::Character {
                character: ':',
                position: 20,
            },
        ),
    ] {
        assert_eq!(text.parse::<LoginName>(), Err(error), "{text:?}");
    }
    assert_eq!(name(&"e\u{301}".repeat(128)).chars().count(), 128);
}

#[test]
fn an_address_has_a_second_spelling_in_unicode() {
    let unicode = |text: &str| text.parse::<LoginName>().unwrap().in_unicode();
    assert_eq!(unicode("x@xn--exmple-cua.test").unwrap(), "x@exämple.test");
    assert_eq!(unicode("x@example.test"), None);
    assert_eq!(unicode("exämple"), None);
    assert_eq!(unicode("@xn--exmple-cua.test"), None);
}

#[test]
fn other_texts_are_compared_without_case_and_form() {
    for (one, other) in [
        ("Ada Lovelace", "ada LOVELACE\u{200b}"),
        ("José Álvarez", "JOSE\u{301} A\u{301}lvarez"),
        ("Straße 1", "STRASSE 1"),
        ("Οδυσσεύς Α", "ΟΔΥΣΣΕΎΣ α"),
    ] {
        assert!(is_same_name(one, other), "{one} {other}");
        assert_eq!(folded_form(one), folded_form(other));
        assert_eq!(name_key(one), name_key(other));
    }
    assert_eq!(name_key(&"ﷺ ".repeat(128)).chars().count(), 128);
    assert!(!is_same_name("ada lovelace", "ada"));
    assert!(!is_same_name("ada", "adb"));
}

#[test]
fn a_quoted_text_is_exact_only_without_escapes_and_truncation() {
    assert!(QuotedText::new("https://rp.example/cb?a=1").is_exact());
    for text in ["a\"b", "a\u{202e}b", "a\\b", &"x".repeat(200)] {
        assert!(!QuotedText::new(text).is_exact(), "{text:?}");
    }
}

/// A text with the letters, marks and forms that normalisation changes.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-zA-Z0-9@.äöüÄÖÜßẞéÉÅσΣςИйﾔﾀﾞＡａ＠．\u{300}-\u{330}\u{3099}한글אבג٠-٣ѐѝ-]{1,20}",
        "[A-Za-zäöüéñ]{1,8}@(xn--)?[a-zA-ZäöüéИжñ0-9-]{1,10}\\.(test|TEST|испытание)",
    ]
}

proptest! {
    #[test]
    fn the_profile_maps_only_the_case_of_ascii(text in "[!-~]{1,20}") {
        let profile = UsernameCaseMapped::new();
        let mapped = profile.enforce(text.as_str()).expect("permitted");
        prop_assert_eq!(stable_form(&profile, &text), Ok(mapped.into_owned()));
    }

    #[test]
    fn normalisation_is_idempotent(text in texts()) {
        if let Ok(name) = text.parse::<LoginName>() {
            prop_assert_eq!(name.as_str().parse::<LoginName>(), Ok(name.clone()));
            prop_assert!((1..=128).contains(&name.as_str().chars().count()));
            prop_assert!(is_same_name(&text, name.as_str()));
            prop_assert_eq!(name_key(&text), name.as_str());
            if let Some(unicode) = name.in_unicode() {
                prop_assert_eq!(unicode.parse::<LoginName>(), Ok(name));
            }
        }
        let once = folded_form(&text);
        prop_assert_eq!(&folded_form(&once), &once);
    }

    /// Two texts that look the same, or differ only in case, are one name.
    #[test]
    fn texts_that_look_equal_are_one_name(text in texts()) {
        let Ok(name) = text.parse::<LoginName>() else { return Ok(()) };
        let wide: String = name
            .as_str()
            .chars()
            .map(|c| match c {
                '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap(),
                _ => c,
            })
            .collect();
        let nfd: String = name.as_str().nfd().collect();
        let around = format!("\u{feff} {name}\u{200b}");
        for other in [text.nfc().collect(), text.nfd().collect(), nfd, wide, around] {
            prop_assert_eq!(other.parse::<LoginName>(), Ok(name.clone()), "{:?}", other);
        }
    }
}
