//! `assent authenticator` with several pending requests.

use assent::authenticator::enrolled::Authenticator;

use super::{assent, err, out};
use crate::harness::{Application, Browser, Page, TestHost, TestUser, Text};

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
