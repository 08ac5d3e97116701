//! The start page: the user's applications, or the public page for browsers without a session.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use super::form_outcome::FormNotice;
use super::pages::{ApplicationTile, ApplicationsPage, ButtonForm, SecurityCard, Tab, TileStart};

use crate::domain::devices::{device, recovery};
use crate::domain::portal::{self, SignInStart, UsableApplication};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::operations::logos;
use crate::http::pages::{HomePage, initial_of};
use crate::http::portal::owner::{Owner, is_enough};
use crate::http::reply::{internal_error, layout, page, see_other, with_browser};
use crate::http::saml::sign_on::start_purpose;
use assent_model::id::Did;
use assent_model::login::LocalPage;

/// `GET /`
pub(crate) async fn show(State(services): State<Arc<Services>>, browser: Browser) -> Response {
    match browser.signed_in(&services).await {
        Ok(Some(signed_in)) if is_enough(&services, LocalPage::Home, &signed_in) => {
            let owner = Owner {
                services,
                browser,
                signed_in,
                notice: FormNotice::default(),
            };
            owner.page(applications_page(&owner).await)
        }
        Ok(_) => {
            let home = HomePage {
                layout: layout(&services, browser.language()),
            };
            with_browser(page(&home, None), &services, &browser)
        }
        Err(error) => internal_error(&services, browser.language(), &error),
    }
}

async fn applications_page(owner: &Owner) -> Result<ApplicationsPage, InternalError> {
    let user = &owner.signed_in.user;
    let usable = portal::applications(&owner.services, user).await?;
    let devices = device::all_of(&owner.services, user.id).await?;
    let security = SecurityCard {
        devices: devices.len(),
        locked: devices.iter().filter(|device| device.has_passkey).count(),
        codes: recovery::remaining_codes(&owner.services, user.id).await?,
    };
    let mut tiles = usable
        .into_iter()
        .map(|usable| tile(owner, usable))
        .collect::<Result<Vec<_>, _>>()?;
    // The tiles are in the order of their names, but applications that can be opened here come first.
    tiles.sort_by_key(|tile| matches!(tile.start, TileStart::Elsewhere(_)));
    Ok(ApplicationsPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Applications)?,
        name: user.display_name().to_owned(),
        administers: user.console_role.is_some(),
        security,
        applications: tiles,
    })
}

fn tile(owner: &Owner, usable: UsableApplication) -> Result<ApplicationTile, InternalError> {
    let start = match usable.start {
        SignInStart::IdpInitiated => {
            // The form is that of the page that asks for a confirmation. Here no other site can submit it.
            let action = start_purpose(usable.id.as_str());
            let user = owner.signed_in.user.id;
            let csrf = csrf::user_token(&owner.services, &owner.browser, &action, user)?;
            TileStart::Form(ButtonForm { action, csrf })
        }
        SignInStart::LoginUri => TileStart::Link(format!("/applications/{}/start", usable.id)),
        SignInStart::Elsewhere => TileStart::Elsewhere(usable.origin),
    };
    Ok(ApplicationTile {
        initial: initial_of(&usable.name),
        logo: usable
            .logo
            .map(|digest| logos::address(&usable.id, &digest)),
        name: usable.name,
        start,
    })
}

/// `GET /applications/{id}/start`: redirects to the application, which then requests a sign-in (OpenID Connect Core
/// section 4).
pub(super) async fn start(owner: Owner, Path(id): Path<String>) -> Response {
    let reply = async {
        let address = match id.parse::<Did>() {
            Ok(id) => portal::login_address(&owner.services, &owner.signed_in.user, &id).await?,
            Err(_) => None,
        };
        Ok(address.map_or_else(
            || owner.nothing_here(Tab::Applications),
            |address| see_other(address.as_str()),
        ))
    };
    owner.reply(reply.await)
}
