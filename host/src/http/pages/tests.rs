//! What every page keeps to, whatever it is filled with.

use super::*;

const MARKUP: &str = "\"><script>alert('x')</script>";

fn layout() -> Layout {
    Layout::default()
}

fn login() -> LoginPage {
    LoginPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        action: "/login/1".to_owned(),
        leave: "/login/1/leave".to_owned(),
        csrf: MARKUP.to_owned(),
        name: MARKUP.to_owned(),
        error: Some(MARKUP.to_owned()),
        choice: Some(Choice {
            name: MARKUP.to_owned(),
            action: "/login/1/continue".to_owned(),
            person: MARKUP.to_owned(),
        }),
    }
}

fn consent() -> ConsentPage {
    ConsentPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        name: MARKUP.to_owned(),
        scopes: vec!["Know that it is you"],
        action: "/login/1/consent".to_owned(),
        again: "/login/1/again".to_owned(),
        csrf: "token".to_owned(),
        person: MARKUP.to_owned(),
        offline: false,
        days: 14,
    }
}

fn form_post() -> FormPostPage {
    FormPostPage {
        layout: layout(),
        application: Some(MARKUP.to_owned()),
        action: "https://rp.example/cb?a=1&b=2".to_owned(),
        fields: vec![("code", "ac_1".to_owned()), ("state", MARKUP.to_owned())],
    }
}

fn consents() -> Consents {
    let row = ConsentRow {
        application: MARKUP.to_owned(),
        client_id: MARKUP.to_owned(),
        scopes: vec!["See your email address"],
        since: "1 May 2025".to_owned(),
        until: "15 May 2025".to_owned(),
        offline: false,
    };
    Consents { rows: vec![row], withdraw: "/consents/withdraw".to_owned(), csrf: "token".to_owned() }
}

fn home() -> HomePage {
    HomePage {
        layout: layout(),
        user: None,
        administers: true,
        consents: Some(consents()),
        withdrawn: Some(Withdrawn { application: MARKUP.to_owned(), asks_again: true }),
        applications: vec![StartButton {
            application: MARKUP.to_owned(),
            action: "/sso/SingleSignOnService/did:key:z6Mk".to_owned(),
            csrf: "csrf".to_owned(),
        }],
    }
}

fn waiting() -> WaitingPage {
    WaitingPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        name: MARKUP.to_owned(),
        number: "42".to_owned(),
        binding: Some(MARKUP.to_owned()),
        seconds_left: 99,
        seconds_total: 120,
        events: "/login/1/events".to_owned(),
        cancel: "/login/1/cancel".to_owned(),
        csrf: "token".to_owned(),
    }
}

fn sign_out() -> SignOutPage {
    SignOutPage {
        layout: layout(),
        name: MARKUP.to_owned(),
        application: Some(MARKUP.to_owned()),
        action: "/session/end".to_owned(),
        request: MARKUP.to_owned(),
        csrf: MARKUP.to_owned(),
    }
}

fn ended(ended: Ended) -> EndedPage {
    EndedPage {
        layout: layout(),
        application: MARKUP.to_owned(),
        ended,
        again: Some("/login/1/again".to_owned()),
        leave: Some("/login/1/leave".to_owned()),
        csrf: "token".to_owned(),
    }
}

fn every_page() -> Vec<String> {
    let text = || MARKUP.to_owned();
    let user = || Some(SignedIn { name: text(), sign_out: "/logout".to_owned(), csrf: text() });
    let error = ErrorPage {
        layout: layout(),
        title: text(),
        what_happened: text(),
        what_to_do: text(),
        reference: text(),
        next: Some(Link { address: "/session/end".to_owned(), text: text() }),
    };
    let application = ApplicationRow { name: text(), kind: text(), client_id: text(), redirect_uris: vec![text()] };
    let person = UserRow { name: text(), email: Some(text()), state: text(), devices: 1, accounts: 2 };
    let admin = AdminOverview {
        layout: Layout { operator: text(), lang: text() },
        issuer: text(),
        applications: vec![application],
        users: vec![person],
        user: user(),
    };
    let mut pages = vec![
        login().render(),
        waiting().render(),
        error.render(),
        consent().render(),
        form_post().render(),
        HomePage { user: user(), ..home() }.render(),
        HomePage { administers: false, consents: None, withdrawn: None, ..home() }.render(),
        admin.render(),
        sign_out().render(),
        SignedOutPage { layout: layout(), untold: vec![MARKUP.to_owned()] }.render(),
        AuthenticatorApp { layout: layout() }.render(),
    ];
    for end in [Ended::Denied, Ended::Expired, Ended::Cancelled, Ended::Failed, Ended::Refused(text())] {
        pages.push(ended(end).render());
    }
    pages.into_iter().map(Result::unwrap).collect()
}

#[test]
fn no_page_has_an_inline_script_an_inline_style_or_unescaped_markup() {
    for page in every_page() {
        assert!(!page.contains("<script>"), "{page}");
        assert!(!page.contains("<style"), "{page}");
        assert!(!page.contains(" style="), "{page}");
        for handler in [" onclick=", " onload=", " onerror=", " onsubmit=", "javascript:"] {
            assert!(!page.contains(handler), "{page}");
        }
    }
}

