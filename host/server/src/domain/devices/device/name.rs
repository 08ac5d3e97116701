//! Names of devices.

use assent_model::device::Device;

/// How long a device's name may be, in characters.
pub(super) const LONGEST_NAME: usize = 80;

/// The name with a number behind it where another device has it already: who removes a lost one must be able to tell
/// them apart.
pub(super) fn own_name(name: String, others: &[Device]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = |number: usize| {
        let number = format!(" {number}");
        let kept: String = name.chars().take(LONGEST_NAME - number.len()).collect();
        kept + &number
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
