//! The pages of a sign-in.

use askama::Template;

use crate::http::layout::Layout;
use crate::http::script_texts;
use crate::http::texts::Message;

/// Who are you? One field, no password.
#[derive(Clone, Debug, Template)]
#[template(path = "login.html")]
pub struct LoginPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
    /// The address of its logo.
    pub logo: Option<String>,
    /// Where the form is sent: `csrf` and `name`.
    pub action: String,
    /// Where somebody without a device signs in.
    pub recover: String,
    /// Where the form that gives up is sent: `csrf`.
    pub leave: String,
    /// The token that both forms carry.
    pub csrf: String,
    /// What is in the field already: a login hint, or what was typed before.
    pub name: String,
    /// Whether what was typed can't be a name.
    pub unfit: bool,
    /// Whether the browser is to remember the name.
    pub remembered: bool,
    /// Whom the person may go on as without typing anything.
    pub choice: Option<Choice>,
    /// How a passkey signs in; `None` where the application does not permit it.
    pub passkey: Option<PasskeyForm>,
    /// What the authenticator may scan in place of a name that is typed.
    pub scan: Option<Scan>,
    /// The address of the event stream; its event `changed` says that the page is to be loaded again.
    pub events: String,
}

impl LoginPage {
    /// Whether the user is expected to continue as the offered user. A name that was just rejected comes first.
    const fn offers_choice(&self) -> bool {
        self.choice.is_some() && !self.unfit
    }
}

/// The form that a script fills in with the answer of a passkey. Without the script it is hidden.
#[derive(Clone, Debug)]
pub struct PasskeyForm {
    /// Where it is sent: `csrf` and `assertion`.
    pub action: String,
    /// Where the script gets the challenge.
    pub challenge: String,
    /// Whether the last answer was rejected.
    pub failed: bool,
}

/// A code that the authenticator scans.
#[derive(Clone, Debug)]
pub struct Scan {
    /// What the code leads to: for the authenticator in this very browser.
    pub path: String,
    /// The picture of it, as a `data:` URL.
    pub picture: String,
}

impl Scan {
    /// The code of a path of this origin; nothing where they are too long for one.
    pub fn new(origin: &str, path: String) -> Option<Self> {
        let link = format!("{origin}{path}");
        let code = qrcode::QrCode::with_error_correction_level(link, qrcode::EcLevel::L).ok()?;
        let width = code.width();
        // A line for each run of dark squares: a fifth of what a path around each square takes.
        let mut lines = String::new();
        for (y, row) in code.to_colors().chunks(width).enumerate() {
            let mut x = 0;
            for run in row.chunk_by(PartialEq::eq) {
                if run.first() == Some(&qrcode::Color::Dark) {
                    lines.push_str(&format!("M{x} {y}h{}", run.len()));
                }
                x += run.len();
            }
        }
        // Four squares of margin (ISO/IEC 18004 section 6.3.8), always dark on white: scanners want that.
        let side = width + 8;
        let picture = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='-4 -4.5 {side} {side}'>\
             <path fill='%23fff' d='M-4-4.5h{side}v{side}h-{side}z'/><path stroke='%23000' d='{lines}'/></svg>"
        );
        Some(Self {
            path,
            picture: format!("data:image/svg+xml,{picture}"),
        })
    }
}

/// Somebody whom the person may go on as.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The person's name.
    pub name: String,
    /// Where the form is sent: `csrf` and `user`.
    pub action: String,
    /// The token that shows who was offered.
    pub user_token: String,
}

/// May the application have what it asks for?
#[derive(Clone, Debug, Template)]
#[template(path = "consent.html")]
pub struct ConsentPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
    /// The address of its logo.
    pub logo: Option<String>,
    /// What stands in the logo's place.
    pub initial: String,
    /// The host that the user returns to. `None` for a native application's own scheme.
    pub host: Option<String>,
    /// The person's name.
    pub name: String,
    /// What the application wants to do, with the values that it receives, but for access while the person is away.
    pub scopes: Vec<Message>,
    /// Where the form is sent: `csrf`, `user` and `decision`, which is `allow` or `deny`.
    pub action: String,
    /// Where the form is sent with which somebody else signs in: `csrf`.
    pub again: String,
    /// The token that both forms carry.
    pub csrf: String,
    /// The token that shows who was asked.
    pub user_token: String,
    /// Whether it wants to keep access while the person is away, for which it has to ask each time.
    pub offline: bool,
    /// For how long the answer is remembered.
    pub days: u32,
}

/// The number to type on the phone. With no script it loads itself again every three seconds.
#[derive(Clone, Debug, Template)]
#[template(path = "waiting.html")]
pub struct WaitingPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
    /// The address of its logo.
    pub logo: Option<String>,
    /// What the person typed as their name; `None` where a phone said who signs in, since the page need not know.
    pub name: Option<String>,
    /// The two digits to type.
    pub number: String,
    /// Whether a vendor's authenticator may be asked, which needs no number.
    pub delegated: bool,
    /// The letters that a vendor's authenticator shows as well; `None` where no such authenticator may be asked.
    pub binding: Option<String>,
    /// How long the approval may still take, in seconds.
    pub seconds_left: u32,
    /// How long it may take in all, in seconds.
    pub seconds_total: u32,
    /// The address of the event stream; its event `changed` says that the page is to be loaded again.
    pub events: String,
    /// The code to scan instead of typing the number; `None` where a scan began it.
    pub scan: Option<Scan>,
    /// Whether the user has waited so long that the help is shown. It depends on the time only, never on the name.
    pub is_late: bool,
    /// Where the form that starts again is sent: `csrf`.
    pub again: String,
    /// Where somebody without a device signs in.
    pub recover: String,
    /// Where the form that cancels is sent: `csrf`.
    pub cancel: String,
    /// The token that the forms carry.
    pub csrf: String,
}

