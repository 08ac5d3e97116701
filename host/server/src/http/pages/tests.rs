//! The properties that all pages have, independent of their content.

use super::login::{
    Choice, EndedPageKind, FollowedSignIn, InformationLink, PasskeyForm, ReturnNotice, Scan,
};
use super::*;
use crate::domain::sessions::signed_out_clients::LogoutFrame;
use crate::http::assets;
use crate::http::layout::Support;
use crate::messages;
use assent_model::id::Did;
use assent_model::language::Language;

const MARKUP: &str = "\"><script>alert('x')</script>";

fn layout() -> Layout {
    Layout::default()
}

fn follow() -> FollowedSignIn {
    FollowedSignIn {
        events: "/login/1/events".to_owned(),
        ask: "/login/1/state".to_owned(),
        state: "waiting-1".to_owned(),
    }
}

fn login() -> LoginPage {
    LoginPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        logo: Some(MARKUP.to_owned()),
        recover: "/recover?login=1".to_owned(),
        action: "/login/1".to_owned(),
        leave: "/login/1/leave".to_owned(),
        csrf: MARKUP.to_owned(),
        name: MARKUP.to_owned(),
        unfit: Some(messages::Message::new("login-name-invalid")),
        remembered: true,
        scan: Scan::new("https://id.example", "/authenticator#login=abc".to_owned()),
        follow: follow(),
        choice: Some(Choice {
            name: MARKUP.to_owned(),
            action: "/login/1/continue".to_owned(),
            user_token: MARKUP.to_owned(),
            is_recent: true,
        }),
        passkey: Some(PasskeyForm {
            action: "/login/1/passkey".to_owned(),
            challenge: "/login/1/passkey/challenge".to_owned(),
            failed: true,
        }),
    }
}

fn consent() -> ConsentPage {
    ConsentPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        logo: Some(MARKUP.to_owned()),
        initial: "<".to_owned(),
        host: Some("rp.example".to_owned()),
        name: MARKUP.to_owned(),
        scopes: vec![
            Message::new("scope-openid"),
            Message::new("scope-value")
                .message("scope", Message::new("scope-email"))
                .text("value", MARKUP),
        ],
        details: vec![MARKUP.to_owned()],
        links: vec![InformationLink {
            text: Message::new("consent-policy"),
            address: MARKUP.to_owned(),
            host: MARKUP.to_owned(),
        }],
        contacts: vec![MARKUP.to_owned()],
        action: "/login/1/consent".to_owned(),
        again: "/login/1/again".to_owned(),
        csrf: "token".to_owned(),
        user_token: MARKUP.to_owned(),
        offline: false,
        days: 14,
        is_test_sign_in: false,
        continues: false,
    }
}

fn form_post() -> FormPostPage {
    FormPostPage {
        layout: layout(),
        title: words(),
        answer: MARKUP.to_owned(),
        is_granted: true,
        link: Link::to_start(),
        nonce: None,
        application: Some(MARKUP.to_owned()),
        action: "https://rp.example/cb?a=1&b=2".to_owned(),
        fields: vec![("code", "ac_1".to_owned()), ("state", MARKUP.to_owned())],
    }
}

fn waiting() -> WaitingPage {
    WaitingPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        logo: Some(MARKUP.to_owned()),
        name: Some(MARKUP.to_owned()),
        number: "42".to_owned(),
        delegated: true,
        binding: Some(MARKUP.to_owned()),
        seconds_left: 99,
        seconds_total: 120,
        follow: follow(),
        scan: Scan::new("https://id.example", "/authenticator#login=AAAA".to_owned()),
        is_late: false,
        again: "/login/1/again".to_owned(),
        recover: "/recover?login=1".to_owned(),
        cancel: "/login/1/cancel".to_owned(),
        csrf: "token".to_owned(),
    }
}

fn sign_out() -> SignOutPage {
    SignOutPage {
        layout: layout(),
        name: MARKUP.to_owned(),
        application: Some(MARKUP.to_owned()),
        returns_to: None,
        action: "/session/end".to_owned(),
        request: MARKUP.to_owned(),
        csrf: MARKUP.to_owned(),
    }
}

