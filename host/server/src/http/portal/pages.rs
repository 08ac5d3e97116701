//! The portal's pages: one struct for each page, as in [`crate::http::pages`].

use askama::Template;
use strum::VariantArray;

use super::activity_kind::ActivityKind;
use super::tone::Tone;
use super::words::{FactValue, PageTime};
use crate::http::layout::{Layout, Page};
use crate::http::pages::login::{Scan, time_left};
use crate::http::pages::{Consents, SignedInUser, Withdrawn};
use crate::http::script_texts;
use crate::messages::Message;

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
    OnPhonePage,
    RevokeDevicePage,
    RecoveryCodesPage,
    RecoveryCodesRequestPage,
    NewRecoveryCodesPage,
    SessionsPage,
    ConsentsPage,
    RequestsPage,
    ActivityPage,
    ProfilePage,
    VisibleClaimsPage
);

/// A part of the portal, in the order of its navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Tab {
    /// The start page.
    Applications,
    /// `/devices`
    Devices,
    /// `/sessions`
    Sessions,
    /// `/consents`
    Consents,
    /// `/requests`
    Requests,
    /// `/activity`
    Activity,
    /// `/profile`
    Profile,
}

impl Tab {
    /// The path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Applications => "/",
            Self::Devices => "/devices",
            Self::Sessions => "/sessions",
            Self::Consents => "/consents",
            Self::Requests => "/requests",
            Self::Activity => "/activity",
            Self::Profile => "/profile",
        }
    }

    /// The label.
    pub const fn label(self) -> Message {
        match self {
            Self::Applications => Message::new("portal-applications"),
            Self::Devices => Message::new("portal-devices"),
            Self::Sessions => Message::new("portal-sessions"),
            Self::Consents => Message::new("portal-consents"),
            Self::Requests => Message::new("portal-requests"),
            Self::Activity => Message::new("portal-activity"),
            Self::Profile => Message::new("portal-profile"),
        }
    }

    /// The path of the icon, in a square of 24 by 24.
    pub const fn icon(self) -> &'static str {
        match self {
            Self::Applications => "M4 4h7v7H4V4Zm9 0h7v7h-7V4ZM4 13h7v7H4v-7Zm9 0h7v7h-7v-7Z",
            Self::Devices => "M7 2h10v20H7V2Zm4 17h2",
            Self::Sessions => "M3 5h18v12H3V5Zm5 15h8m-4-3v3",
            Self::Consents => "M8 19a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.5-8.5L20 2m-4 4 3 3",
            Self::Requests => "M4 4h16v12H9l-5 4V4Zm5 6h.1m2.9 0h.1m2.9 0h.1",
            Self::Activity => "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-14v5l4 2",
            Self::Profile => "M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 10c0-4 4-7 8-7s8 3 8 7",
        }
    }
}

/// The frame of every page of the portal.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The signed-in user.
    pub user: Option<SignedInUser>,
    /// The current part.
    pub tab: Tab,
    /// The result of the last form.
    pub notice: Option<Message>,
}

impl Frame {
    /// The parts of the portal, and whether each is the current one.
    fn tabs(&self) -> impl Iterator<Item = (Tab, bool)> {
        Tab::VARIANTS.iter().map(|tab| (*tab, *tab == self.tab))
    }
}

/// A form. It has only its button, unless its comment names further fields.
#[derive(Clone, Debug)]
pub struct ButtonForm {
    /// The target of the form, with the field `csrf`.
    pub action: String,
    /// The CSRF token of the form.
    pub csrf: String,
}

/// The start page.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/applications.html")]
pub struct ApplicationsPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The user's name.
    pub name: String,
    /// Whether the user has a role in the console.
    pub administers: bool,
    /// The applications that the user may use.
    pub applications: Vec<ApplicationTile>,
    /// The security of the user's sign-in.
    pub security: SecurityCard,
}

impl ApplicationsPage {
    /// A user finds an application faster without a search if there are fewer.
    const SEARCHED: usize = 8;

    fn has_search(&self) -> bool {
        self.applications.len() >= Self::SEARCHED
    }
}