impl WaitingPage {
    /// What the script says of the time that is left, as it takes it.
    fn texts(&self) -> &'static str {
        script_texts::waiting(self.layout.language)
    }
}

/// Names the account before the browser is signed in, after a QR sign-in was approved.
#[derive(Clone, Debug, Template)]
#[template(path = "confirm.html")]
pub struct ConfirmPage {
    /// The layout of every page.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
    /// The user's display name.
    pub name: String,
    /// The user's account name.
    pub account: String,
    /// Where the form that continues is sent: `csrf`, `user`.
    pub action: String,
    /// Where the form that starts again is sent: `csrf`.
    pub again: String,
    /// The token that the forms carry.
    pub csrf: String,
    /// The token that binds the page to its user.
    pub user_token: String,
}

/// Why a sign-in ended without success.
#[derive(Clone, Debug, PartialEq)]
pub enum EndedPageKind {
    /// It was denied on the phone.
    Denied,
    /// No approval came in time; also what an unknown name ends in.
    Expired,
    /// It was cancelled in this browser.
    Cancelled,
    /// A newer sign-in with the same name, in this browser, took its place.
    Replaced,
    /// Another sign-in with the same name started in another browser, and the user could not have distinguished them.
    Conflict,
    /// The number was wrong too often.
    NumberMismatch,
    /// It may not go on, for this reason. Another attempt cannot help.
    Rejected(Message),
}

/// A sign-in that ended without success, and what to do.
#[derive(Clone, Debug, Template)]
#[template(path = "ended.html")]
pub struct EndedPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
    /// Why it ended.
    pub ended: EndedPageKind,
    /// The name that was typed; of a user who approved and is rejected, the display name.
    pub name: Option<String>,
    /// What finds a rejection in the log.
    pub reference: Option<String>,
    /// Where somebody without a device signs in.
    pub recover: String,
    /// Where the form that tries again is sent: `csrf`.
    pub again: String,
    /// Where the form that goes back to the application is sent: `csrf`. A disabled one has none.
    pub leave: Option<String>,
    /// The page's automatic return to the application, if it has one.
    pub returns: Option<ReturnNotice>,
    /// The token that both forms carry.
    pub csrf: String,
}

/// A page's automatic return to the application.
#[derive(Clone, Debug)]
pub struct ReturnNotice {
    /// The address that answers the application, with the error.
    pub address: String,
    /// After how many seconds.
    pub seconds: u32,
    /// The address of the same page that stays.
    pub stay: String,
}

impl EndedPage {
    /// For tests and assistive scripts: how it ended, in a word.
    fn outcome(&self) -> &'static str {
        match self.ended {
            EndedPageKind::Denied => "denied",
            EndedPageKind::Expired => "expired",
            EndedPageKind::Cancelled => "cancelled",
            EndedPageKind::Replaced => "replaced",
            EndedPageKind::Conflict => "conflict",
            EndedPageKind::NumberMismatch => "number-mismatch",
            EndedPageKind::Rejected(_) => "rejected",
        }
    }

    fn heading(&self) -> Message {
        match self.ended {
            EndedPageKind::Denied => Message::new("ended-denied"),
            EndedPageKind::Expired => Message::new("ended-expired"),
            EndedPageKind::Cancelled => Message::new("ended-cancelled"),
            EndedPageKind::Replaced => Message::new("ended-replaced"),
            EndedPageKind::Conflict => Message::new("ended-conflict"),
            EndedPageKind::NumberMismatch => Message::new("ended-number-mismatch"),
            EndedPageKind::Rejected(_) => Message::new("ended-rejected"),
        }
    }

    fn happened(&self) -> Message {
        match &self.ended {
            EndedPageKind::Denied => Message::new("ended-denied-happened"),
            EndedPageKind::Expired => Message::new("ended-expired-happened"),
            EndedPageKind::Cancelled => Message::new("ended-cancelled-happened"),
            EndedPageKind::Replaced => Message::new("ended-replaced-happened"),
            EndedPageKind::Conflict => Message::new("ended-conflict-happened"),
            EndedPageKind::NumberMismatch => Message::new("ended-number-mismatch-happened"),
            EndedPageKind::Rejected(reason) => reason.clone(),
        }
    }

    /// Whether another attempt cannot help, so that the way back stands first.
    const fn is_rejected(&self) -> bool {
        matches!(self.ended, EndedPageKind::Rejected(_))
    }

    fn advice(&self) -> Message {
        match self.ended {
            EndedPageKind::Denied => Message::new("ended-denied-advice"),
            EndedPageKind::Expired => match &self.name {
                Some(name) => Message::new("ended-expired-advice").text("name", name),
                None => Message::new("ended-expired-advice-unnamed"),
            },
            EndedPageKind::Cancelled => Message::new("ended-cancelled-advice"),
            EndedPageKind::Replaced => Message::new("ended-replaced-advice"),
            EndedPageKind::Conflict => Message::new("ended-conflict-advice"),
            EndedPageKind::NumberMismatch => Message::new("ended-number-mismatch-advice"),
            EndedPageKind::Rejected(_) => Message::new("ended-rejected-advice"),
        }
    }
}
