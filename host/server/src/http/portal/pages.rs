//! The portal's pages: one struct a page, as in [`crate::http::pages`].

use askama::Template;

use super::activity_kind::ActivityKind;
use super::tone::Tone;
use super::words::{FactValue, PageTime};
use crate::http::pages::{Consents, Layout, Page, SignedInUser, Withdrawn};
use crate::http::texts::Message;

macro_rules! pages {
    ($($page:ident),* $(,)?) => {
        $(impl Page for $page {
            fn layout(&self) -> &Layout {
                &self.layout
            }
        })*
    };
}

pages!(
    ApplicationsPage,
    DevicesPage,
    RevokeDevicePage,
    RecoveryCodesPage,
    RecoveryCodesRequestPage,
    NewRecoveryCodesPage,
    SessionsPage,
    ConsentsPage,
    ActivityPage,
    ProfilePage,
    VisibleClaimsPage
);

/// A part of the portal, in the order of its navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// The start page.
    Applications,
    /// `/devices`
    Devices,
    /// `/sessions`
    Sessions,
    /// `/consents`
    Consents,
    /// `/activity`
    Activity,
    /// `/profile`
    Profile,
}

impl Tab {
    const ALL: [Self; 6] = [
        Self::Applications,
        Self::Devices,
        Self::Sessions,
        Self::Consents,
        Self::Activity,
        Self::Profile,
    ];

    /// Where it is.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Applications => "/",
            Self::Devices => "/devices",
            Self::Sessions => "/sessions",
            Self::Consents => "/consents",
            Self::Activity => "/activity",
            Self::Profile => "/profile",
        }
    }

    /// What it is called.
    pub const fn label(self) -> Message {
        match self {
            Self::Applications => Message::new("portal-applications"),
            Self::Devices => Message::new("portal-devices"),
            Self::Sessions => Message::new("portal-sessions"),
            Self::Consents => Message::new("portal-consents"),
            Self::Activity => Message::new("portal-activity"),
            Self::Profile => Message::new("portal-profile"),
        }
    }

    /// The path of its icon, in a square of 24 by 24.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Applications => "M4 4h7v7H4V4Zm9 0h7v7h-7V4ZM4 13h7v7H4v-7Zm9 0h7v7h-7v-7Z",
            Self::Devices => "M7 2h10v20H7V2Zm4 17h2",
            Self::Sessions => "M3 5h18v12H3V5Zm5 15h8m-4-3v3",
            Self::Consents => "M8 19a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.5-8.5L20 2m-4 4 3 3",
            Self::Activity => "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-14v5l4 2",
            Self::Profile => "M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 10c0-4 4-7 8-7s8 3 8 7",
        }
    }
}

/// What every page of the portal has beside the rest.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Whose portal it is.
    pub user: Option<SignedInUser>,
    /// The part that is shown.
    pub tab: Tab,
    /// What was done just now.
    pub told: Option<Message>,
}

impl Frame {
    /// The parts of the portal, and whether each is the one that is shown.
    fn tabs(&self) -> impl Iterator<Item = (Tab, bool)> {
        Tab::ALL.into_iter().map(|tab| (tab, tab == self.tab))
    }
}

/// A form, with nothing but its button where nothing else is said.
#[derive(Clone, Debug)]
pub struct ButtonForm {
    /// Where it is sent: `csrf`.
    pub action: String,
    /// The token that it carries.
    pub csrf: String,
}

/// The start page.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/applications.html")]
pub struct ApplicationsPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// The person's name.
    pub name: String,
    /// Whether they have a role in the console.
    pub administers: bool,
    /// What they may use.
    pub applications: Vec<ApplicationTile>,
    /// How safe their way in is.
    pub security: SecurityCard,
}

impl ApplicationsPage {
    /// With fewer applications the eye finds one faster than a search.
    const SEARCHED: usize = 8;

    fn has_search(&self) -> bool {
        self.applications.len() >= Self::SEARCHED
    }
}

/// How safe the person's way in is, with the next step of each part.
#[derive(Clone, Copy, Debug)]
pub struct SecurityCard {
    /// The number of their devices.
    pub devices: usize,
    /// How many of these have face, finger or PIN.
    pub locked: usize,
    /// The number of valid recovery codes.
    pub codes: u32,
}

/// One part of the security card.
#[derive(Clone, Debug)]
struct SecurityItem {
    label: Message,
    state: Message,
    is_good: bool,
    step: Message,
    address: &'static str,
}

impl SecurityItem {
    const fn tone(&self) -> Tone {
        if self.is_good { Tone::Good } else { Tone::Warn }
    }
}

/// With fewer codes the card advises new ones.
const FEW_CODES: u32 = 3;

