//! The import of members of a group from a table.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::members::{MOST_CHANGED, MemberPlan, without_members};
use super::queries::group;
use crate::domain::Services;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::groups::assignments::authorize;
use crate::domain::admin::import::RowProblem;
use crate::domain::admin::import_tables::serialize_digest;
use crate::domain::admin::{AdminError, ImportReport, ImportRow, Result, invalid};
use assent_model::caller::Caller;
use assent_model::id::{GroupId, UserId};
use assent_model::name::LoginName;
use assent_model::user::{LifecycleState, User};

/// The columns of a table of members. An import needs only the first one.
pub const MEMBER_COLUMNS: [&str; 3] = ["user", "email", "display_name"];

/// Returns a member as a row of a table, in the order of [`MEMBER_COLUMNS`].
pub fn member_cells(user: &User) -> Vec<String> {
    vec![
        user.name.to_string(),
        user.email
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        user.profile.name.clone().unwrap_or_default(),
    ]
}

assent_model::admin_command! {
    /// Adds the users of a table to a group.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct ImportMembers {
        /// The group.
        target group: GroupId,
        /// The rows. The serialized form identifies them by their digest, because there may be many.
        #[serde(serialize_with = "serialize_digest")]
        protected rows: Arc<[ImportRow]>,
        /// Whether the table is only checked.
        protected dry_run: bool,
    }
}

/// The users that a table names.
struct NamedUsers {
    by_login: HashMap<LoginName, User>,
    by_id: HashMap<UserId, User>,
}

impl NamedUsers {
    async fn read(services: &Services, rows: &[ImportRow]) -> Result<Self> {
        let user_cells = || rows.iter().filter_map(|row| row.filled("user"));
        let logins: Vec<LoginName> = user_cells().filter_map(|text| text.parse().ok()).collect();
        let ids: Vec<UserId> = user_cells().filter_map(|text| text.parse().ok()).collect();
        Ok(Self {
            by_login: services.store.users_by_logins(&logins).await?,
            by_id: services.store.users_by_ids(&ids).await?,
        })
    }

    fn find(&self, text: &str) -> Option<&User> {
        let by_id = text.parse().ok().and_then(|id: UserId| self.by_id.get(&id));
        let by_login = || {
            text.parse()
                .ok()
                .and_then(|name: LoginName| self.by_login.get(&name))
        };
        by_id.or_else(by_login)
    }

    /// Returns the user of a row, if the caller may manage that user.
    fn of_row(
        &self,
        caller: &Caller,
        row: &ImportRow,
    ) -> std::result::Result<std::result::Result<User, RowProblem>, AdminError> {
        let problem = |detail: &str| Ok(Err(RowProblem::in_column("user", detail)));
        let Some(text) = row.filled("user") else {
            return problem("expected a name, address or id");
        };
        let Some(user) = self.find(text) else {
            return problem("there is no such user");
        };
        if user.state == LifecycleState::Terminated {
            return problem("the user is terminated");
        }
        match caller.authorize_user_access(user) {
            Ok(_) => Ok(Ok(user.clone())),
            Err(denied) => RowProblem::try_from(AdminError::from(denied)).map(Err),
        }
    }
}

impl AdminCommand for ImportMembers {
    type Plan = (MemberPlan, ImportReport);
    type Outcome = ImportReport;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Self::Plan>> {
        let services = &context.services;
        let authorization = authorize(&context.caller)?;
        let group = group(services, self.group).await?;
        if self.rows.len() > MOST_CHANGED {
            return Err(invalid(
                "rows",
                "expected at most 5000 rows; import them in parts",
            ));
        }
        let named = NamedUsers::read(services, &self.rows).await?;
        let mut report = ImportReport {
            rows: self.rows.len() as u64,
            ..ImportReport::default()
        };
        let (mut users, mut seen) = (Vec::new(), HashSet::new());
        for row in &*self.rows {
            match named.of_row(&context.caller, row)? {
                Err(problem) => report.refuse(row.line, [problem]),
                Ok(user) if !seen.insert(user.id) => {
                    let problem =
                        RowProblem::in_column("user", "another row names the user already");
                    report.refuse(row.line, [problem]);
                }
                Ok(user) => users.push(user),
            }
        }
        let found = users.len();
        let mut plan = MemberPlan {
            added: without_members(services, group.id, users).await?,
            removed: Vec::new(),
            group,
        };
        report.created = plan.added.len() as u64;
        report.unchanged = (found - plan.added.len()) as u64;
        if report.rejected > 0 {
            report = report.nothing_done();
            plan.added.clear();
        }
        if self.dry_run || plan.is_empty() {
            plan.added.clear();
            return Ok(Planned::harmless(authorization, (plan, report)));
        }
        let action = plan.as_action()?;
        Ok(Planned::protected(authorization, (plan, report), action))
    }

    async fn execute(approved: ApprovedPlan<'_, Self::Plan>) -> Result<Execution<ImportReport>> {
        let ((plan, report), recorder) = approved.into_parts();
        Ok(plan.save(&recorder).await?.map(|_| report))
    }
}