fn ended(ended: EndedPageKind) -> EndedPage {
    EndedPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        ended,
        name: Some(MARKUP.to_owned()),
        reference: Some(MARKUP.to_owned()),
        recover: "/recover?login=1".to_owned(),
        again: "/login/1/again".to_owned(),
        leave: Some("/login/1/leave".to_owned()),
        returns: Some(ReturnNotice {
            address: "/login/1/return?token=x".to_owned(),
            seconds: 10,
            stay: "/login/1?stay".to_owned(),
        }),
        csrf: "token".to_owned(),
    }
}

/// The console, which is only in English.
fn admin() -> ConsolePage {
    let text = || MARKUP.to_owned();
    ConsolePage {
        layout: Layout {
            operator: text(),
            ..layout()
        },
        issuer: text(),
        address: text(),
        user: Some(SignedInUser {
            name: text(),
            sign_out: "/logout".to_owned(),
            csrf: text(),
        }),
        modules: vec!["/assets/console/main.js".to_owned()],
    }
}

fn every_page() -> Vec<String> {
    Language::ALL.into_iter().flat_map(every_page_in).collect()
}

fn words() -> Message {
    Message::new("rejected-no-account").text("application", MARKUP)
}

fn support() -> Option<Support> {
    Some(Support {
        address: "mailto:help@example.org".to_owned(),
        text: MARKUP.to_owned(),
    })
}

fn error() -> ErrorPage {
    ErrorPage {
        layout: Layout {
            operator: MARKUP.to_owned(),
            support: support(),
            ..layout()
        },
        title: words(),
        what_happened: words(),
        what_to_do: words(),
        reference: MARKUP.to_owned(),
        request: "7f3a-2".to_owned(),
        next: Link {
            address: "/session/end".to_owned(),
            text: words(),
        },
        details: vec![OperatorDetail {
            label: words(),
            value: MARKUP.to_owned(),
            advice: Some(words()),
        }],
    }
}

fn back() -> Link {
    Link {
        address: "/login/1?again".to_owned(),
        text: words(),
    }
}

fn recover() -> RecoverPage {
    RecoverPage {
        layout: layout(),
        action: "/recover?login=1".to_owned(),
        csrf: MARKUP.to_owned(),
        name: MARKUP.to_owned(),
        rejected: true,
        back: back(),
    }
}

fn confirm() -> ConfirmPage {
    ConfirmPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        name: MARKUP.to_owned(),
        account: MARKUP.to_owned(),
        action: "/login/1/confirm".to_owned(),
        again: "/login/1/again".to_owned(),
        csrf: MARKUP.to_owned(),
        user_token: MARKUP.to_owned(),
    }
}

fn saml_start() -> SamlStartPage {
    SamlStartPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        action: "/sso/SingleSignOnService/x".to_owned(),
        csrf: MARKUP.to_owned(),
        relay_state: Some(MARKUP.to_owned()),
    }
}

fn saml_logout() -> SamlLogoutPage {
    SamlLogoutPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        frame: MARKUP.to_owned(),
        turn: 1,
        of: 2,
        seconds: 5,
    }
}

fn logout_frames() -> LogoutFramesPage {
    LogoutFramesPage {
        layout: layout(),
        frames: vec![LogoutFrame {
            key: MARKUP.to_owned(),
            application: Did::from_ed25519(&[1; 32]),
            name: MARKUP.to_owned(),
            address: MARKUP.to_owned(),
            origin: MARKUP.to_owned(),
        }],
        confirmed: vec![MARKUP.to_owned()],
        unconfirmed: vec![MARKUP.to_owned()],
        seconds: 5,
    }
}

fn saml_post() -> FormPostPage {
    FormPostPage {
        title: words(),
        application: Some(MARKUP.to_owned()),
        action: "https://sp.example/acs".to_owned(),
        fields: vec![("SAMLResponse", MARKUP.to_owned())],
        is_granted: false,
        nonce: Some(MARKUP.to_owned()),
        ..form_post()
    }
}

