//! A database with the history of a large installation.

use assent_tests::harness::DatabaseUrl;

/// The token families that were granted before. Each stands for its tokens, which have no rows.
pub const FAMILIES: u32 = 4_000_000;
/// The audit entries that were written before.
pub const ENTRIES: u32 = 200_000;

/// Adds the history: copies of the newest token family and of the newest audit entry about a user. The last digits of
/// their ids ascend, as those of real ids do.
pub async fn add_history(url: &DatabaseUrl) {
    let mut connection = url.connection().await;
    let (digits, end) = match url.url().starts_with("sqlite:") {
        true => (
            "printf('%015x', n)",
            ["PRAGMA wal_checkpoint(TRUNCATE)", "ANALYZE"],
        ),
        false => (
            "lpad(to_hex(n), 15, '0')",
            ["VACUUM ANALYZE token_families", "ANALYZE"],
        ),
    };
    let numbers = |last| {
        format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})"
        )
    };
    let families = format!(
        "{} INSERT INTO token_families (id, code_digest, application_id, redirect_uri, code_challenge, scopes, user_id,
             account_id, session_id, context, claims, offline, created_at, code_expires_at, retain_until, exchanged_at)
         SELECT substr(id, 1, 17) || {digits}, code_digest, application_id, redirect_uri, code_challenge, scopes,
             user_id, account_id, session_id, context, claims, offline, created_at, code_expires_at, retain_until + n,
             exchanged_at
         FROM (SELECT * FROM token_families WHERE exchanged_at IS NOT NULL ORDER BY id DESC LIMIT 1) AS newest,
              numbers",
        numbers(FAMILIES)
    );
    let entries = format!(
        "{} INSERT INTO audit_entries (lane, seq, previous, digest, id, happened_at, event, actor_kind, actor, user_id,
             application_id, detail, personal, personal_salt, personal_digest)
         SELECT 1000000, n, previous, digest, substr(id, 1, 17) || {digits}, happened_at, event, actor_kind, actor,
             user_id, application_id, detail, personal, personal_salt, personal_digest
         FROM (SELECT * FROM audit_entries WHERE user_id IS NOT NULL AND application_id IS NOT NULL
               ORDER BY id DESC LIMIT 1) AS newest, numbers",
        numbers(ENTRIES)
    );
    for text in [families.as_str(), entries.as_str(), end[0], end[1]] {
        connection.batch(text).await.expect("executed");
    }
    connection.close().await;
}
