//! The pages of a sign-in.

use askama::Template;

use crate::http::layout::Layout;
use crate::http::script_texts;
use crate::messages::Message;

/// The login page: one field for the name, and no password.
#[derive(Clone, Debug, Template)]
#[template(path = "login.html")]
pub struct LoginPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the application.
    pub application: String,
    /// The address of the application's logo.
    pub logo: Option<String>,
    /// The target of the form with the fields `csrf` and `name`.
    pub action: String,
    /// The link for users without a device.
    pub recover: String,
    /// The target of the form that cancels the sign-in, with the field `csrf`.
    pub leave: String,
    /// The CSRF token of both forms.
    pub csrf: String,
    /// The initial value of the field: a login hint, or the previous input.
    pub name: String,
    /// The reason why the previous input is not a valid name.
    pub unfit: Option<Message>,
    /// Whether the browser remembers the name.
    pub remembered: bool,
    /// The user that the page offers, without a typed name.
    pub choice: Option<Choice>,
    /// The form for a passkey; `None` if the application does not permit passkeys.
    pub passkey: Option<PasskeyForm>,
    /// The code for a QR sign-in, instead of a typed name.
    pub scan: Option<Scan>,
    /// The state that the script of the page follows.
    pub follow: FollowedSignIn,
}

impl LoginPage {
    /// Whether the user is expected to continue as the offered user. A name that was just rejected comes first.
    const fn offers_choice(&self) -> bool {
        self.choice.is_some() && self.unfit.is_none()
    }
}

/// The state of a sign-in that a page's script follows. It reloads the page after a change.
#[derive(Clone, Debug)]
pub struct FollowedSignIn {
    /// The address of the stream of events.
    pub events: String,
    /// The address that returns the state, for browsers in which the stream is blocked or held back.
    pub ask: String,
    /// The state of the page.
    pub state: String,
}

/// The form that a script fills with the response of a passkey. Without the script it is hidden.
#[derive(Clone, Debug)]
pub struct PasskeyForm {
    /// The target of the form, with the fields `csrf` and `assertion`.
    pub action: String,
    /// The address of the challenge.
    pub challenge: String,
    /// Whether the server rejected the last response.
    pub failed: bool,
}

/// A QR code that the authenticator scans.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The path in the code, for the authenticator in the same browser.
    pub path: String,
    /// The image, as a `data:` URL.
    pub picture: String,
}

impl Scan {
    /// Returns the code of a path of this origin; `None` if the address is too long for a code.
    pub fn new(origin: &str, path: String) -> Option<Self> {
        let link = format!("{origin}{path}");
        let code = qrcode::QrCode::with_error_correction_level(link, qrcode::EcLevel::L).ok()?;
        let width = code.width();
        // One line for each run of dark squares takes a fifth of the space of a path around each square.
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
        // Scanners need a quiet zone of four squares (ISO/IEC 18004 section 6.3.8), and dark squares on a light ground.
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

/// A user that the page offers for the continuation.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The user's name.
    pub name: String,
    /// The target of the form with the fields `csrf` and `user`.
    pub action: String,
    /// The token that binds the form to the offered user.
    pub user_token: String,
    /// Whether the session began in another tab since the form with the name was shown.
    pub is_recent: bool,
}

/// A link of the consent page to a page of the application. It opens in a new tab without access to this one, and the
/// page shows the host beside it.
#[derive(Clone, Debug)]
pub struct InformationLink {
    /// The text.
    pub text: Message,
    /// The address.
    pub address: String,
    /// The host to which the link leads.
    pub host: String,
}

/// The consent page.
#[derive(Clone, Debug, Template)]
#[template(path = "consent.html")]
pub struct ConsentPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the application.
    pub application: String,
    /// The address of the application's logo.
    pub logo: Option<String>,
    /// The initial that replaces a missing logo.
    pub initial: String,
    /// The host that the user returns to. `None` for a native application's own scheme.
    pub host: Option<String>,
    /// The user's name.
    pub name: String,
    /// The requested permissions, with the values that the application receives, except offline access.
    pub scopes: Vec<Message>,
    /// The texts of the authorization details that the user permits, in the language of the page.
    pub details: Vec<String>,
    /// The application's own pages for users.
    pub links: Vec<InformationLink>,
    /// The contacts of the application.
    pub contacts: Vec<String>,
    /// The target of the form with the fields `csrf`, `user` and `decision`, which is `allow` or `deny`.
    pub action: String,
    /// The target of the form with which another user signs in, with the field `csrf`.
    pub again: String,
    /// The CSRF token of both forms.
    pub csrf: String,
    /// The token that binds the form to the user.
    pub user_token: String,
    /// Whether the application requests offline access, for which consent is necessary each time.
    pub offline: bool,
    /// The number of days for which the consent is stored.
    pub days: u32,
    /// Whether the sign-in is an administrator's test, which stores no consent.
    pub is_test_sign_in: bool,
    /// Whether the page only asks the user to continue in a native application, because consent is not necessary.
    pub continues: bool,
}