fn ends() -> [EndedPageKind; 7] {
    [
        EndedPageKind::Denied,
        EndedPageKind::Expired,
        EndedPageKind::Cancelled,
        EndedPageKind::Replaced,
        EndedPageKind::Conflict,
        EndedPageKind::NumberMismatch,
        EndedPageKind::Rejected(words()),
    ]
}

fn waiting_without_letters() -> [WaitingPage; 2] {
    [true, false].map(|delegated| WaitingPage {
        delegated,
        binding: None,
        ..waiting()
    })
}

#[expect(clippy::too_many_lines, reason = "each page has its lines")]
fn every_page_in(language: Language) -> Vec<String> {
    let text = || MARKUP.to_owned();
    let mut pages = Vec::new();
    macro_rules! render {
        ($($page:expr),* $(,)?) => {$({
            let mut page = $page;
            page.layout.language = language;
            pages.push(page.render().unwrap());
        })*};
    }
    render!(
        login(),
        LoginPage {
            choice: None,
            unfit: None,
            ..login()
        },
        waiting(),
        WaitingPage {
            is_late: true,
            scan: None,
            ..waiting()
        },
        recover(),
        RecoveredPage {
            layout: layout(),
            link: text(),
            back: Some(back()),
        },
        DevicePage {
            layout: layout(),
            code: Some(text()),
            scan: Scan::new(
                "https://id.example",
                "/authenticator#device=WDJB-MJHT".to_owned()
            ),
            authenticator: text(),
        },
        confirm(),
        error(),
        consent(),
        ConsentPage {
            offline: true,
            logo: None,
            host: None,
            ..consent()
        },
        ConsentPage {
            is_test_sign_in: true,
            ..consent()
        },
        form_post(),
        FormPostPage {
            application: None,
            ..form_post()
        },
        HomePage { layout: layout() },
        sign_out(),
        SignOutPage {
            application: None,
            returns_to: Some(text()),
            ..sign_out()
        },
        SignedOutPage {
            layout: layout(),
            by_device: true,
            confirmed: vec![text()],
            loaded: vec![text()],
            unconfirmed: vec![text()],
            others: true
        },
        TestSignInPage {
            layout: layout(),
            done: true
        },
        AuthenticatorApp {
            layout: layout(),
            report_cooldown: 240
        },
        saml_start(),
        saml_logout(),
        logout_frames(),
        saml_post(),
        AlreadySignedInPage {
            layout: layout(),
            application: text(),
            link: Link::to_start()
        },
        SamlLogoutAnsweredPage {
            layout: layout(),
            next: text(),
            nonce: text()
        },
    );
    for end in ends() {
        render!(EndedPage {
            layout: Layout {
                support: support(),
                ..layout()
            },
            ..ended(end)
        });
    }
    for page in waiting_without_letters() {
        render!(page);
    }
    if language == Language::English {
        render!(admin());
    }
    pages.extend(crate::http::portal::pages::tests::every_page_in(language));
    pages
}

#[test]
fn no_page_has_an_inline_script_an_inline_style_or_unescaped_markup() {
    for page in every_page() {
        assert!(!page.contains("<script>"), "{page}");
        assert!(!page.contains("<style"), "{page}");
        assert!(!page.contains(" style="), "{page}");
        for handler in [
            " onclick=",
            " onload=",
            " onerror=",
            " onsubmit=",
            "javascript:",
        ] {
            assert!(!page.contains(handler), "{page}");
        }
    }
}

#[test]
fn every_asset_of_a_page_is_local_and_exists() {
    for page in every_page() {
        assert!(
            !page.contains("src=\"http") && !page.contains("href=\"http"),
            "{page}"
        );
        let assets = page
            .split('"')
            .filter(|value| value.starts_with("/assets/"));
        assert!(assets.clone().count() >= 2);
        for path in assets {
            assert!(assets::find(path, Language::English).is_some(), "{path}");
        }
    }
}

