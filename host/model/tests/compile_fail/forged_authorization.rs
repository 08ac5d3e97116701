//! A use case creates an authorization itself.

use assent_model::caller::Authorization;

fn main() {
    let _ = Authorization(());
}
