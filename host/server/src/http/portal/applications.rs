//! The start page: the user's applications, or the public page for browsers without a session.

use axum::extract::{Path, RawQuery};
use axum::response::Response;
use url::Url;

use super::form_outcome::FormNotice;
use super::pages::{ApplicationTile, ApplicationsPage, ButtonForm, SecurityCard, Tab, TileStart};
use crate::domain::InternalError;
use crate::domain::devices::{device, recovery};
use crate::domain::portal::{self, SignInStart, UsableApplication};
use crate::http::csrf;
use crate::http::operations::logos;
use crate::http::page_error::PageError;
use crate::http::page_routes::{PageRequest, Visitor};
use crate::http::pages::{HomePage, initial_of};
use crate::http::portal::owner::{Owner, is_enough};
use crate::http::reply::{layout, page, see_other, with_browser};
use crate::http::saml::sign_on::start_purpose;
use assent_model::id::Did;
use assent_model::login::LocalPage;

/// `GET /`
pub(crate) async fn show(Visitor { services, browser }: Visitor) -> Result<Response, PageError> {
    let signed_in = browser.signed_in(&services).await?;
    let Some(signed_in) = signed_in.filter(|user| is_enough(&services, LocalPage::Home, user))
    else {
        let home = HomePage {
            layout: layout(&services, browser.language()),
        };
        return Ok(with_browser(page(&home, None), &services, &browser));
    };
    let owner = Owner {
        services,
        browser,
        signed_in,
        notice: FormNotice::default(),
    };
    let reply = async { Ok(page(&applications_page(&owner).await?, None)) };
    Ok(owner.reply_form().response(reply.await))
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
/// section 4). A link may name the page of the application that the user wants, as `target_link_uri`.
pub(super) async fn start(
    owner: Owner,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, PageError> {
    let id: Did = Tab::Applications.parse_id(&id)?;
    let query = query.unwrap_or_default();
    let target = url::form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "target_link_uri")
        .and_then(|(_, text)| Url::parse(&text).ok());
    let user = &owner.signed_in.user;
    let address = portal::login_address(&owner.services, user, &id, target.as_ref()).await?;
    let address = address.ok_or_else(|| Tab::Applications.nothing_here())?;
    Ok(see_other(address.as_str()))
}