/// The waiting page, with the number to type on the device. Without a script it reloads itself every three seconds.
#[derive(Clone, Debug, Template)]
#[template(path = "waiting.html")]
pub struct WaitingPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the application.
    pub application: String,
    /// The address of the application's logo.
    pub logo: Option<String>,
    /// The name that the user typed; `None` in a QR sign-in, because the page need not know the user.
    pub name: Option<String>,
    /// The two digits of the matching number.
    pub number: String,
    /// Whether a vendor's authenticator may have the request. It needs no number.
    pub delegated: bool,
    /// The letters that a vendor's authenticator shows as well; `None` if no such authenticator may have the request.
    pub binding: Option<String>,
    /// The time that is left for the approval, in seconds.
    pub seconds_left: u32,
    /// The total time for the approval, in seconds.
    pub seconds_total: u32,
    /// The state that the script of the page follows.
    pub follow: FollowedSignIn,
    /// The code that the user may scan instead of typing the number; `None` in a QR sign-in.
    pub scan: Option<Scan>,
    /// Whether the page shows the help for users who wait for long. It depends only on the time, never on the name.
    pub is_late: bool,
    /// The target of the form that starts again, with the field `csrf`.
    pub again: String,
    /// The link for users without a device.
    pub recover: String,
    /// The target of the form that cancels, with the field `csrf`.
    pub cancel: String,
    /// The CSRF token of the forms.
    pub csrf: String,
}

impl WaitingPage {
    /// The texts of the script about the remaining time, in the script's format.
    fn texts(&self) -> &'static str {
        script_texts::waiting_texts(self.layout.language)
    }

    /// The remaining time, without a script.
    fn left(&self) -> Message {
        time_left(self.seconds_left)
    }
}

/// The remaining time in words: the same words as in the scripts of pages and in the authenticator.
pub(crate) fn time_left(seconds: u32) -> Message {
    let (minutes, rest) = (seconds / 60, seconds % 60);
    match (minutes, rest) {
        (0, _) => Message::new("waiting-left").number("seconds", rest),
        (_, 0) => Message::new("waiting-left-whole").number("minutes", minutes),
        _ => Message::new("waiting-left-minutes")
            .number("minutes", minutes)
            .number("seconds", rest),
    }
}

/// The page that names the account after the approval of a QR sign-in, before the browser is signed in.
#[derive(Clone, Debug, Template)]
#[template(path = "confirm.html")]
pub struct ConfirmPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the application.
    pub application: String,
    /// The user's display name.
    pub name: String,
    /// The user's account name.
    pub account: String,
    /// The target of the form that continues, with the fields `csrf` and `user`.
    pub action: String,
    /// The target of the form that starts again, with the field `csrf`.
    pub again: String,
    /// The CSRF token of the forms.
    pub csrf: String,
    /// The token that binds the page to the user.
    pub user_token: String,
}

/// The reason why a sign-in ended without success.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum EndedPageKind {
    /// The user denied it on the device.
    Denied,
    /// It expired without an approval. A sign-in with an unknown name ends in the same way.
    Expired,
    /// The user cancelled it in this browser.
    Cancelled,
    /// A newer sign-in with the same name in this browser replaced it.
    Replaced,
    /// Another sign-in with the same name started in another browser, and the user could not have distinguished them.
    Conflict,
    /// The user entered a wrong number too often.
    NumberMismatch,
    /// The server rejects it for this reason. A retry cannot help.
    Rejected(Message),
}

/// The page of a sign-in that ended without success, with instructions.
#[derive(Clone, Debug, Template)]
#[template(path = "ended.html")]
pub struct EndedPage {
    /// The layout of the page.
    pub layout: Layout,
    /// The name of the application.
    pub application: String,
    /// The reason of the end.
    pub ended: EndedPageKind,
    /// The name that the user typed, or the display name of a user who approved and is rejected.
    pub name: Option<String>,
    /// The reference by which an operator finds a rejection in the log.
    pub reference: Option<String>,
    /// The link for users without a device.
    pub recover: String,
    /// The target of the form that starts again, with the field `csrf`.
    pub again: String,
    /// The target of the form that returns to the application, with the field `csrf`. A disabled application has none.
    pub leave: Option<String>,
    /// The page's automatic return to the application, if it has one.
    pub returns: Option<ReturnNotice>,
    /// The CSRF token of both forms.
    pub csrf: String,
}

/// A page's automatic return to the application.
#[derive(Clone, Debug)]
pub struct ReturnNotice {
    /// The address that sends the error to the application.
    pub address: String,
    /// The delay, in seconds.
    pub seconds: u32,
    /// The address of the same page without the automatic return.
    pub stay: String,
}

impl EndedPage {
    /// The result in one word, for tests and assistive scripts.
    fn outcome(&self) -> &'static str {
        (&self.ended).into()
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

    /// Whether a retry cannot help, so that the way back comes first.
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
