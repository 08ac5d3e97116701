//! The pages: one struct a page, filled by a handler and rendered by its template in `templates/`.
//!
//! But for those that post a SAML message the pages hold no inline script, and none an inline style, and ask nothing of another host. The header they are made for:
//!
//! ```text
//! Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;
//!     connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action <set by each handler>;
//!     frame-ancestors 'none'; base-uri 'none'
//! ```
//!
//! `form-action` is `'self'` and, where a form's answer redirects to an application, that application's scheme too; on the
//! page whose form goes to an application, it is that scheme alone. Browsers hold redirects against it as well.
//! `data:` images are the enrolment's QR code. A page says nothing about whether an account exists.

use askama::Template;

pub use super::layout::{Layout, Page, Support};
use super::script_texts;
use super::texts::Message;

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
    LoginPage,
    RecoverPage,
    RecoveredPage,
    ConfirmPage,
    ConsentPage,
    FormPostPage,
    SamlPostPage,
    SamlStartPage,
    WaitingPage,
    EndedPage,
    ErrorPage,
    SignOutPage,
    SignedOutPage,
    TestSignInPage,
    SamlLogoutPage,
    SamlLogoutAnsweredPage,
    HomePage,
    ConsolePage,
    AuthenticatorApp,
);

/// Who are you? One field, no password.
#[derive(Clone, Debug, Template)]
#[template(path = "login.html")]
pub struct LoginPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
    /// Where the form is sent: `csrf` and `name`.
    pub action: String,
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
    /// What the authenticator may scan in place of a name that is typed.
    pub scan: Option<Scan>,
    /// The address of the event stream; its event `changed` says that the page is to be loaded again.
    pub events: String,
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
    /// Where the form is sent: `csrf` and `person`.
    pub action: String,
    /// The token that shows who was offered.
    pub person: String,
}

/// May the application have what it asks for?
#[derive(Clone, Debug, Template)]
#[template(path = "consent.html")]
pub struct ConsentPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
    /// The person's name.
    pub name: String,
    /// What the application wants to do.
    pub scopes: Vec<Message>,
    /// Where the form is sent: `csrf`, `person` and `decision`, which is `allow` or `deny`.
    pub action: String,
    /// Where the form is sent with which somebody else signs in: `csrf`.
    pub again: String,
    /// The token that both forms carry.
    pub csrf: String,
    /// The token that shows who was asked.
    pub person: String,
    /// Whether it wants to keep access while the person is away, for which it has to ask each time.
    pub offline: bool,
    /// For how long the answer is remembered.
    pub days: u32,
}

/// An answer that the browser posts to the application: by script, or when the person presses the button.
#[derive(Clone, Debug, Template)]
#[template(path = "form_post.html")]
pub struct FormPostPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that is answered, unless it is gone.
    pub application: Option<String>,
    /// The application's redirect URI.
    pub action: String,
    /// The fields, by name and value.
    pub fields: Vec<(&'static str, String)>,
}

/// A SAML message on its way to a service provider: a form that posts itself, by the one script that the page's own policy
/// allows.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_post.html")]
pub struct SamlPostPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the service provider.
    pub application: String,
    /// Its address.
    pub action: String,
    /// The fields, by name and value.
    pub fields: Vec<(&'static str, String)>,
    /// What tells the page's script from others (Content Security Policy Level 3 section 2.3.1).
    pub nonce: String,
}

/// The question whether to sign in to a service provider, where a sign-on begins at this host.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_start.html")]
pub struct SamlStartPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the service provider.
    pub application: String,
    /// Where the form is sent: `csrf` and, if there is one, `RelayState`.
    pub action: String,
    /// The token that it carries.
    pub csrf: String,
    /// What the link chose of the registered ones.
    pub relay_state: Option<String>,
}

/// The number to type on the phone. With no script it loads itself again every three seconds.
#[derive(Clone, Debug, Template)]
#[template(path = "waiting.html")]
pub struct WaitingPage {
    /// What every page has.
    pub layout: Layout,
    /// The name of the application that asks.
    pub application: String,
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
    /// Where the form that cancels is sent: `csrf`.
    pub cancel: String,
    /// The token that the form carries.
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
    /// Where the form that continues is sent: `csrf`, `person`.
    pub action: String,
    /// Where the form that starts again is sent: `csrf`.
    pub again: String,
    /// The token that the forms carry.
    pub csrf: String,
    /// The token that binds the page to its user.
    pub person: String,
}

