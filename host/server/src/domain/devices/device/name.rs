//! Names of devices.

use assent_model::device::Device;

/// The largest length of a device's name, in characters.
pub(super) const LONGEST_NAME: usize = 80;

/// Returns the name, with a number after it if another device has the name. A user who removes a lost device must be
/// able to distinguish it from the others.
pub(super) fn own_name(name: String, others: &[Device]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = |number: usize| {
        let number = format!(" {number}");
        let base: String = name.chars().take(LONGEST_NAME - number.len()).collect();
        base + &number
    };
    if taken(&name) {
        (2..)
            .map(numbered)
            .find(|name| !taken(name))
            .unwrap_or(name)
    } else {
        name
    }
}