/// The security of the user's sign-in, with the next step for each part.
#[derive(Clone, Copy, Debug)]
pub struct SecurityCard {
    /// The number of the user's devices.
    pub devices: usize,
    /// The number of devices that require face, finger or PIN.
    pub locked: usize,
    /// The number of valid recovery codes.
    pub codes: u32,
}

/// One part of the security card.
#[derive(Clone, Debug)]
struct SecurityItem {
    label: Message,
    state: Message,
    is_sufficient: bool,
    step: Message,
    address: &'static str,
}

impl SecurityItem {
    const fn tone(&self) -> Tone {
        if self.is_sufficient {
            Tone::Good
        } else {
            Tone::Warn
        }
    }
}

/// The card recommends new codes if there are fewer.
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
                is_sufficient: devices > 1,
                step: if devices > 1 {
                    Message::new("security-devices-manage")
                } else {
                    Message::new("security-devices-add")
                },
                address: if devices > 1 {
                    "/devices"
                } else {
                    PhonePart::Add.page()
                },
            },
            SecurityItem {
                label: Message::new("security-codes"),
                state: match codes {
                    0 => Message::new("security-codes-none"),
                    _ => Message::new("security-codes-left").number("count", i64::from(codes)),
                },
                is_sufficient: codes >= FEW_CODES,
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
                is_sufficient: unlocked == 0 && devices > 0,
                step: if unlocked == 0 && devices > 0 {
                    Message::new("security-lock-manage")
                } else {
                    Message::new("security-lock-turn-on")
                },
                address: PhonePart::Protection.page(),
            },
        ]
    }
}

/// A part of the authenticator to which the portal leads, because it is possible only on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhonePart {
    /// The devices of the account, from which another one is set up.
    Add,
    /// The protection of approvals by face, finger or PIN.
    Protection,
}

impl PhonePart {
    /// The path of the portal's page about it.
    pub const fn page(self) -> &'static str {
        match self {
            Self::Add => "/devices/add",
            Self::Protection => "/devices/protection",
        }
    }

    /// Its address in the authenticator.
    pub const fn address(self) -> &'static str {
        match self {
            Self::Add => "/authenticator#devices",
            Self::Protection => "/authenticator#protection",
        }
    }
}

/// The page that leads to the authenticator on the user's phone, at a part of it.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/on_phone.html")]
pub struct OnPhonePage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The part of the authenticator.
    pub part: PhonePart,
    /// The code that opens it on the phone; `None` if the address is too long for a code.
    pub scan: Option<Scan>,
}

impl OnPhonePage {
    const fn title(&self) -> Message {
        match self.part {
            PhonePart::Add => Message::new("security-devices-add"),
            PhonePart::Protection => Message::new("security-lock"),
        }
    }

    const fn lead(&self) -> Message {
        match self.part {
            PhonePart::Add => Message::new("on-phone-add"),
            PhonePart::Protection => Message::new("on-phone-protection"),
        }
    }

    const fn path(&self) -> &'static str {
        self.part.address()
    }
}

/// An application that the user may use.
#[derive(Clone, Debug)]
pub struct ApplicationTile {
    /// The name of the application.
    pub name: String,
    /// The address of its logo, if it has one.
    pub logo: Option<String>,
    /// The initial that replaces a missing logo.
    pub initial: String,
    /// The way to the application.
    pub start: TileStart,
}

/// The way from the portal to an application.
#[derive(Clone, Debug)]
pub enum TileStart {
    /// A form.
    Form(ButtonForm),
    /// A link of this server.
    Link(String),
    /// A link to this origin of the application, if it is known. Otherwise the sign-in begins in the application.
    Elsewhere(Option<String>),
}

/// The page of the user's devices.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/devices.html")]
pub struct DevicesPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The devices.
    pub devices: Vec<DeviceCard>,
}

/// A device of the user.
#[derive(Clone, Debug)]
pub struct DeviceCard {
    /// The id of the device.
    pub id: String,
    /// The name of the device.
    pub name: String,
    /// When it was enrolled.
    pub added: PageTime,
    /// When it last decided a request.
    pub used: Option<PageTime>,
    /// Whether each approval requires face, finger or PIN.
    pub is_protected: bool,
    /// The form that renames the device, with the fields `csrf` and `name`.
    pub rename: ButtonForm,
    /// The form that stops the sign-in with its passkey, if there is one, with the field `csrf`.
    pub passkey_sign_in: Option<ButtonForm>,
    /// Whether the submitted name is not valid.
    pub unfit: bool,
    /// The address of the page that asks for a confirmation of the revocation.
    pub revoke: String,
}

