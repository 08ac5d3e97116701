//! The portal's pages, filled with malicious values, for the tests of every page.

use super::*;
use crate::http::pages::ConsentRow;
use assent_model::clock::Timestamp;
use assent_model::language::Language;

const MARKUP: &str = "\"><script>alert('x')</script>";

fn text() -> String {
    MARKUP.to_owned()
}

fn message() -> Message {
    Message::new("claim-value").text("value", MARKUP)
}

fn form() -> ButtonForm {
    ButtonForm {
        action: "/sessions/1/end".to_owned(),
        csrf: text(),
    }
}

fn when() -> PageTime {
    PageTime::new(Timestamp::from_seconds(1_746_057_600))
}

fn frame(tab: Tab) -> Frame {
    let user = Some(SignedInUser {
        name: text(),
        sign_out: "/sign-out".to_owned(),
        csrf: text(),
    });
    Frame {
        user,
        tab,
        notice: Some(message()),
    }
}

fn applications() -> ApplicationsPage {
    let tile = |start, logo| ApplicationTile {
        name: text(),
        logo,
        initial: "<".to_owned(),
        start,
    };
    ApplicationsPage {
        layout: Layout::default(),
        frame: frame(Tab::Applications),
        name: text(),
        administers: true,
        security: SecurityCard {
            devices: 1,
            locked: 0,
            codes: 0,
        },
        applications: vec![
            tile(TileStart::Form(form()), None),
            tile(
                TileStart::Link("/applications/x/start".to_owned()),
                Some("/logos/x?v=1".to_owned()),
            ),
            tile(TileStart::Elsewhere(Some(text())), None),
            tile(TileStart::Elsewhere(None), None),
        ],
    }
}

fn devices() -> DevicesPage {
    let device = |used, unfit| DeviceCard {
        id: "1".to_owned(),
        name: text(),
        added: when(),
        used,
        is_protected: unfit,
        rename: form(),
        passkey_sign_in: Some(form()),
        unfit,
        revoke: "/devices/1/revoke".to_owned(),
    };
    let devices = vec![device(Some(when()), true), device(None, false)];
    DevicesPage {
        layout: Layout::default(),
        frame: frame(Tab::Devices),
        devices,
    }
}

fn revoke() -> RevokeDevicePage {
    let (layout, frame) = (Layout::default(), frame(Tab::Devices));
    RevokeDevicePage {
        layout,
        frame,
        name: text(),
        last: true,
        codes: Some(when()),
        form: form(),
    }
}

fn sessions() -> SessionsPage {
    let session = |here, known: Option<Message>| SessionCard {
        browser: known.clone(),
        place: known,
        without_browser: false,
        here,
        begun: when(),
        used: here.then(when),
        ends: when(),
        applications: if here { vec![text()] } else { Vec::new() },
        end: form(),
    };
    SessionsPage {
        layout: Layout::default(),
        frame: frame(Tab::Sessions),
        sessions: vec![
            session(true, Some(message())),
            session(false, None),
            SessionCard {
                without_browser: true,
                ..session(false, None)
            },
        ],
        end_others: Some(form()),
        end_all: form(),
    }
}

fn requests() -> RequestsPage {
    let requester = |stopped_since, paused_until| RequesterCard {
        name: text(),
        stopped_since,
        paused_until,
        stop: Some(form()),
        permit: Some(form()),
    };
    let row = |tone, message: Option<String>, decided: Option<PageTime>| RequestRow {
        tone,
        application: text(),
        device: message.clone(),
        message,
        outcome: self::message(),
        when: when(),
        decided,
        scopes: vec![self::message()],
    };
    RequestsPage {
        layout: Layout::default(),
        frame: frame(Tab::Requests),
        paused: Some(PausedRequests {
            until: when(),
            lift: form(),
        }),
        applications: vec![
            requester(None, None),
            requester(Some(when()), None),
            requester(None, Some((self::message(), when()))),
        ],
        rows: vec![
            row(Tone::Good, Some(text()), Some(when())),
            row(Tone::Calm, None, None),
        ],
        older: Some("/requests?before=1".to_owned()),
        first: false,
    }
}

fn no_requests() -> RequestsPage {
    RequestsPage {
        paused: None,
        applications: Vec::new(),
        rows: Vec::new(),
        older: None,
        first: true,
        ..requests()
    }
}

