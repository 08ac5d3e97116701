//! The bootstrap: the first start creates the first administrator, and the demo application if the settings name one.

use crate::config::{Bootstrap, Demo};
use crate::domain::accounts::new_account;
use crate::domain::admin::{AdminError, AuditedSettings};
use crate::domain::devices::device::enrolment;
use crate::domain::{Services, admin, audit};
use crate::keys::fresh_did;
use assent_model::application::{Application, InitiateLoginUri, OidcSettings};
use assent_model::application_type::ApplicationType;
use assent_model::audit::{AuditContext, Event};
use assent_model::client_secret::ClientSecrets;
use assent_model::id::Did;
use assent_model::redirect::RedirectUri;
use assent_model::user::ConsoleRole;
use assent_store::Bootstrap as BootstrapRecord;

/// The result of a bootstrap.
#[derive(Debug)]
pub struct BootstrapResult {
    /// The link with which the administrator enrols a device.
    pub enrolment_link: String,
    /// The demo application's Client ID.
    pub demo: Option<Did>,
}

/// Creates the first administrator and the demo application. Returns `None` if an earlier start did so.
///
/// # Errors
/// [`AdminError::Invalid`] if a setting is invalid. Otherwise if the database or the cryptographic library fails.
pub async fn bootstrap(
    services: &Services,
    settings: &Bootstrap,
) -> Result<Option<BootstrapResult>, AdminError> {
    let name =
        settings
            .administrator
            .parse()
            .map_err(
                |error: assent_model::name::LoginNameError| AdminError::Invalid {
                    field: "bootstrap.administrator",
                    expected: error.to_string(),
                },
            )?;
    let mut administrator = admin::new_user(services, name)?;
    // The operator chose the name.
    administrator.email_confirmed = true;
    administrator.console_role = Some(ConsoleRole::Owner);
    administrator.profile.name = Some("First Administrator".to_owned());
    let (enrolment, token) = enrolment::prepare_enrolment(services, administrator.id);
    let demo = match &settings.demo {
        None => None,
        Some(demo) => {
            let application = demo_application(services, demo)?;
            let mut account = new_account(services, &administrator, application.id.clone());
            account.roles = vec!["demo-admin".to_owned(), "demo-user".to_owned()];
            Some((application, account))
        }
    };
    let made = BootstrapResult {
        enrolment_link: enrolment::enrolment_link(services, &token),
        demo: demo.as_ref().map(|(application, _)| application.id.clone()),
    };
    let entry =
        |event| audit::entry(services, event, &AuditContext::SERVER).about(administrator.id);
    let mut entries = vec![
        entry(Event::UserCreated)
            .with("state", administrator.state.as_str())
            .personal("name", administrator.name.as_str()),
        entry(Event::EnrolmentLinkCreated).with("enrolment", enrolment.id.to_string()),
    ];
    if let Some((application, account)) = &demo {
        let made = AuditedSettings::of_client(application).creation_entry(audit::entry(
            services,
            Event::ApplicationCreated,
            &AuditContext::SERVER,
        ));
        entries.push(made.in_application(application.id.clone()));
        let entry = entry(Event::AccountCreated).in_application(application.id.clone());
        entries.push(
            entry
                .with("account", account.id.to_string())
                .with("state", account.state.as_str()),
        );
    }
    let first = BootstrapRecord {
        administrator,
        enrolment,
        demo,
        entries,
    };
    Ok(services
        .store
        .bootstrap(first, services.now())
        .await?
        .then_some(made))
}

fn demo_application(services: &Services, demo: &Demo) -> Result<Application, AdminError> {
    let kind = ApplicationType::Native;
    let registered = |field, uri: &str| {
        RedirectUri::register(uri, kind, services.settings.allow_insecure_redirect_uris).map_err(
            |error| AdminError::Invalid {
                field,
                expected: error.to_string(),
            },
        )
    };
    let uri = registered("bootstrap.demo.redirect_uri", &demo.redirect_uri)?;
    let signed_out = demo
        .post_logout_redirect_uri
        .as_deref()
        .map(|uri| registered("bootstrap.demo.post_logout_redirect_uri", uri))
        .transpose()?;
    let start = demo
        .initiate_login_uri
        .as_deref()
        .map(InitiateLoginUri::parse)
        .transpose();
    let initiate_login_uri = start.map_err(|error| AdminError::Invalid {
        field: "bootstrap.demo.initiate_login_uri",
        expected: error.to_string(),
    })?;
    let now = services.now();
    Ok(Application {
        id: fresh_did()?,
        name: "Demo Application".to_owned(),
        settings: OidcSettings {
            redirect_uris: vec![uri],
            post_logout_redirect_uris: signed_out.into_iter().collect(),
            initiate_login_uri,
            ..OidcSettings::new(kind)
        },
        secrets: ClientSecrets::default(),
        version: 1,
        created_at: now,
        updated_at: now,
    })
}