#[test]
fn every_form_is_a_post_with_a_csrf_token() {
    for page in every_page() {
        // The form of a response goes to the application, and contains no CSRF token.
        let is_own = |form: &&str| {
            !form.starts_with("method=\"dialog\"")
                && !["answer", "message"]
                    .iter()
                    .any(|id| form.contains(&format!("id=\"{id}\"")))
        };
        for form in page.split("<form ").skip(1).filter(is_own) {
            let form = form.split("</form>").next().unwrap();
            assert!(form.starts_with("method=\"post\""), "{form}");
            assert!(form.contains("name=\"csrf\" value=\""), "{form}");
        }
    }
}

#[test]
fn a_response_is_posted_with_escaped_values_and_works_without_a_script() {
    let page = form_post().render().unwrap();
    assert!(
        page.contains(
            "<form method=\"post\" action=\"https://rp.example/cb?a=1&#38;b=2\" id=\"answer\">"
        ),
        "{page}"
    );
    assert!(page.contains("name=\"code\" value=\"ac_1\""));
    assert!(
        page.contains(
            "name=\"state\" value=\"&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;\""
        ),
        "{page}"
    );
    assert!(page.contains("<button class=\"button primary\" type=\"submit\">Continue</button>"));
}

#[test]
fn the_waiting_page_refreshes_itself_only_without_a_script() {
    let page = waiting().render().unwrap();
    let (head, _) = page.split_once("</head>").unwrap();
    assert!(head.contains("<noscript><meta http-equiv=\"refresh\" content=\"3\"></noscript>"));
    assert!(
        page.contains("<strong id=\"number\" translate=\"no\">42</strong>")
            && page.contains("1 minute 39 seconds left")
    );
    assert!(page.contains("data-events=\"/login/1/events\""));
    assert!(page.contains("data-ask=\"/login/1/state\" data-state=\"waiting-1\""));
}

#[test]
fn the_name_field_refers_to_its_error() {
    let page = login().render().unwrap();
    assert!(page.contains("aria-invalid=\"true\" aria-describedby=\"name-error\""));
    let page = LoginPage {
        unfit: None,
        ..login()
    }
    .render()
    .unwrap();
    assert!(!page.contains("aria-invalid"));
    let goes_on = "class=\"button primary\" type=\"submit\" autofocus>Continue as ";
    assert!(page.contains(goes_on), "{page}");
}

/// The text of the primary button.
fn primary(page: &str) -> &str {
    let (_, rest) = page.split_once("class=\"button primary\"").unwrap();
    let (_, rest) = rest.split_once('>').unwrap();
    rest.split_once("</button>").unwrap().0
}

#[test]
fn an_end_page_offers_the_most_helpful_action_first() {
    for kind in [
        EndedPageKind::Denied,
        EndedPageKind::Expired,
        EndedPageKind::NumberMismatch,
    ] {
        let page = ended(kind).render().unwrap();
        assert_eq!(primary(&page), "Try again");
    }
    let page = ended(EndedPageKind::Rejected(words())).render().unwrap();
    assert!(primary(&page).contains("Back to"), "{page}");
    let (back, other) = (page.find("/login/1/leave"), page.find("/login/1/again"));
    assert!(back < other, "the return link comes first: {page}");
}