fn consents(offline: bool) -> ConsentsPage {
    let row = ConsentRow {
        application: text(),
        client_id: text(),
        scopes: vec![Message::new("scope-email")],
        since: Message::day(Timestamp::from_seconds(1_746_057_600)),
        until: Message::day(Timestamp::from_seconds(1_747_267_200)),
        offline,
    };
    ConsentsPage {
        layout: Layout::default(),
        frame: frame(Tab::Consents),
        consents: Consents {
            rows: vec![row],
            withdraw: "/consents/withdraw".to_owned(),
            csrf: text(),
        },
        withdrawn: Some(Withdrawn {
            application: text(),
            asks_again: !offline,
        }),
    }
}

fn activity() -> ActivityPage {
    let row = ActivityRow {
        tone: Tone::Calm,
        what: message(),
        when: when(),
        by: Some(message()),
        place: Some(message()),
        browser: Some(message()),
        is_access: true,
        approved: Some(message()),
        request: Some(AnsweredRequest {
            when: when(),
            place: Some(message()),
            browser: Some(message()),
        }),
    };
    let older = Some("/activity?before=1".to_owned());
    ActivityPage {
        layout: Layout::default(),
        frame: frame(Tab::Activity),
        rows: vec![row],
        older,
        first: false,
        kind: ActivityKind::All,
    }
}

fn facts() -> Vec<Fact> {
    vec![
        Fact {
            label: message(),
            values: vec![FactValue::Words(message())],
        },
        Fact {
            label: message(),
            values: vec![FactValue::Words(message()), FactValue::Moment(when())],
        },
    ]
}

fn profile() -> ProfilePage {
    let applications = vec![("/profile/x".to_owned(), text())];
    ProfilePage {
        layout: Layout::default(),
        frame: frame(Tab::Profile),
        facts: facts(),
        technical: facts(),
        applications,
    }
}

fn visible_claims(stopped: Option<VisibleClaimsStop>, after_consent: bool) -> VisibleClaimsPage {
    let (layout, frame) = (Layout::default(), frame(Tab::Profile));
    VisibleClaimsPage {
        layout,
        frame,
        application: text(),
        after_consent,
        facts: facts(),
        technical: facts(),
        stopped,
    }
}

fn recovery_codes(problem: Option<Message>) -> RecoveryCodesPage {
    RecoveryCodesPage {
        layout: Layout::default(),
        frame: frame(Tab::Devices),
        left: 0,
        problem,
        create: form(),
    }
}

fn recovery_codes_request(pending: Option<PendingRequest>) -> RecoveryCodesRequestPage {
    RecoveryCodesRequestPage {
        layout: Layout::default(),
        frame: frame(Tab::Devices),
        pending,
        decided: "/devices/recovery-codes/1/decided".to_owned(),
        show: form(),
    }
}

fn pending_request() -> PendingRequest {
    PendingRequest {
        number: "42".to_owned(),
        seconds_left: 99,
        seconds_total: 120,
    }
}

fn new_recovery_codes() -> NewRecoveryCodesPage {
    NewRecoveryCodesPage {
        layout: Layout::default(),
        frame: frame(Tab::Devices),
        codes: vec![text(), text()],
        has_earlier: true,
        file_title: text(),
        recover: text(),
        confirm: form(),
    }
}