/// A name and a recovery code, for whoever has no authenticator any more.
#[derive(Clone, Debug, Template)]
#[template(path = "recover.html")]
pub struct RecoverPage {
    /// What every page has.
    pub layout: Layout,
    /// Where the form is sent: `csrf`, `name`, `code`.
    pub action: String,
    /// The token that the form carries.
    pub csrf: String,
    /// What the name field holds already.
    pub name: String,
    /// Whether a name and code were refused.
    pub refused: bool,
}

/// The code was good: the way on to enrol an authenticator.
#[derive(Clone, Debug, Template)]
#[template(path = "recovered.html")]
pub struct RecoveredPage {
    /// What every page has.
    pub layout: Layout,
    /// The path of the enrolment link.
    pub link: String,
}

/// Why a sign-in ended without success.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
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
    /// It may not go on, for this reason.
    Refused(Message),
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
    pub ended: Ended,
    /// Where the form that tries again is sent (`csrf`), if that may help.
    pub again: Option<String>,
    /// Where the form that goes back to the application is sent (`csrf`), if it waits for an answer.
    pub leave: Option<String>,
    /// The page's automatic return to the application, if it has one.
    pub returns: Option<Returning>,
    /// The token that both forms carry.
    pub csrf: String,
}

/// A page's automatic return to the application.
#[derive(Clone, Debug)]
pub struct Returning {
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
            Ended::Denied => "denied",
            Ended::Expired => "expired",
            Ended::Cancelled => "cancelled",
            Ended::Replaced => "replaced",
            Ended::Conflict => "conflict",
            Ended::Refused(_) => "refused",
        }
    }

    fn heading(&self) -> Message {
        match self.ended {
            Ended::Denied => Message::of("ended-denied"),
            Ended::Expired => Message::of("ended-expired"),
            Ended::Cancelled => Message::of("ended-cancelled"),
            Ended::Replaced => Message::of("ended-replaced"),
            Ended::Conflict => Message::of("ended-conflict"),
            Ended::Refused(_) => Message::of("ended-refused"),
        }
    }

    fn happened(&self) -> Message {
        match &self.ended {
            Ended::Denied => Message::of("ended-denied-happened"),
            Ended::Expired => Message::of("ended-expired-happened"),
            Ended::Cancelled => Message::of("ended-cancelled-happened"),
            Ended::Replaced => Message::of("ended-replaced-happened"),
            Ended::Conflict => Message::of("ended-conflict-happened"),
            Ended::Refused(reason) => reason.clone(),
        }
    }

    fn advice(&self) -> Message {
        match self.ended {
            Ended::Denied => Message::of("ended-denied-advice"),
            Ended::Expired => Message::of("ended-expired-advice"),
            Ended::Cancelled => Message::of("ended-cancelled-advice"),
            Ended::Replaced => Message::of("ended-replaced-advice"),
            Ended::Conflict => Message::of("ended-conflict-advice"),
            Ended::Refused(_) => Message::of("ended-refused-advice"),
        }
    }
}

/// A request that could not be served.
#[derive(Clone, Debug, Template)]
#[template(path = "error.html")]
pub struct ErrorPage {
    /// What every page has.
    pub layout: Layout,
    /// What it is, in a few words.
    pub title: Message,
    /// What happened, in whole sentences.
    pub what_happened: Message,
    /// What the person can do, in whole sentences.
    pub what_to_do: Message,
    /// What finds this request in the log.
    pub reference: String,
    /// Where the person can go on.
    pub next: Option<Link>,
}

/// A link on a page.
#[derive(Clone, Debug)]
pub struct Link {
    /// Where it leads.
    pub address: String,
    /// What it says.
    pub text: Message,
}

impl Link {
    /// To the start page.
    pub fn to_start() -> Self {
        Self {
            address: "/".to_owned(),
            text: Message::of("start-page"),
        }
    }
}

