//! The statements of outboxes: tables with a delivery per row, which one instance at a time claims for an attempt.
//!
//! Such a table has the columns `id`, `application_id`, `attempts` and `next_attempt_at`, and an index on
//! `application_id, next_attempt_at`.

/// The applications with a due delivery at `$1`, the oldest first. The query looks each application up in the index, so
/// its cost does not depend on the number of pending deliveries.
macro_rules! due_applications {
    ($table:literal) => {
        $crate::engine::sql::statement!(
            "WITH RECURSIVE waiting (application_id) AS (
                 SELECT MIN(application_id) FROM ",
            $table,
            "
                 UNION ALL
                 SELECT (SELECT MIN(d.application_id) FROM ",
            $table,
            " d WHERE d.application_id > w.application_id)
                 FROM waiting w WHERE w.application_id IS NOT NULL)
             SELECT application_id FROM (
                 SELECT w.application_id, (SELECT MIN(d.next_attempt_at) FROM ",
            $table,
            " d WHERE d.application_id = w.application_id) AS since
                 FROM waiting w WHERE w.application_id IS NOT NULL) AS heads
             WHERE since <= $1 ORDER BY since, application_id"
        )
    };
}
pub(crate) use due_applications;

/// Claims the oldest due delivery of the application `$1` at `$3` until `$2`, and returns these columns.
macro_rules! claim_oldest {
    ($table:literal, $columns:literal) => {
        $crate::engine::sql::statement!(
            "UPDATE ",
            $table,
            " SET attempts = attempts + 1, next_attempt_at = $2
             WHERE id = (SELECT d.id FROM ",
            $table,
            " d WHERE d.application_id = $1 AND d.next_attempt_at <= $3
                 ORDER BY d.next_attempt_at LIMIT 1)
               AND next_attempt_at <= $3
             RETURNING ",
            $columns
        )
    };
}
pub(crate) use claim_oldest;

/// Sets the next attempt of the delivery `$1` to `$3`, unless another attempt than `$2` has begun.
macro_rules! retry_at {
    ($table:literal) => {
        $crate::engine::sql::statement!(
            "UPDATE ",
            $table,
            " SET next_attempt_at = $3 WHERE id = $1 AND attempts = $2"
        )
    };
}
pub(crate) use retry_at;

/// Deletes the delivery `$1`, unless another attempt than `$2` has begun.
macro_rules! delete_attempted {
    ($table:literal) => {
        $crate::engine::sql::statement!("DELETE FROM ", $table, " WHERE id = $1 AND attempts = $2")
    };
}
pub(crate) use delete_attempted;