/// The page that asks for a confirmation of a device's revocation.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/revoke_device.html")]
pub struct RevokeDevicePage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The name of the device.
    pub name: String,
    /// Whether it is the user's last device.
    pub last: bool,
    /// When the device created the valid recovery codes, if it did.
    pub codes: Option<PageTime>,
    /// The form that revokes the device.
    pub form: ButtonForm,
}

/// The page of the recovery codes.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/recovery_codes.html")]
pub struct RecoveryCodesPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The number of valid codes.
    pub left: u32,
    /// The reason why the last attempt failed.
    pub problem: Option<Message>,
    /// The form that requests an approval for new codes on the device.
    pub create: ButtonForm,
}

/// The page of a request for new recovery codes, which is pending or approved.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/recovery_codes_request.html")]
pub struct RecoveryCodesRequestPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The pending request; `None` after the approval.
    pub pending: Option<PendingRequest>,
    /// The address at which a script waits for the decision.
    pub decided: String,
    /// The form that creates and shows the codes.
    pub show: ButtonForm,
}

/// A request that is pending on the device.
#[derive(Clone, Debug)]
pub struct PendingRequest {
    /// The number to type on the device.
    pub number: String,
    /// The number of seconds until the request expires.
    pub seconds_left: u32,
    /// The total number of seconds from its creation until then.
    pub seconds_total: u32,
}

impl PendingRequest {
    /// The remaining time, without a script.
    fn left(&self) -> Message {
        time_left(self.seconds_left)
    }
}

impl RecoveryCodesRequestPage {
    /// The texts of the script about the remaining time, in the script's format.
    fn texts(&self) -> &'static str {
        script_texts::waiting_texts(self.layout.language)
    }
}

/// The page of new recovery codes, which the server shows only once.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/new_recovery_codes.html")]
pub struct NewRecoveryCodesPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The codes, in groups of characters.
    pub codes: Vec<String>,
    /// Whether there are valid codes that these replace.
    pub has_earlier: bool,
    /// The first line of the file in which a script saves them.
    pub file_title: String,
    /// The address at which the codes are used.
    pub recover: String,
    /// The form that confirms that the codes are saved.
    pub confirm: ButtonForm,
}

/// The page of the browsers in which the user is signed in.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/sessions.html")]
pub struct SessionsPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The sessions.
    pub sessions: Vec<SessionCard>,
    /// The form that signs out all other browsers, if there are any.
    pub end_others: Option<ButtonForm>,
    /// The form that signs out everywhere.
    pub end_all: ButtonForm,
}

/// A browser in which the user is signed in.
#[derive(Clone, Debug)]
pub struct SessionCard {
    /// The browser and operating system in plain words, if they are known.
    pub browser: Option<Message>,
    /// The location, if it is known.
    pub place: Option<Message>,
    /// Whether an application's request without a browser began it.
    pub without_browser: bool,
    /// Whether it is the browser that shows this page.
    pub here: bool,
    /// When the user signed in.
    pub begun: PageTime,
    /// When the session was last used.
    pub used: Option<PageTime>,
    /// When the session ends at the latest.
    pub ends: PageTime,
    /// The applications that the user used in it.
    pub applications: Vec<String>,
    /// The form that ends the session.
    pub end: ButtonForm,
}

/// The page of the user's consents.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/consents.html")]
pub struct ConsentsPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The consents.
    pub consents: Consents,
    /// The consent that the user has just withdrawn.
    pub withdrawn: Option<Withdrawn>,
}

/// The page of the applications that may ask the user without a browser, and of their requests.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/requests.html")]
pub struct RequestsPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The pause of all requests, if there is one.
    pub paused: Option<PausedRequests>,
    /// The applications that may ask the user.
    pub applications: Vec<RequesterCard>,
    /// The requests, the latest first.
    pub rows: Vec<RequestRow>,
    /// The address of the next page, if there is one.
    pub older: Option<String>,
    /// Whether it is the first page.
    pub first: bool,
}