impl SecurityCard {
    fn items(self) -> [SecurityItem; 3] {
        let Self {
            devices,
            locked,
            codes,
        } = self;
        let count = |devices: usize| i64::try_from(devices).unwrap_or(i64::MAX);
        let unlocked = devices.saturating_sub(locked);
        [
            SecurityItem {
                label: Message::new("security-devices"),
                state: match devices {
                    0 => Message::new("security-devices-none"),
                    1 => Message::new("security-devices-one"),
                    _ => Message::new("security-devices-several").number("count", count(devices)),
                },
                is_good: devices > 1,
                step: if devices > 1 {
                    Message::new("security-devices-manage")
                } else {
                    Message::new("security-devices-add")
                },
                address: if devices > 1 {
                    "/devices"
                } else {
                    "/devices#add"
                },
            },
            SecurityItem {
                label: Message::new("security-codes"),
                state: match codes {
                    0 => Message::new("security-codes-none"),
                    _ => Message::new("security-codes-left").number("count", i64::from(codes)),
                },
                is_good: codes >= FEW_CODES,
                step: match codes {
                    0 => Message::new("security-codes-create"),
                    _ => Message::new("security-codes-renew"),
                },
                address: "/devices/recovery-codes",
            },
            SecurityItem {
                label: Message::new("security-lock"),
                state: match unlocked {
                    0 if devices > 0 => Message::new("security-lock-on"),
                    _ if locked == 0 => Message::new("security-lock-off"),
                    _ => Message::new("security-lock-partly").number("count", count(unlocked)),
                },
                is_good: unlocked == 0 && devices > 0,
                step: if unlocked == 0 && devices > 0 {
                    Message::new("security-lock-manage")
                } else {
                    Message::new("security-lock-turn-on")
                },
                address: "/authenticator",
            },
        ]
    }
}

/// An application that the person may use.
#[derive(Clone, Debug)]
pub struct ApplicationTile {
    /// Its name.
    pub name: String,
    /// The address of its picture, where it has one.
    pub logo: Option<String>,
    /// What stands in the picture's place.
    pub initial: String,
    /// How they get there.
    pub start: TileStart,
}

/// How the person gets to an application from here.
#[derive(Clone, Debug)]
pub enum TileStart {
    /// By a form.
    Form(ButtonForm),
    /// By a link of this server's.
    Link(String),
    /// By a link to this origin of the application's, where it is known; else in the application itself.
    Elsewhere(Option<String>),
}

/// The person's devices.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/devices.html")]
pub struct DevicesPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// The devices.
    pub devices: Vec<DeviceCard>,
}

/// A device of the person's.
#[derive(Clone, Debug)]
pub struct DeviceCard {
    /// Its id.
    pub id: String,
    /// What they call it.
    pub name: String,
    /// When it was enrolled.
    pub added: PageTime,
    /// When it last decided a request.
    pub used: Option<PageTime>,
    /// Whether each approval needs face, finger or PIN.
    pub is_protected: bool,
    /// The form that takes another name: `csrf` and `name`.
    pub rename: ButtonForm,
    /// The form that stops its passkey from signing in, if it does: `csrf`.
    pub passkey_sign_in: Option<ButtonForm>,
    /// Whether the name that was sent can't be one.
    pub unfit: bool,
    /// Where the question is whether to revoke it.
    pub revoke: String,
}

/// Do you want to revoke this device?
#[derive(Clone, Debug, Template)]
#[template(path = "portal/revoke_device.html")]
pub struct RevokeDevicePage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// What the person calls it.
    pub name: String,
    /// Whether it is their last.
    pub last: bool,
    /// When the recovery codes were made that it made and that are good, if there are any.
    pub codes: Option<PageTime>,
    /// Revokes it.
    pub form: ButtonForm,
}

/// The recovery codes, and the way to new ones.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/recovery_codes.html")]
pub struct RecoveryCodesPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// How many codes are valid.
    pub left: u32,
    /// Why the last attempt failed.
    pub problem: Option<Message>,
    /// Asks the device for the approval of new codes.
    pub create: ButtonForm,
}

/// A request for new recovery codes, which waits for the device or is approved.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/recovery_codes_request.html")]
pub struct RecoveryCodesRequestPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// The request until the device has answered. `None` once it is approved.
    pub pending: Option<PendingRequest>,
    /// Where a script waits for the decision.
    pub decided: String,
    /// Creates and shows the codes.
    pub show: ButtonForm,
}

