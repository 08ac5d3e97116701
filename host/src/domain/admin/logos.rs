//! The pictures of applications.

use super::{Refused, Result, invalid, registered};
use crate::domain::{Host, audit};
use crate::id::Did;
use crate::model::audit::{By, Event};
use crate::model::logo::ApplicationLogo;

/// An application's picture.
pub async fn logo(host: &Host, application: &Did) -> Result<ApplicationLogo> {
    host.store.logo(application).await?.ok_or(Refused::NotFound("picture"))
}

/// Gives an application a picture, in place of the one that it had.
pub async fn set_logo(host: &Host, application: &Did, bytes: Vec<u8>, by: &By) -> Result<ApplicationLogo> {
    let logo = ApplicationLogo::new(bytes).map_err(|unfit| invalid("the body", unfit.to_string()))?;
    let entry = audit::entry(host, Event::LogoSet, by).of(application.clone());
    let entry = entry.with("media_type", logo.kind.media_type()).with("bytes", logo.bytes.len());
    if !host.store.set_logo(application.clone(), logo.clone(), entry).await? {
        return Err(Refused::NotFound("application"));
    }
    tracing::info!(%application, logo = logo.digest, "application's picture set");
    Ok(logo)
}

/// Takes an application's picture away. It is no error if there is none.
pub async fn remove_logo(host: &Host, application: &Did, by: &By) -> Result<()> {
    registered(host, application).await?;
    let entry = audit::entry(host, Event::LogoRemoved, by).of(application.clone());
    if host.store.remove_logo(application.clone(), entry).await? {
        tracing::info!(%application, "application's picture removed");
    }
    Ok(())
}
