//! New accounts.

use crate::domain::Services;
use assent_model::account::Account;
use assent_model::group::AssignedAccess;
use assent_model::id::{AccountId, Did};
use assent_model::user::{LifecycleState, User};

/// Returns a new account without roles and with the user's name. The account is not stored yet.
pub fn new_account(services: &Services, user: &User, application: Did) -> Account {
    let now = services.now();
    Account {
        id: AccountId::new(now, &*services.entropy),
        user_id: user.id,
        application_id: application,
        name: user.name.to_string(),
        roles: Vec::new(),
        short_code: short_code(services),
        state: LifecycleState::Active,
        individual: true,
        assigned: AssignedAccess::default(),
        version: 1,
        created_at: now,
    }
}

/// Returns the account that an assignment implies for a user without an account. It is not stored: see
/// [`Account::is_stored`].
pub fn implied_account(
    services: &Services,
    user: &User,
    application: Did,
    assigned: AssignedAccess,
) -> Account {
    Account {
        individual: false,
        assigned,
        version: 0,
        ..new_account(services, user, application)
    }
}

/// Returns ten characters from an alphabet without characters that look alike.
fn short_code(services: &Services) -> String {
    const ALPHABET: [char; 31] = [
        '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K',
        'L', 'M', 'N', 'P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y',
    ];
    let draw = |_| {
        ALPHABET
            .get(services.entropy.below(31) as usize)
            .copied()
            .unwrap_or('2')
    };
    (0..10).map(draw).collect()
}