/// Each page in a language, with and without its optional parts.
pub(in crate::http) fn every_page_in(language: Language) -> Vec<String> {
    let mut pages = Vec::new();
    macro_rules! render {
        ($($page:expr),* $(,)?) => {$({
            let mut page = $page;
            page.layout.language = language;
            pages.push(page.render().unwrap());
        })*};
    }
    render!(
        applications(),
        ApplicationsPage {
            administers: false,
            applications: Vec::new(),
            ..applications()
        },
        ApplicationsPage {
            applications: vec![applications().applications[0].clone(); 8],
            ..applications()
        },
        devices(),
        DevicesPage {
            devices: Vec::new(),
            ..devices()
        },
        ApplicationsPage {
            security: SecurityCard {
                devices: 2,
                locked: 1,
                codes: 10,
            },
            ..applications()
        },
        ApplicationsPage {
            security: SecurityCard {
                devices: 3,
                locked: 3,
                codes: 1,
            },
            ..applications()
        },
        ApplicationsPage {
            security: SecurityCard {
                devices: 0,
                locked: 0,
                codes: 0,
            },
            ..applications()
        },
        revoke(),
        recovery_codes(None),
        recovery_codes(Some(message())),
        RecoveryCodesPage {
            left: 2,
            ..recovery_codes(None)
        },
        recovery_codes_request(Some(pending_request())),
        recovery_codes_request(None),
        new_recovery_codes(),
        NewRecoveryCodesPage {
            has_earlier: false,
            ..new_recovery_codes()
        },
        sessions(),
        SessionsPage {
            end_others: None,
            ..sessions()
        },
        consents(false),
        consents(true),
        requests(),
        no_requests(),
        activity(),
        ActivityPage {
            rows: Vec::new(),
            older: None,
            first: true,
            ..activity()
        },
        ActivityPage {
            rows: Vec::new(),
            kind: ActivityKind::Devices,
            ..activity()
        },
        profile(),
        ProfilePage {
            applications: Vec::new(),
            ..profile()
        },
        visible_claims(None, false),
        visible_claims(None, true),
        VisibleClaimsPage {
            facts: Vec::new(),
            technical: Vec::new(),
            ..visible_claims(None, false)
        },
        visible_claims(Some(VisibleClaimsStop::Denied(text())), false),
        visible_claims(Some(VisibleClaimsStop::Failed), false),
    );
    pages
}

#[test]
fn the_start_page_shows_the_console_to_administrators_only() {
    let page = applications().render().unwrap();
    assert!(page.contains("href=\"/admin\"") && page.contains("href=\"/applications/x/start\""));
    assert!(page.contains("<img src=\"/logos/x?v=1\""));
    let (_, here) = page.split_once("aria-current=\"page\">").unwrap();
    let (here, _) = here.split_once("</a>").unwrap();
    assert!(here.ends_with("</svg>Applications"), "{here}");
    let page = ApplicationsPage {
        administers: false,
        ..applications()
    }
    .render()
    .unwrap();
    assert!(!page.contains("href=\"/admin\""));
}

#[test]
fn the_start_page_has_a_search_from_eight_applications_on() {
    let with = |count| ApplicationsPage {
        applications: vec![applications().applications[0].clone(); count],
        ..applications()
    };
    assert!(!with(7).render().unwrap().contains("id=\"filter\""));
    assert!(with(8).render().unwrap().contains("id=\"filter\""));
}

#[test]
fn consents_show_their_expiry_and_a_revocation() {
    let page = consents(false).render().unwrap();
    assert!(
        page.contains("You are not asked again until 15 May 2025."),
        "{page}"
    );
    assert!(
        page.contains("role=\"status\"")
            && page.contains("is no longer allowed; it has to ask you again.")
    );
    let page = consents(true).render().unwrap();
    assert!(
        page.contains("You are asked each time it wants to keep access while you are away;"),
        "{page}"
    );
    assert!(page.contains("</bdi> is no longer allowed.</p>"), "{page}");
}

#[test]
fn only_revoking_the_last_device_shows_a_warning() {
    let warning = "This is your last device.";
    assert!(revoke().render().unwrap().contains(warning));
    assert!(
        !RevokeDevicePage {
            last: false,
            ..revoke()
        }
        .render()
        .unwrap()
        .contains(warning)
    );
}

#[test]
fn a_request_for_recovery_codes_shows_its_purpose_and_expiry() {
    let page = recovery_codes_request(Some(pending_request()))
        .render()
        .unwrap();
    assert!(
        page.contains("To create new recovery codes, ")
            && page.contains("<p id=\"left\" class=\"muted\" role=\"timer\""),
        "{page}"
    );
    let approved = recovery_codes_request(None).render().unwrap();
    assert!(!approved.contains("role=\"timer\""), "{approved}");
}

#[test]
fn a_time_is_shown_in_utc_and_machine_readable() {
    let page = devices().render().unwrap();
    assert!(
        page.contains(
            "<time datetime=\"2025-05-01T00:00:00Z\">1 May 2025, <bdi translate=\"no\">00:00</bdi> UTC</time>"
        ),
        "{page}"
    );
}
