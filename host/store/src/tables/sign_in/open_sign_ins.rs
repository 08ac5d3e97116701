//! The bounds of open sign-ins without a typed name. Any client can begin one without authentication, so their number
//! is bounded: in a network, in the wider networks that contain it, in a known browser and in total.
//!
//! Above a bound, sign-ins are removed: first those of unknown browsers, and among these the oldest. Above the total,
//! the network with the most of them loses its oldest first. A rejection of new ones would lock users out while an
//! attacker keeps the bound exhausted. A sign-in with an approval request stays, because the limits of requests bound
//! it.

use crate::engine::sql;
use crate::engine::sql::Connection;

use crate::Result;
use assent_model::login::Login;

/// The bounds of open sign-ins.
#[derive(Clone, Debug)]
pub struct OpenSignIns {
    /// The network of the browser.
    pub network: String,
    /// The most open sign-ins of this network.
    pub of_network: u32,
    /// The /56 and the /48 that contain the network, each with its bound. Empty for an IPv4 address.
    pub wider: Vec<(String, u32)>,
    /// Whether a user signed in in this browser before, according to its cookies.
    pub is_known: bool,
    /// The most open sign-ins in total. `None` if this sign-in does not check the total, because that check takes
    /// longer.
    pub in_all: Option<u32>,
}

/// The most rows that one sign-in deletes. It is one more than the largest number of sign-ins between two checks of the
/// total.
const SLICE: i64 = 1024;
/// The most open sign-ins of one known browser.
const OF_KNOWN_BROWSER: i64 = 20;

impl OpenSignIns {
    /// The number of sign-ins that an instance begins between two checks of the total: a small part of the bound.
    pub const fn check_interval(in_all: u32) -> u32 {
        let part = in_all / 64;
        if part >= 1023 { 1023 } else { part + 1 }
    }

    /// Returns the /56 or /48 that contains the network.
    pub(crate) fn wider_network(&self, index: usize) -> Option<String> {
        self.wider.get(index).map(|(network, _)| network.clone())
    }
}

/// Open sign-ins.
macro_rules! open {
    () => {
        "approval_id IS NULL AND session_id IS NULL AND answered_at IS NULL AND network IS NOT NULL"
    };
}

// The database checks the outer conditions again if another transaction changes the row concurrently. A sign-in that
// was reset after a request keeps its requests, and so stays. The new one, `$4`, always stays, even if only known
// browsers fill the bound.
macro_rules! evict {
    ($surplus:expr) => {
        sql::statement!(
            "DELETE FROM logins WHERE id IN (",
            $surplus,
            ") AND id <> $4 AND ",
            open!(),
            " AND NOT EXISTS (SELECT 1 FROM approvals WHERE approvals.login_id = logins.id)"
        )
    };
}

macro_rules! of_network {
    ($column:literal) => {
        evict!(sql::statement!(
            "SELECT id FROM logins WHERE ",
            $column,
            " = $1 AND ",
            open!(),
            " ORDER BY known DESC, id DESC LIMIT $2 OFFSET $3"
        ))
    };
}

const OF_NETWORK: &str = of_network!("network");
const OF_WIDER: [&str; 2] = [of_network!("network_56"), of_network!("network_48")];
const OF_BROWSER: &str = evict!(sql::statement!(
    "SELECT id FROM logins WHERE browser = $1 AND known = 1 AND ",
    open!(),
    " ORDER BY id DESC LIMIT $2 OFFSET $3"
));
/// Each sign-in has a rank in its network, the newest first. Those with the highest rank are the surplus.
const IN_ALL: &str = evict!(sql::statement!(
    "SELECT id FROM (SELECT id, known, ROW_NUMBER() OVER (PARTITION BY COALESCE(network_48, network), known
                                                          ORDER BY id DESC) AS place
                     FROM logins WHERE $1 <> '' AND ",
    open!(),
    ") AS ranked ORDER BY known DESC, place, id DESC LIMIT $2 OFFSET $3"
));

/// Deletes the open sign-ins above the bounds, after this one was inserted.
pub(crate) async fn evict_sign_ins(
    db: &mut Connection,
    login: &Login,
    bounds: &OpenSignIns,
) -> Result<()> {
    let browser = login.browser.to_text();
    let mut checks = vec![(
        OF_NETWORK,
        bounds.network.as_str(),
        i64::from(bounds.of_network),
    )];
    let wider = OF_WIDER.into_iter().zip(&bounds.wider);
    checks.extend(
        wider.map(|(statement, (network, most))| (statement, network.as_str(), i64::from(*most))),
    );
    if bounds.is_known {
        checks.push((OF_BROWSER, browser.as_str(), OF_KNOWN_BROWSER));
    }
    if let Some(in_all) = bounds.in_all {
        checks.push((IN_ALL, bounds.network.as_str(), i64::from(in_all)));
    }
    let mut evicted = 0;
    for (statement, value, most) in checks {
        evicted += sql::query(statement)
            .bind(value.to_owned())
            .bind(SLICE)
            .bind(most)
            .bind(login.id.to_string())
            .execute(&mut *db)
            .await?;
    }
    if evicted > 0 {
        tracing::debug!(evicted, network = %bounds.network, "open sign-ins evicted");
    }
    Ok(())
}
