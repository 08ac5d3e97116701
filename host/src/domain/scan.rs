//! Signing in without typing: the login page shows a code, and whoever scans it with their authenticator says who signs in.
//!
//! The code says nothing of the person, and the approval that follows is like any other: the browser shows a number, and
//! the phone what that browser told about itself when its login began, whoever shows the code.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;

use super::limits::Exhausted;
use super::signals::Signal;
use super::{Broken, Host, approval};
use crate::clock::Timestamp;
use crate::id::LoginId;
use crate::model::audit::Origin;
use crate::model::device::Device;
use crate::model::login::{Login, LoginStage};
use crate::model::user::LifeState;

/// How many bytes of the code are a login's id, and how many show that this host made it.
const ID: usize = 16;
const PROOF: usize = 16;

/// The path of the link that the code of a login's page is made of. The token is in the fragment, which browsers do not send
/// and nobody logs.
pub fn path(host: &Host, login: &Login) -> Result<String, Broken> {
    let token: Vec<u8> = [login.id.as_bytes().as_slice(), &proof(host, login)?].concat();
    Ok(format!("/authenticator#login={}", URL_SAFE_NO_PAD.encode(token)))
}

/// It can't be guessed, and follows from the login and its browser, so that each host knows it.
fn proof(host: &Host, login: &Login) -> Result<[u8; PROOF], Broken> {
    let message = [login.id.as_bytes().as_slice(), login.browser.as_bytes()].concat();
    let code = host.master_key.authenticate("login code", &message)?;
    let mut proof = [0; PROOF];
    proof.copy_from_slice(&code[..PROOF]);
    Ok(proof)
}

/// What came of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// The person is asked, and the browser shows the number.
    Asked,
    /// The code is none of ours, its login is over, or somebody said already who signs in.
    NotOpen,
    /// The person may not sign in.
    Closed,
    /// The person's sign-ins are paused, which they may lift.
    Paused {
        /// Until when.
        until: Timestamp,
    },
    /// There were too many sign-ins with the person's name.
    TooMany(Exhausted),
}

/// Takes what a device scanned.
pub async fn scan(host: &Arc<Host>, device: &Device, token: &str, from: Origin) -> Result<Scanned, Broken> {
    let Some(login) = find(host, token).await? else { return Ok(Scanned::NotOpen) };
    let user = host.store.user(device.user_id).await?.filter(|user| user.state == LifeState::Active);
    let Some(user) = user else { return Ok(Scanned::Closed) };
    // Whoever lifts it lets others' requests through as well, so that is for the person to decide.
    if let Some(until) = host.store.paused_until(user.id, host.now()).await? {
        return Ok(Scanned::Paused { until });
    }
    if let Err(exhausted) = host.limits.login_name.take(&(&user.name).into(), host.now()) {
        return Ok(Scanned::TooMany(exhausted));
    }
    let asked = approval::ask(host, &login, &user.name, login.context.clone(), from).await?;
    if asked {
        tracing::info!(login = %login.id, device = %device.id, "a login's code was scanned");
        host.signals.send(Signal::Scanned(login.id));
    }
    Ok(if asked { Scanned::Asked } else { Scanned::NotOpen })
}

/// The login that a token is of, if it still waits to be told who signs in.
async fn find(host: &Host, token: &str) -> Result<Option<Login>, Broken> {
    let bytes = URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
    let Some((id, shown)) = bytes.split_at_checked(ID).filter(|(_, shown)| shown.len() == PROOF) else {
        return Ok(None);
    };
    let Ok(id) = <[u8; ID]>::try_from(id) else { return Ok(None) };
    let login = host.store.login(LoginId::from_bytes(id), host.now()).await?;
    // A login from before browsers were kept would show nothing to recognise.
    let open = |login: &Login| login.stage == LoginStage::Identify && !login.context.browser.is_empty();
    let Some(login) = login.filter(open) else { return Ok(None) };
    let genuine = bool::from(proof(host, &login)?.as_slice().ct_eq(shown));
    Ok(genuine.then_some(login))
}

/// How long a page is told of a scan at once. It asks again by itself, so that whoever leaves holds no connection for long.
const TELLING: Duration = Duration::from_secs(60);

/// Returns when the page of this login has something new to show, since its code was scanned or its time is over: `true`; or
/// when it should ask again: `false`.
pub async fn scanned(host: &Host, id: LoginId) -> Result<bool, Broken> {
    let mut listener = host.signals.listen();
    // Counted by the machine's clock, not the host's: a test that stops the one must not stop the other.
    let deadline = tokio::time::Instant::now() + TELLING;
    loop {
        let found = host.store.login(id, host.now()).await?;
        if found.is_none_or(|login| login.stage != LoginStage::Identify) {
            return Ok(true);
        }
        if tokio::time::Instant::now() >= deadline {
            return Ok(false);
        }
        listener.next(Signal::Scanned(id)).await;
    }
}
