//! Groups and assignments, for the lists and the counts of effective access.

use assent::domain::Services;
use assent_model::entropy::SystemEntropy;
use assent_model::group::{Assignee, Group};
use assent_model::id::{Did, GroupId};
use assent_model::user::User;
use assent_store::{AdminWrite, AdminWrites, MemberChange};
use assent_tests::harness::{Application, TestHost};

/// The number of applications of each kind: for the large group, and for everyone.
const APPLICATIONS: usize = 25;
/// One in this number of users is in the small group; every second one is in the large group.
const IN_SMALL: usize = 500;

/// The groups, and the applications that [`Groups::assign`] assigns.
pub struct Groups {
    large: GroupId,
    small: GroupId,
    applications: Vec<Application>,
}

/// The applications that are assigned.
pub struct Assigned {
    /// The application of the large group.
    pub large: Application,
    /// The application of the small group.
    pub small: Application,
    /// The application of everyone.
    pub everyone: Application,
    /// The large group.
    pub large_group: GroupId,
    /// The small group.
    pub small_group: GroupId,
}

impl Groups {
    pub async fn create(host: &TestHost) -> Self {
        let mut applications = Vec::new();
        for _ in 0..2 * APPLICATIONS + 1 {
            applications.push(host.web_application().await);
        }
        Self {
            large: group(&host.host, "Everybody else").await,
            small: group(&host.host, "A few").await,
            applications,
        }
    }

    /// Adds users with these numbers from `first` on.
    pub async fn add(&self, services: &Services, first: usize, users: &[User]) {
        for (group, one_in) in [(self.large, 2), (self.small, IN_SMALL)] {
            let members = users
                .iter()
                .enumerate()
                .filter(|(index, _)| (first + index).is_multiple_of(one_in));
            // The first change increments the versions of its members, which are among those of the second one.
            let changed = i64::from(one_in != 2);
            let added: Vec<_> = members
                .map(|(_, user)| (user.id, user.version + changed))
                .collect();
            let change = MemberChange {
                added,
                removed: Vec::new(),
            };
            write(services, AdminWrite::ChangeMembers(group, change)).await;
        }
    }

    /// Assigns applications to the groups and to everyone.
    pub async fn assign(self, services: &Services) -> Assigned {
        for (place, application) in self.applications.iter().enumerate() {
            let to = match place {
                0 => Assignee::Group(self.small),
                place if place.is_multiple_of(2) => Assignee::Everyone,
                _ => Assignee::Group(self.large),
            };
            let id: Did = application.id.parse().expect("an id");
            let roles = vec!["reader".to_owned()];
            write(services, AdminWrite::Assign(id, to, roles)).await;
        }
        let [small, large, everyone] = [0, 1, 2].map(|place| self.applications[place].clone());
        Assigned {
            large,
            small,
            everyone,
            large_group: self.large,
            small_group: self.small,
        }
    }
}

async fn group(services: &Services, name: &str) -> GroupId {
    let group = Group {
        id: GroupId::new(services.now(), &SystemEntropy),
        name: name.parse().expect("a name"),
        description: String::new(),
        version: 1,
        created_at: services.now(),
    };
    write(services, AdminWrite::InsertGroup(group.clone(), None)).await;
    group.id
}

async fn write(services: &Services, write: AdminWrite) {
    let plan = AdminWrites {
        writes: vec![(write, Vec::new())],
        ..AdminWrites::default()
    };
    services
        .store
        .execute(plan, services.now())
        .await
        .expect("written");
}