/// A request that waits for the device.
#[derive(Clone, Debug)]
pub struct PendingRequest {
    /// The number to type on the device.
    pub number: String,
    /// Until when it can be approved.
    pub expires: PageTime,
    /// The number of seconds until then.
    pub seconds_left: u64,
    /// The number of seconds from its start until then.
    pub seconds_total: u32,
}

/// New recovery codes, which are shown this once.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/new_recovery_codes.html")]
pub struct NewRecoveryCodesPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// The codes, in groups of characters.
    pub codes: Vec<String>,
    /// Whether there are valid codes that these replace.
    pub has_earlier: bool,
    /// The first line of the file in which a script saves them.
    pub file_title: String,
    /// Where they are used.
    pub recover: String,
    /// Confirms that they are saved.
    pub confirm: ButtonForm,
}

/// The browsers in which the person is signed in.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/sessions.html")]
pub struct SessionsPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// The sessions.
    pub sessions: Vec<SessionCard>,
    /// Signs out all others, where there are any.
    pub end_others: Option<ButtonForm>,
    /// Signs out everywhere.
    pub end_all: ButtonForm,
}

/// A browser in which the person is signed in.
#[derive(Clone, Debug)]
pub struct SessionCard {
    /// The browser and system in plain words, where they are known.
    pub browser: Option<Message>,
    /// Where it was, if that is known.
    pub place: Option<Message>,
    /// Whether it is the one that shows this page.
    pub here: bool,
    /// When the person signed in.
    pub begun: PageTime,
    /// When it was last of use.
    pub used: Option<PageTime>,
    /// The applications that were used in it.
    pub applications: Vec<String>,
    /// Signs it out.
    pub end: ButtonForm,
}

/// What the person let applications know.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/consents.html")]
pub struct ConsentsPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// What they let applications know.
    pub consents: Consents,
    /// The consent that they took back just now.
    pub withdrawn: Option<Withdrawn>,
}

/// What happened lately in the person's name.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/activity.html")]
pub struct ActivityPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// What activity_message, the latest first.
    pub rows: Vec<ActivityRow>,
    /// Where what was before is, if there is more.
    pub older: Option<String>,
    /// Whether it is the first page.
    pub first: bool,
    /// The kind of the rows.
    pub kind: ActivityKind,
}

impl ActivityPage {
    /// The kinds to choose from, and whether each is the one that is shown.
    fn kinds(&self) -> impl Iterator<Item = (ActivityKind, bool)> {
        ActivityKind::ALL
            .into_iter()
            .map(|kind| (kind, kind == self.kind))
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct ActivityRow {
    /// How much it asks for attention.
    pub tone: Tone,
    /// What it was.
    pub what: Message,
    /// When.
    pub when: PageTime,
    /// Who did it, if not the person in a browser.
    pub by: Option<Message>,
    /// Where.
    pub place: Option<Message>,
    /// In which browser.
    pub browser: Option<Message>,
    /// Whether a stranger may have done it: the row then leads to the user's security.
    pub is_access: bool,
    /// How the user approved it, if the page has the approval.
    pub approved: Option<Message>,
    /// The request that it answers, if that adds something.
    pub request: Option<AnsweredRequest>,
}

/// A request, in the row of its answer.
#[derive(Clone, Debug)]
pub struct AnsweredRequest {
    /// When it was made.
    pub when: PageTime,
    /// Where.
    pub place: Option<Message>,
    /// In which browser.
    pub browser: Option<Message>,
}

/// What is kept of the person.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/profile.html")]
pub struct ProfilePage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// What it is.
    pub facts: Vec<Fact>,
    /// What only programs read.
    pub technical: Vec<Fact>,
    /// For each application where the page is that says what it sees, and its name.
    pub applications: Vec<(String, String)>,
}

/// Something that is known of the person.
#[derive(Clone, Debug)]
pub struct Fact {
    /// What it is called.
    pub label: Message,
    /// What it is, one value a line.
    pub values: Vec<FactValue>,
}

/// What an application sees of the person.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/seen.html")]
pub struct VisibleClaimsPage {
    /// What every page has.
    pub layout: Layout,
    /// What every page of the portal has.
    pub frame: Frame,
    /// The application's name.
    pub application: String,
    /// Whether the person has yet to agree.
    pub after_consent: bool,
    /// What it sees.
    pub facts: Vec<Fact>,
    /// What it also receives, and only programs read.
    pub technical: Vec<Fact>,
    /// Why it sees nothing.
    pub stopped: Option<VisibleClaimsStop>,
}

/// Why an application sees nothing.
#[derive(Clone, Debug)]
pub enum VisibleClaimsStop {
    /// The person is not let in, for this reason.
    Denied(String),
    /// What makes it failed.
    Failed,
}

#[cfg(test)]
pub(in crate::http) mod tests;
