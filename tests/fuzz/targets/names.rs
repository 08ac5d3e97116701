//! Names that users type, and names that users see: each name has one form, and no form hides characters.

#![no_main]

use assent_model::name::{LoginName, LoginNameError, display_text, folded_form, is_same_name};
use assent_model::search::search_form;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Err(LoginNameError::Character {
        character,
        position,
    }) = text.parse::<LoginName>()
    {
        assert!(position >= 1 && position <= text.chars().count() + 1);
        let is_there = text.contains(character) || !character.is_ascii();
        assert!(is_there, "{character:?} is not in the text");
    }
    let form = folded_form(text);
    assert_eq!(folded_form(&form), form, "the form changes again");
    let form = search_form(text);
    assert_eq!(search_form(&form), form, "the search form changes again");
    if let Ok(name) = text.parse::<LoginName>() {
        assert!(is_same_name(text, name.as_str()));
        if let Some(unicode) = name.in_unicode() {
            assert_eq!(
                unicode.parse(),
                Ok(name.clone()),
                "{unicode} is another address"
            );
        }
        assert_eq!(
            name.as_str().parse(),
            Ok(name.clone()),
            "{name} is folded into another name"
        );
        assert_eq!(
            format!(" {text}\n").parse(),
            Ok(name.clone()),
            "blanks around {name} change the name"
        );
        assert!((1..=128).contains(&name.as_str().chars().count()));
        assert!(
            !name
                .as_str()
                .contains(|c: char| c.is_control() || c.is_whitespace())
        );
    }
    if let Some(shown) = display_text(text, 80) {
        assert_eq!(display_text(&shown, 80).as_ref(), Some(&shown));
        assert!((1..=80).contains(&shown.chars().count()) && !shown.contains(char::is_control));
    }
});