/// The pause of all requests.
#[derive(Clone, Debug)]
pub struct PausedRequests {
    /// When it ends.
    pub until: PageTime,
    /// The form that ends it.
    pub lift: ButtonForm,
}

/// An application that may ask the user without a browser.
#[derive(Clone, Debug)]
pub struct RequesterCard {
    /// The name of the application.
    pub name: String,
    /// Since when the user stopped its requests.
    pub stopped_since: Option<PageTime>,
    /// Why its requests are paused, and until when.
    pub paused_until: Option<(Message, PageTime)>,
    /// The form that stops its requests, unless they are stopped.
    pub stop: Option<ButtonForm>,
    /// The form that permits its requests again, if they are stopped or paused.
    pub permit: Option<ButtonForm>,
}

/// What an application asked, and what became of it.
#[derive(Clone, Debug)]
pub struct RequestRow {
    /// The attention that the request needs.
    pub tone: Tone,
    /// The name of the application.
    pub application: String,
    /// The message that the device showed.
    pub message: Option<String>,
    /// What became of it.
    pub outcome: Message,
    /// The time of the request.
    pub when: PageTime,
    /// The time of the user's decision.
    pub decided: Option<PageTime>,
    /// The name of the device on which the user decided.
    pub device: Option<String>,
    /// The permissions that the application asked for.
    pub scopes: Vec<Message>,
}

/// The page of the user's recent activity.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/activity.html")]
pub struct ActivityPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The events, the latest first.
    pub rows: Vec<ActivityRow>,
    /// The address of the next page, if there is one.
    pub older: Option<String>,
    /// Whether it is the first page.
    pub first: bool,
    /// The kind of the rows.
    pub kind: ActivityKind,
}

impl ActivityPage {
    /// The kinds to choose from, and whether each is the current one.
    fn kinds(&self) -> impl Iterator<Item = (ActivityKind, bool)> {
        ActivityKind::ALL
            .into_iter()
            .map(|kind| (kind, kind == self.kind))
    }
}

/// An event.
#[derive(Clone, Debug)]
pub struct ActivityRow {
    /// The attention that the event needs.
    pub tone: Tone,
    /// The description of the event.
    pub what: Message,
    /// The time.
    pub when: PageTime,
    /// The actor, unless it is the user in a browser.
    pub by: Option<Message>,
    /// The location.
    pub place: Option<Message>,
    /// The browser.
    pub browser: Option<Message>,
    /// Whether an attacker may have caused it. The row then links to the user's security.
    pub is_access: bool,
    /// The description of the user's approval, if the page has it.
    pub approved: Option<Message>,
    /// The request that it answers, if the request adds details.
    pub request: Option<AnsweredRequest>,
}

/// A request, in the row of its answer.
#[derive(Clone, Debug)]
pub struct AnsweredRequest {
    /// The time of the request.
    pub when: PageTime,
    /// The location.
    pub place: Option<Message>,
    /// The browser.
    pub browser: Option<Message>,
}

/// The page of the stored data about the user.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/profile.html")]
pub struct ProfilePage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The data for the user.
    pub facts: Vec<Fact>,
    /// The data for programs only.
    pub technical: Vec<Fact>,
    /// For each application the address of the page with its claims, and its name.
    pub applications: Vec<(String, String)>,
}

/// A fact about the user.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The label.
    pub label: Message,
    /// The values, one for each line.
    pub values: Vec<FactValue>,
}

/// The page of the claims that an application receives about the user.
#[derive(Clone, Debug, Template)]
#[template(path = "portal/seen.html")]
pub struct VisibleClaimsPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The frame of the portal.
    pub frame: Frame,
    /// The application's name.
    pub application: String,
    /// Whether the application receives them only after the user's consent.
    pub after_consent: bool,
    /// The claims for the user.
    pub facts: Vec<Fact>,
    /// The claims for programs only.
    pub technical: Vec<Fact>,
    /// The reason why the application receives nothing.
    pub stopped: Option<VisibleClaimsStop>,
}

/// The reason why an application receives nothing.
#[derive(Clone, Debug)]
pub enum VisibleClaimsStop {
    /// The application does not admit the user, for this reason.
    Denied(String),
    /// The claims could not be computed.
    Failed,
}

#[cfg(test)]
pub(in crate::http) mod tests;
