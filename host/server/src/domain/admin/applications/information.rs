//! The changes of the information about a client for its users.

use super::values::server_address;
use crate::domain::admin::{Result, invalid};
use assent_model::application::information::{
    ApplicationInformation, Contact, InformationUri, MOST_CONTACTS,
};
use assent_plugin_host::egress::Egress;

/// The members of a change that are about the information. `Some(None)` removes an address.
pub(super) struct InformationChange {
    pub(super) policy_uri: Option<Option<String>>,
    pub(super) tos_uri: Option<Option<String>>,
    pub(super) client_uri: Option<Option<String>>,
    pub(super) contacts: Option<Vec<String>>,
    pub(super) logo_uri: Option<Option<String>>,
}

impl InformationChange {
    /// Applies the change. The logo is not fetched here.
    ///
    /// # Errors
    /// If a value is not valid.
    pub(super) fn apply(
        self,
        information: &mut ApplicationInformation,
        egress: &Egress,
    ) -> Result<()> {
        for (field, uri, change) in [
            ("policy_uri", &mut information.policy_uri, self.policy_uri),
            ("tos_uri", &mut information.tos_uri, self.tos_uri),
            ("client_uri", &mut information.client_uri, self.client_uri),
        ] {
            if let Some(text) = change {
                *uri = text.map(|text| page(field, &text)).transpose()?;
            }
        }
        if let Some(texts) = self.contacts {
            information.contacts = contacts(&texts)?;
        }
        if let Some(text) = self.logo_uri {
            let address = text.map(|text| server_address("logo_uri", &text, egress));
            information.logo_uri = address.transpose()?;
        }
        Ok(())
    }
}

fn page(field: &'static str, text: &str) -> Result<InformationUri> {
    InformationUri::parse(text).map_err(|unfit| invalid(field, unfit.to_string()))
}

fn contacts(texts: &[String]) -> Result<Vec<Contact>> {
    const FIELD: &str = "contacts";
    if texts.len() > MOST_CONTACTS {
        return Err(invalid(FIELD, format!("expected {MOST_CONTACTS} at most")));
    }
    let contacts = texts.iter().map(|text| Contact::parse(text));
    contacts
        .collect::<std::result::Result<_, _>>()
        .map_err(|unfit| invalid(FIELD, unfit.to_string()))
}
