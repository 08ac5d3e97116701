//! Authorization details that a user granted, and the part of them that a token has.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::requested::{AuthorizationDetails, RequestedDetails};

/// The elements that a user granted, in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantedDetails(Vec<Map<String, Value>>);

/// A part of granted details: a bit for each element. A token has it in place of the elements, which its family has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DetailsSelection(u8);

impl AuthorizationDetails {
    /// Returns the elements without their texts, as the user's approval grants them.
    pub fn granted(&self) -> GrantedDetails {
        GrantedDetails(self.elements())
    }
}

impl GrantedDetails {
    /// Whether nothing was granted.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all elements whose type fits.
    pub fn of_types(&self, is_permitted: impl Fn(&str) -> bool) -> DetailsSelection {
        self.select(|element| {
            let name = element.get("type").and_then(Value::as_str);
            name.is_some_and(&is_permitted)
        })
    }

    /// Returns the elements that a token request names (RFC 9396 section 6). Each must be one of `within`, with the
    /// same members and values. `None` if one is not.
    pub fn narrowed(
        &self,
        within: DetailsSelection,
        requested: &RequestedDetails,
    ) -> Option<DetailsSelection> {
        let granted = self.selected(within);
        let is_granted = |element: &Map<String, Value>| granted.contains(&element);
        if !requested.elements().all(is_granted) {
            return None;
        }
        let named = self.select(|element| requested.elements().any(|one| one == element));
        Some(DetailsSelection(named.0 & within.0))
    }

    /// Returns the elements of a selection.
    pub fn selected(&self, selection: DetailsSelection) -> Vec<&Map<String, Value>> {
        let numbered = self.0.iter().zip(0_u32..);
        let chosen = numbered.filter(|(_, index)| selection.has(*index));
        chosen.map(|(element, _)| element).collect()
    }

    fn select(&self, is_chosen: impl Fn(&Map<String, Value>) -> bool) -> DetailsSelection {
        let numbered = self.0.iter().zip(0_u32..);
        let chosen = numbered.filter(|(element, _)| is_chosen(element));
        let bit = |index| 1_u8.checked_shl(index).unwrap_or_default();
        DetailsSelection(chosen.fold(0, |bits, (_, index)| bits | bit(index)))
    }
}

impl DetailsSelection {
    /// No element.
    pub const NONE: Self = Self(0);

    /// Whether it has no element.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn has(self, index: u32) -> bool {
        self.0.checked_shr(index).unwrap_or_default() & 1 == 1
    }
}
