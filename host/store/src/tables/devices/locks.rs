//! Row locks of devices within a transaction.

use crate::Result;
use crate::engine::sql;
use assent_model::id::{ApprovalId, DeviceId, UserId};

/// Locks a user and one of the user's devices until the transaction ends. A concurrent suspension or revocation waits,
/// or came first. Returns whether the user may sign in, and the device belongs to the user and is not revoked.
pub(crate) async fn lock_active_device(
    db: &mut crate::engine::sql::Connection,
    user: UserId,
    device: DeviceId,
) -> Result<bool> {
    let user = user.to_string();
    let open = sql::query("UPDATE users SET state = state WHERE id = $1 AND state = 'active'")
        .bind(&user)
        .execute(&mut *db)
        .await?;
    let own = sql::query(
        "UPDATE devices SET name = name WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
    )
    .bind(device.to_string())
    .bind(user)
    .execute(db)
    .await?;
    Ok(open > 0 && own > 0)
}

/// Locks a device until the transaction ends. A concurrent revocation waits, or came first. Transactions that concern a
/// device and an approval lock the device first.
pub(crate) async fn lock_device(
    db: &mut crate::engine::sql::Connection,
    id: DeviceId,
) -> Result<()> {
    sql::query("UPDATE devices SET name = name WHERE id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(())
}

/// Locks the device that gave an approval, if there is one.
pub(crate) async fn lock_approver(
    db: &mut crate::engine::sql::Connection,
    approval: ApprovalId,
) -> Result<()> {
    sql::query(
        "UPDATE devices SET name = name WHERE id = (SELECT device_id FROM approvals WHERE approvals.id = $1)",
    )
    .bind(approval.to_string())
    .execute(db)
    .await?;
    Ok(())
}