#[test]
fn the_help_of_the_waiting_page_is_shown_late_and_without_a_script() {
    let class = |is_late| {
        let page = WaitingPage {
            is_late,
            ..waiting()
        };
        let page = page.render().unwrap();
        let (_, rest) = page.split_once("<section class=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(class(false), "panel nothing late");
    assert_eq!(class(true), "panel nothing");
}

#[test]
fn only_an_application_error_has_details_for_the_operator() {
    let page = error().render().unwrap();
    assert!(page.contains("<details class=\"operator\">"), "{page}");
    let page = ErrorPage {
        details: Vec::new(),
        ..error()
    };
    assert!(!page.render().unwrap().contains("<details"));
}

#[test]
fn consent_to_offline_access_is_requested_each_time() {
    assert!(
        consent()
            .render()
            .unwrap()
            .contains("Remembered for 14 days.")
    );
    let page = ConsentPage {
        offline: true,
        ..consent()
    }
    .render()
    .unwrap();
    assert!(
        !page.contains("Remembered")
            && page.contains("You will be asked again at each new sign‑in")
    );
    assert!(page.contains("<strong>Keep access while you are away</strong>"));
    let page = ConsentPage {
        is_test_sign_in: true,
        ..consent()
    };
    let page = page.render().unwrap();
    assert!(page.contains("The permission is not stored.") && !page.contains("Remembered"));
}

#[test]
fn a_response_page_names_its_application_if_it_exists() {
    let page = FormPostPage {
        title: Message::new("response-title").text("application", "Expenses"),
        ..form_post()
    }
    .render()
    .unwrap();
    assert!(
        page.contains("<h1>Back to <bdi translate=\"no\">Expenses</bdi></h1>"),
        "{page}"
    );
    let page = FormPostPage {
        title: Message::new("response-title-unknown"),
        application: None,
        ..form_post()
    }
    .render()
    .unwrap();
    assert!(page.contains("<h1>Back to the application</h1>"), "{page}");
}

/// The texts between the tags of a page, and the values of the attributes that screen readers read.
fn words_of(page: &str) -> Vec<String> {
    let body = page.split_once("<body").unwrap().1;
    let between = body.split('>').filter_map(|part| part.split('<').next());
    let attributes = ["aria-label=\"", "alt=\"", "title=\""];
    let read_out = attributes.iter().flat_map(|name| {
        body.split(name)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
    });
    between
        .chain(read_out)
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
        .collect()
}

/// The texts of a language's messages, without the values between them.
fn texts_of(language: Language) -> Vec<String> {
    let source = messages::source(language);
    let lines = source.lines().filter(|line| !line.starts_with('#'));
    let texts = lines.filter_map(|line| line.split_once(['=', ']']).map(|(_, text)| text));
    let parts = texts.flat_map(|text| text.split(['{', '}']).step_by(2));
    parts
        .map(|part| escaped(part.trim()))
        .filter(|part| part.contains(' '))
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&#38;")
        .replace('\'', "&#39;")
        .replace('"', "&#34;")
}

#[test]
fn no_page_contains_text_of_another_language() {
    for language in Language::ALL {
        let pages = every_page_in(language);
        let others = Language::ALL.into_iter().filter(|other| *other != language);
        let own = texts_of(language);
        for page in &pages {
            assert!(
                page.contains(&format!("<html lang=\"{}\" dir=\"ltr\">", language.tag())),
                "{page}"
            );
            let words = words_of(page);
            for foreign in others
                .clone()
                .flat_map(texts_of)
                .filter(|text| !own.contains(text))
            {
                let found = words.iter().find(|word| word.contains(&foreign));
                assert_eq!(found, None, "{foreign:?} on a page in {}", language.tag());
            }
        }
        let found = |id| {
            pages
                .iter()
                .any(|page| page.contains(&escaped(&Message::new(id).plain(language))))
        };
        assert!(found("login-lead-passkey") && found("ended-again") && found("signed-out-windows"));
    }
}

#[test]
fn the_configured_branding_replaces_the_default() {
    let looks = Layout {
        logo: Some("/assets/logo.1.svg".to_owned()),
        colours: Some("/assets/colours.2.css".to_owned()),
        ..layout()
    };
    let page = LoginPage {
        layout: looks,
        ..login()
    }
    .render()
    .unwrap();
    assert!(
        page.contains("<img class=\"logo\" src=\"/assets/logo.1.svg\" alt=\"\">")
            && !page.contains("class=\"mark\"")
    );
    assert!(
        page.contains("<link rel=\"stylesheet\" href=\"/assets/colours.2.css\">"),
        "{page}"
    );
    assert!(login().render().unwrap().contains("class=\"mark\""));
}

#[test]
fn an_end_page_links_to_the_configured_support() {
    let support = Some(Support {
        address: "mailto:help@example.org".to_owned(),
        text: "help@example.org".to_owned(),
    });
    let page = EndedPage {
        layout: Layout {
            support,
            ..layout()
        },
        ..ended(EndedPageKind::Expired)
    }
    .render()
    .unwrap();
    assert!(
        page.contains("<bdi translate=\"no\">help@example.org</bdi></a>"),
        "{page}"
    );
}
