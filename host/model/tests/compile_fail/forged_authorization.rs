//! A use case makes an authorization itself.

use assent_model::caller::Authorization;

fn main() {
    let _ = Authorization(());
}
