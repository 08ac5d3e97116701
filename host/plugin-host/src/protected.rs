//! The claims that a plugin may write.

use super::names;

/// The claims that only the server writes, independent of plugins and settings. They carry promises of the protocol.
pub const PROTECTED: [&str; 29] = include!("../../../plugin-sdk/src/protected_claims.in");

/// The prefix that distinguishes a SAML attribute from a claim in a list of grants.
const ATTRIBUTE: &str = "attribute:";

/// Returns whether only the server writes this claim.
pub fn is_protected(claim: &str) -> bool {
    PROTECTED.contains(&claim)
}

/// The effective grants: the names that both the component's description and the operator's settings contain.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    described: Vec<String>,
    operator: Vec<String>,
}

impl Grants {
    /// Combines the two lists. The error is the end of a sentence about the plugin.
    pub(super) fn new(described: Vec<String>, operator: Vec<String>) -> Result<Self, String> {
        for name in described.iter().chain(&operator) {
            if let Some(why) = names::fault_of(names::name_in_grant(name)) {
                return Err(format!(
                    "the claim `{name}` cannot be granted: its name {why}"
                ));
            }
            if is_protected(name) {
                return Err(format!(
                    "the claim `{name}` is protected, so no plugin may write it"
                ));
            }
        }
        if operator.iter().any(|name| name == "*") {
            return Err(
                "`writes` must name each claim; `*` is only for the component's own description"
                    .to_owned(),
            );
        }
        if let Some(name) = operator.iter().find(|name| !names(&described, name)) {
            let known = if described.is_empty() {
                "none".to_owned()
            } else {
                described.join(", ")
            };
            return Err(format!(
                "`writes` grants `{name}`, which the component does not write (it writes: {known})"
            ));
        }
        Ok(Self {
            described,
            operator,
        })
    }

    /// Returns the grants of a component if the operator granted every name that it requests. The error is as in
    /// [`new`](Self::new).
    pub(super) fn whole(described: Vec<String>) -> Result<Self, String> {
        let operator = described
            .iter()
            .filter(|name| *name != "*")
            .cloned()
            .collect();
        let Self { described, .. } = Self::new(described, operator)?;
        Ok(Self {
            operator: described.clone(),
            described,
        })
    }

    /// Returns whether the plugin may set and remove the claim.
    pub(super) fn claim(&self, name: &str) -> bool {
        !name.starts_with(ATTRIBUTE) && names(&self.described, name) && names(&self.operator, name)
    }

    /// Returns whether the plugin may add the SAML attribute.
    pub(super) fn attribute(&self, name: &str) -> bool {
        let name = format!("{ATTRIBUTE}{name}");
        names(&self.described, &name) && names(&self.operator, &name)
    }

    /// Returns whether the component's description lists the claim, or the attribute with its prefix.
    pub(super) fn describes(&self, name: &str) -> bool {
        names(&self.described, name)
    }

    /// Returns whether the plugin may add any SAML attribute.
    pub(super) fn any_attribute(&self) -> bool {
        self.operator
            .iter()
            .any(|name| name.starts_with(ATTRIBUTE) && names(&self.described, name))
    }

    /// Returns a claim that both this plugin and the other one may write.
    pub(super) fn shared_claim(&self, other: &Self) -> Option<&str> {
        self.operator
            .iter()
            .map(String::as_str)
            .find(|name| self.claim(name) && other.claim(name))
    }
}

/// Returns whether a list of grants contains this claim or attribute.
fn names(list: &[String], name: &str) -> bool {
    let wildcard = if name.starts_with(ATTRIBUTE) {
        "attribute:*"
    } else {
        "*"
    };
    list.iter()
        .any(|granted| granted == name || granted == wildcard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(described: &[&str], operator: &[&str]) -> Result<Grants, String> {
        let owned = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        Grants::new(owned(described), owned(operator))
    }

    #[test]
    fn a_claim_needs_both_grants() {
        let both = grants(&["account", "team"], &["account"]).expect("grants");
        assert!(both.claim("account"));
        assert!(!both.claim("team"), "the operator did not grant it");
        assert!(!both.claim("name"));
        assert!(
            grants(&["account"], &["team"]).is_err(),
            "the component does not write it"
        );
    }

    #[test]
    fn a_component_may_leave_the_choice_to_the_operator() {
        let any = grants(&["*"], &["team"]).expect("grants");
        assert!(any.claim("team") && !any.claim("account") && !any.attribute("team"));
        assert!(
            grants(&["*"], &["*"]).is_err(),
            "the operator has to name them"
        );
    }

    #[test]
    fn attributes_and_claims_have_separate_grants() {
        let attributes = grants(&["attribute:*"], &["attribute:department"]).expect("grants");
        assert!(attributes.attribute("department") && !attributes.attribute("role"));
        assert!(!attributes.claim("department") && !attributes.claim("attribute:department"));
    }

    #[test]
    fn a_protected_claim_cannot_be_granted() {
        for claim in ["sub", "amr", "email_verified", "phone_number_verified"] {
            assert!(is_protected(claim));
            assert!(grants(&[claim], &[]).is_err_and(|error| error.contains(claim)));
            assert!(grants(&["*"], &[claim]).is_err_and(|error| error.contains(claim)));
        }
        assert!(!is_protected("email") && !is_protected("account"));
    }

    #[test]
    fn a_claim_has_one_owner() {
        let one = grants(&["*"], &["team", "account"]).expect("grants");
        let two = grants(&["account"], &["account"]).expect("grants");
        let three = grants(&["*"], &["name"]).expect("grants");
        assert_eq!(one.shared_claim(&two), Some("account"));
        assert_eq!(one.shared_claim(&three), None);
    }
}
