//! An empty database on PostgreSQL for a unit test.

use assent_model::clock::Timestamp;
use assent_model::entropy::SystemEntropy;
use assent_model::id::SessionId;

use crate::engine::connect::Database;
use crate::engine::sql::Options;

/// An empty database for this test. `session` are the settings of each session.
pub(crate) async fn postgres(name: &str, session: &str) -> Database {
    let cluster = std::env::var("ASSENT_TEST_POSTGRES").expect(
        "ASSENT_TEST_POSTGRES is not set: run the tests with `make test` or `scripts/with-postgres`",
    );
    let random = SessionId::new(Timestamp::from_millis(1), &SystemEntropy).to_string();
    let name = format!("{name}_{}", random.replace('-', "_"));
    let mut maintenance = Options::postgres(&cluster, "", None)
        .unwrap()
        .connect()
        .await
        .unwrap();
    maintenance
        .batch(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    let mut url = url::Url::parse(&cluster).unwrap();
    url.set_path(&name);
    url.query_pairs_mut().append_pair("options", session);
    Database::open(url.as_str()).await.unwrap()
}
