//! `assent authenticator` with several pending requests.

use assent::authenticator::enrolled::Authenticator;

use super::{assent, err, out};
use crate::harness::{Application, Browser, Database, Page, TestHost, TestUser, Text};
use crate::oidc::ciba;

/// Begins a sign-in to this application in a browser of its own. Returns the waiting page.
async fn ask(host: &TestHost, ada: &TestUser, application: &Application) -> Page {
    let login = application.login_page(&Browser::new(&host.base), &[]).await;
    let name = ada.user["name"].text();
    login.submit_name(name).await
}

#[tokio::test]
async fn approve_answers_exactly_the_named_request() {
    let (host, ada) = TestHost::start().await.with_ada().await;
    let pocket = host.native_application().await;
    host.account(&ada.user, &pocket).await;
    let before = ask(&host, &ada, &ada.application).await;
    let named = ask(&host, &ada, &pocket).await;
    let after = ask(&host, &ada, &ada.application).await;

    let mut file = Authenticator::new_file(&host.folder().join("phone.json")).expect("a file");
    ada.device.save(&mut file).expect("saved");
    let approve = async |arguments: &[&str]| {
        let command = [
            &["authenticator", "decide", "--store", "phone.json"][..],
            arguments,
        ]
        .concat();
        assent(host.folder(), &command).await
    };
    let pending = ada.device.pending_requests(5).await;
    assert_eq!(pending.len(), 3, "{pending:?}");
    let request = pending
        .iter()
        .find(|request| request.application.name == "Pocket Books")
        .expect("a request");
    let id = request.id.to_string();
    let number = named.number();

    let unnamed = approve(&["--number", &number]).await;
    assert!(
        err(&unnamed).contains("3 requests are pending; specify one with --request"),
        "{}",
        err(&unnamed)
    );
    // The number of another pending request approves neither this request nor the other one.
    let other = approve(&["--request", &id, "--number", &before.number()]).await;
    assert!(
        !other.status.success() && err(&other).contains("number_mismatch"),
        "{}",
        err(&other)
    );
    assert_eq!(ada.device.pending_requests(0).await.len(), 3);

    let approved = approve(&["--request", &id, "--number", &number]).await;
    assert!(
        out(&approved).starts_with("approved: ada on Firefox on Linux for Pocket Books"),
        "{}",
        err(&approved)
    );
    let left = ada.device.pending_requests(0).await;
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(
        left.iter()
            .all(|left| left.id != request.id && left.application.name != "Pocket Books"),
        "{left:?}"
    );
    let again = approve(&["--request", &id, "--number", &number]).await;
    assert!(
        err(&again).contains("no such request is pending"),
        "{}",
        err(&again)
    );

    for page in [&before, &after] {
        assert_eq!(
            page.again().await.number(),
            page.number(),
            "the request is still pending"
        );
    }
    assert!(
        named
            .browser()
            .finish(&named.url)
            .await
            .parameter("code")
            .starts_with("ac_")
    );
}

/// A request of an application is approved only after a look at it: by its id, or by the message of the application.
#[tokio::test]
async fn approve_needs_the_request_or_its_message() {
    let (host, ada) = ciba::start(Database::Sqlite).await;
    let mut file = Authenticator::new_file(&host.folder().join("phone.json")).expect("a file");
    ada.device.save(&mut file).expect("saved");
    let decide = async |arguments: &[&str]| {
        let command = [
            &["authenticator", "decide", "--store", "phone.json"][..],
            arguments,
        ]
        .concat();
        assent(host.folder(), &command).await
    };
    for message in ["Order 42", "Order 43"] {
        ciba::asked(&host, &ada, &[("binding_message", Some(message))]).await;
    }
    let pending = ada.device.pending_requests(5).await;
    assert_eq!(pending.len(), 2, "{pending:?}");
    let several = decide(&["--approve"]).await;
    assert!(
        err(&several).contains("2 requests are pending"),
        "{}",
        err(&several)
    );
    let unknown = decide(&["--approve", "--message", "Order 44"]).await;
    assert!(
        err(&unknown).contains("no such request is pending"),
        "{}",
        err(&unknown)
    );
    let named = decide(&["--approve", "--message", "Order 42"]).await;
    assert!(named.status.success(), "{}", err(&named));
    let shown = out(&named);
    for line in [
        "Books & <Co> asks for ada.",
        "Message: Order 42",
        "  See your name and profile",
        "approved: ada for Books & <Co>",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    assert!(!shown.contains("Order 43"), "{shown}");

    // The only request is not approved without a name either, and its details are shown.
    let unnamed = decide(&["--approve"]).await;
    assert!(!unnamed.status.success());
    assert!(
        out(&unnamed).contains("Message: Order 43"),
        "{}",
        out(&unnamed)
    );
    assert!(err(&unnamed).contains("--message"), "{}", err(&unnamed));
    let left = ada.device.pending_requests(0).await;
    assert_eq!(left.len(), 1, "{left:?}");
    let id = left[0].id.to_string();
    let other = decide(&["--approve", "--request", &id, "--message", "Order 42"]).await;
    assert!(
        err(&other).contains("no such request is pending"),
        "{}",
        err(&other)
    );
    let numbered = decide(&["--number", "42", "--request", &id]).await;
    assert!(
        err(&numbered).contains("approve it with --approve"),
        "{}",
        err(&numbered)
    );
    let alone = decide(&["--message", "Order 43", "--deny"]).await;
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
    let approved = decide(&["--approve", "--request", &id]).await;
    assert!(approved.status.success(), "{}", err(&approved));
    assert!(ada.device.pending_requests(0).await.is_empty());
}