#[test]
fn every_file_that_a_page_names_exists_here() {
    for page in every_page() {
        assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "{page}");
        let assets = page.split('"').filter(|value| value.starts_with("/assets/"));
        assert!(assets.clone().count() >= 2);
        for path in assets {
            assert!(assets::find(path).is_some(), "{path}");
        }
    }
}

#[test]
fn every_form_is_a_post_with_its_token() {
    for page in every_page() {
        // The answer to an application goes there, and has nothing of ours in it.
        let ours = |form: &&str| !form.starts_with("method=\"dialog\"") && !form.contains("id=\"answer\"");
        for form in page.split("<form ").skip(1).filter(ours) {
            let form = form.split("</form>").next().unwrap();
            assert!(form.starts_with("method=\"post\""), "{form}");
            assert!(form.contains("name=\"csrf\" value=\""), "{form}");
        }
    }
}

#[test]
fn the_login_page_weighs_less_than_30_kilobytes_with_all_that_it_loads() {
    let page = login().render().unwrap();
    let assets = page.split('"').filter(|value| value.starts_with("/assets/"));
    let weight: usize = assets.map(|path| assets::find(path).unwrap().bytes.len()).sum();
    assert!(page.len() + weight < 30_000, "{} bytes", page.len() + weight);
}

#[test]
fn an_answer_is_posted_with_its_values_escaped_and_can_be_sent_without_a_script() {
    let page = form_post().render().unwrap();
    assert!(
        page.contains("<form method=\"post\" action=\"https://rp.example/cb?a=1&#38;b=2\" id=\"answer\">"),
        "{page}"
    );
    assert!(page.contains("name=\"code\" value=\"ac_1\""));
    assert!(
        page.contains("name=\"state\" value=\"&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;\""),
        "{page}"
    );
    assert!(page.contains("<button class=\"button primary\" type=\"submit\">Continue</button>"));
}

#[test]
fn the_waiting_page_refreshes_itself_only_without_a_script() {
    let page = waiting().render().unwrap();
    let (head, _) = page.split_once("</head>").unwrap();
    assert!(head.contains("<noscript><meta http-equiv=\"refresh\" content=\"3\"></noscript>"));
    assert!(page.contains("<strong id=\"number\">42</strong>") && page.contains("99 seconds left"));
    assert!(page.contains("data-events=\"/login/1/events\""));
}

#[test]
fn a_login_with_an_error_points_the_field_to_it() {
    let page = login().render().unwrap();
    assert!(page.contains("aria-invalid=\"true\" aria-describedby=\"name-error\""));
    let page = LoginPage { error: None, ..login() }.render().unwrap();
    assert!(!page.contains("aria-invalid"));
}

#[test]
fn an_end_offers_only_the_ways_that_there_are() {
    let page = ended(Ended::Expired).render().unwrap();
    assert!(page.contains("Try again") && page.contains("Back to"));
    let page = EndedPage { again: None, leave: None, ..ended(Ended::Failed) }.render().unwrap();
    assert!(!page.contains("<form"));
}

#[test]
fn to_keep_access_is_asked_for_each_time_and_not_said_to_be_remembered() {
    assert!(consent().render().unwrap().contains("Remembered for 14 days."));
    let page = ConsentPage { offline: true, ..consent() }.render().unwrap();
    assert!(!page.contains("Remembered") && page.contains("has to ask each time that it wants to keep access."));
    assert!(home().render().unwrap().contains("You are not asked again until 15 May 2025."));
    let mut listed = home();
    listed.consents.as_mut().unwrap().rows[0].offline = true;
    let page = listed.render().unwrap();
    assert!(page.contains("You are asked each time it wants to keep access while you are away;"), "{page}");
}

#[test]
fn the_start_page_says_what_was_taken_back_and_shows_the_console_to_administrators() {
    let page = home().render().unwrap();
    assert!(page.contains("role=\"status\"") && page.contains("is no longer allowed; it has to ask you again."));
    assert!(page.contains("href=\"/admin\""));
    let withdrawn = Some(Withdrawn { application: "Expenses".to_owned(), asks_again: false });
    let page = HomePage { administers: false, withdrawn, ..home() }.render().unwrap();
    assert!(page.contains("<bdi>Expenses</bdi> is no longer allowed."), "{page}");
    assert!(!page.contains("href=\"/admin\""));
}

#[test]
fn an_answer_says_to_which_application_it_goes_unless_that_is_gone() {
    let page = FormPostPage { application: Some("Expenses".to_owned()), ..form_post() }.render().unwrap();
    assert!(page.contains("<h1>Back to <bdi>Expenses</bdi></h1>"), "{page}");
    let page = FormPostPage { application: None, ..form_post() }.render().unwrap();
    assert!(page.contains("<h1>Back to the application</h1>"), "{page}");
}

#[test]
fn the_direction_follows_the_language() {
    for (lang, dir) in [("en", "ltr"), ("ar", "rtl"), ("he-IL", "rtl"), ("art", "ltr"), ("", "ltr")] {
        assert_eq!(Layout { lang: lang.to_owned(), ..layout() }.dir(), dir, "{lang}");
    }
}
