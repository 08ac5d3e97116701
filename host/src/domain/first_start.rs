//! The first start: somebody has to be the first administrator.

use super::admin::{self, Refused, Settings};
use super::{Host, audit, device};
use crate::config::{Demo, FirstStart as Wish};
use crate::id::Did;
use crate::model::application::{Application, ApplicationType, InitiateLoginUri, OidcSettings};
use crate::model::audit::{By, Event};
use crate::model::redirect::RedirectUri;
use crate::model::user::ConsoleRole;
use crate::store::FirstStart;

/// What the first start made.
#[derive(Debug)]
pub struct Made {
    /// The link by which the administrator enrols an authenticator.
    pub enrolment_link: String,
    /// The demo application's Client ID.
    pub demo: Option<Did>,
}

/// Makes the first administrator and the demo application, unless a first start was made before.
pub async fn first_start(host: &Host, wish: &Wish) -> Result<Option<Made>, Refused> {
    let name = wish.administrator.parse().map_err(|error: crate::model::name::InvalidName| Refused::Invalid {
        field: "first_start.administrator",
        expected: error.to_string(),
    })?;
    let mut administrator = admin::new_user(host, name)?;
    administrator.console_role = Some(ConsoleRole::Owner);
    administrator.profile.name = Some("First Administrator".to_owned());
    let (enrolment, token) = device::prepare_enrolment(host, administrator.id);
    let demo = match &wish.demo {
        None => None,
        Some(demo) => {
            let application = demo_application(host, demo)?;
            let mut account = admin::new_account(host, &administrator, application.id.clone());
            account.roles = vec!["demo-admin".to_owned(), "demo-user".to_owned()];
            Some((application, account))
        }
    };
    let made = Made {
        enrolment_link: device::enrolment_link(host, &token),
        demo: demo.as_ref().map(|(application, _)| application.id.clone()),
    };
    let entry = |event| audit::entry(host, event, &By::HOST).about(administrator.id);
    let mut entries = vec![
        entry(Event::UserCreated)
            .with("state", administrator.state.as_str())
            .personal("name", administrator.name.as_str()),
        entry(Event::EnrolmentLinkMade).with("enrolment", enrolment.id.to_string()),
    ];
    if let Some((application, account)) = &demo {
        let made = Settings::of_client(application).made(audit::entry(host, Event::ApplicationCreated, &By::HOST));
        entries.push(made.of(application.id.clone()));
        let entry = entry(Event::AccountCreated).of(application.id.clone());
        entries.push(entry.with("account", account.id.to_string()).with("state", account.state.as_str()));
    }
    let first = FirstStart { administrator, enrolment, demo, entries };
    Ok(host.store.first_start(first, host.now()).await?.then_some(made))
}

fn demo_application(host: &Host, demo: &Demo) -> Result<Application, Refused> {
    let kind = ApplicationType::Native;
    let uri = RedirectUri::register(&demo.redirect_uri, kind, host.settings.development)
        .map_err(|error| Refused::Invalid { field: "first_start.demo.redirect_uri", expected: error.to_string() })?;
    let start = demo.initiate_login_uri.as_deref().map(InitiateLoginUri::parse).transpose();
    let initiate_login_uri = start.map_err(|error| Refused::Invalid {
        field: "first_start.demo.initiate_login_uri",
        expected: error.to_string(),
    })?;
    let now = host.now();
    Ok(Application {
        id: admin::fresh_did()?,
        name: "Demo Application".to_owned(),
        settings: OidcSettings { redirect_uris: vec![uri], initiate_login_uri, ..OidcSettings::new(kind) },
        secret: None,
        sealed_secret: None,
        version: 1,
        created_at: now,
        updated_at: now,
    })
}