/// Do you want to sign out?
#[derive(Clone, Debug, Template)]
#[template(path = "sign_out.html")]
pub struct SignOutPage {
    /// What every page has.
    pub layout: Layout,
    /// The person's name.
    pub name: String,
    /// The name of the application that asks, where it could show that it does.
    pub application: Option<String>,
    /// The name of the application to which the browser returns, where nothing shows that it asks.
    pub returns_to: Option<String>,
    /// Where the form is sent: `csrf`, `request` and `answer`, which is `yes` or `no`.
    pub action: String,
    /// The application's request, which the form carries.
    pub request: String,
    /// The token that the form carries.
    pub csrf: String,
}

/// You are signed out.
#[derive(Clone, Debug, Template)]
#[template(path = "signed_out.html")]
pub struct SignedOutPage {
    /// What every page has.
    pub layout: Layout,
    /// Whether that came of removing the device that had signed this browser in.
    pub by_device: bool,
    /// The names of SAML applications that could not be told.
    pub untold: Vec<String>,
    /// Whether there are others, which this browser may not learn.
    pub others: bool,
}

/// The answer of a test sign-in was taken up.
#[derive(Clone, Debug, Template)]
#[template(path = "test_sign_in.html")]
pub struct TestSignInPage {
    /// What every page has.
    pub layout: Layout,
    /// Whether the application would have signed the person in.
    pub done: bool,
}

/// A SAML application is told of a logout, in a frame. The page loads itself again when its time is over.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_logout.html")]
pub struct SamlLogoutPage {
    /// What every page has.
    pub layout: Layout,
    /// Who is told.
    pub application: String,
    /// What the frame holds.
    pub frame: String,
    /// Its turn, from 1 on.
    pub turn: u32,
    /// How many turns there are.
    pub of: u32,
    /// After how many seconds the page loads itself again.
    pub seconds: u32,
}

/// What the frame holds at the end, which the page around it sees. By itself, where an application has left its frame, it
/// goes on by its own script.
#[derive(Clone, Debug, Template)]
#[template(path = "saml_logout_answered.html")]
pub struct SamlLogoutAnsweredPage {
    /// What every page has.
    pub layout: Layout,
    /// The page around it, a path of our own.
    pub next: String,
    /// What tells the page's script from others.
    pub nonce: String,
}

/// The person whose browser this is.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The person's name.
    pub name: String,
    /// Where the form that signs out is sent: `csrf`.
    pub sign_out: String,
    /// The token that the form carries.
    pub csrf: String,
}

/// The front door, for whoever is not signed in.
#[derive(Clone, Debug, Template)]
#[template(path = "home.html")]
pub struct HomePage {
    /// What every page has.
    pub layout: Layout,
}

/// A consent that was taken back.
#[derive(Clone, Debug)]
pub struct Withdrawn {
    /// The application's name.
    pub application: String,
    /// Whether it has to ask again: not one that the operator lets in without asking.
    pub asks_again: bool,
}

/// What a person let applications know.
#[derive(Clone, Debug)]
pub struct Consents {
    /// One row an application.
    pub rows: Vec<ConsentRow>,
    /// Where the forms are sent that take a consent back: `csrf` and `application`.
    pub withdraw: String,
    /// The token that the forms carry.
    pub csrf: String,
}

/// What a person let one application know.
#[derive(Clone, Debug)]
pub struct ConsentRow {
    /// The application's name.
    pub application: String,
    /// Its Client ID.
    pub client_id: String,
    /// What it may do.
    pub scopes: Vec<Message>,
    /// The day on which the person agreed.
    pub since: Message,
    /// The day until which they are not asked again.
    pub until: Message,
    /// Whether it may keep access while the person is away. They are asked for that each time.
    pub offline: bool,
}

/// The console: a frame that its script fills.
#[derive(Clone, Debug, Template)]
#[template(path = "console.html")]
pub struct ConsolePage {
    /// What every page has.
    pub layout: Layout,
    /// The issuer's URL, which applications are told.
    pub issuer: String,
    /// This host's own address.
    pub address: String,
    /// The administrator, if they are signed in.
    pub user: Option<SignedIn>,
}

/// The authenticator's web app: the same page for everybody, kept by its service worker.
#[derive(Clone, Debug, Template)]
#[template(path = "authenticator.html")]
pub struct AuthenticatorApp {
    /// What every page has.
    pub layout: Layout,
}

#[cfg(test)]
mod tests;
