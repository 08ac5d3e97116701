# What the pages and the authenticator say in English. Each message is in every language's file, with the same values.
# Values that are names of people or applications are kept apart in their direction; the messages need no marks for that.

## Every page

layout-skip = Skip to content
layout-foot = { $operator } never asks for a password, and never calls to ask for a number.
layout-sign-out = Sign out
start-page = Start page
date = { $day } { $month ->
        [1] January
        [2] February
        [3] March
        [4] April
        [5] May
        [6] June
        [7] July
        [8] August
        [9] September
        [10] October
        [11] November
       *[12] December
    } { $year }

## Signing in: who are you?

login-title = Sign in to { $application }
login-lead = No password. Your phone will ask you to approve.
login-continue-as = Continue as { $name }
login-other-user = Or sign in as somebody else:
login-name = Account name or email
login-name-invalid = Type the name or email address of your account, without spaces.
login-continue = Continue
login-remember = Remember this name in this browser
login-code = A code for the authenticator on your phone
login-scan = Or scan this instead
login-scan-about = With the authenticator on your phone, or its camera. Then there is no name to type.
login-scanned = I have scanned it
login-scan-here = Or use the authenticator on this phone
login-guide-name = Type your name here.
login-guide-number = This page shows a number.
login-guide-phone = Type the number in the authenticator on your phone.
login-leave = Cancel and go back to { $application }

## Signing in: the number to type on the phone

waiting-title = Approve on your phone
waiting-lead = Open the authenticator on your phone and type this number:
waiting-title-delegated = Approve this sign-in
waiting-lead-delegated = Approve in your authenticator app. If it asks for a number:
waiting-binding = If it shows letters, approve only if they are
waiting-left =
    { $seconds ->
        [one] { $seconds } second left
       *[other] { $seconds } seconds left
    }
waiting-left-minutes =
    { $minutes ->
        [one] { $minutes } minute
       *[other] { $minutes } minutes
    } { $seconds ->
        [one] { $seconds } second left
       *[other] { $seconds } seconds left
    }
waiting-application = Signing in to
waiting-name = As
waiting-continues = This page goes on by itself once you have approved. Nothing on your phone? Open the authenticator there: it says whether it is online, and whether your sign-ins are paused.
waiting-scan = Or scan this instead
waiting-scan-about = With the authenticator on your phone, or its camera. It always works, also if this sign-in does not appear there.
waiting-cancel = Cancel this sign-in
waiting-foot = Never tell this number to anybody who calls or writes to you.

## Signing in: the name of the account after a QR sign-in

confirm-title = Sign in as { $name }?
confirm-lead = You are about to sign in to { $application } as { $name } ({ $account }).
confirm-about = A phone scanned the code of this page and approved the sign-in. Continue only if this is your account.
confirm-continue = Continue
confirm-report = This is not me

## Signing in: it ended without success

ended-denied = Sign-in denied
ended-denied-happened = The request was denied on the phone. Nobody was signed in.
ended-denied-advice = If you denied it by mistake, try again. If it was not you, tell your administrator.
ended-expired = Sign-in timed out
ended-expired-happened = No approval came in time. Nobody was signed in.
ended-expired-advice = Check the name you typed, that your phone is enrolled and online; if it goes on, ask your administrator.
ended-cancelled = Sign-in cancelled
ended-cancelled-happened = You cancelled this sign-in. Nobody was signed in.
ended-cancelled-advice = Try again when you are ready, or go back to the application.
ended-conflict = Two sign-ins at the same time
ended-conflict-happened = Two sign-ins with this name started at the same time, so neither can be approved. Nobody was signed in.
ended-conflict-advice = Try again and scan the QR code of the sign-in page, or try again in a few minutes.
ended-replaced = You started again in another tab
ended-replaced-happened = A newer sign-in with this name, in this browser, took the place of this one.
ended-replaced-advice = Go on in the other tab. If you closed it, try again here.
ended-rejected = Sign-in not possible
ended-rejected-advice = If you think that this is wrong, ask your administrator.
ended-returns =
    { $seconds ->
        [one] You return to { $application } in { $seconds } second.
       *[other] You return to { $application } in { $seconds } seconds.
    }
ended-stay = Stay on this page
ended-again = Try again
ended-leave = Back to { $application }
rejected-number-mismatch = The number typed on the phone was wrong too often. Nobody was signed in.
rejected-user-inactive = Your account is closed.
rejected-other-test-sign-in = An administrator is testing the sign-in to this application, and only they can complete it. Nothing about you was disclosed.
rejected-application-deleted = The application was removed while you signed in.
rejected-redirect-uri-removed = The application no longer takes sign-ins where it asked for this one.
rejected-by-plugin = { $reason }
rejected-no-account = You have no account with { $application }.
rejected-account-inactive = Your account with { $application } is closed.

## Consent

consent-title = Allow { $application }?
consent-lead = Signed in as { $name }. { $application } wants to:
consent-allow = Allow
consent-deny = Deny
consent-offline = { $application } has to ask each time that it wants to keep access.
consent-remembered =
    { $days ->
        [one] Remembered for { $days } day.
       *[other] Remembered for { $days } days.
    }
consent-withdraw = You can take it back at any time under Permissions on the start page of { $operator }.
consent-not-you = Not { $name }?
consent-other-user = Sign in as somebody else
scope-openid = Know that it is you
scope-profile = See your name, your profile and your account with it
scope-email = See your email address
scope-phone = See your phone number
scope-address = See your postal address
scope-offline-access = Keep access while you are away

## On the way to an application

response-title = Back to { $application }
response-title-unknown = Back to the application
response-lead = This page goes on by itself. If it does not, press the button.
response-continue = Continue
saml-title = On to { $application }
saml-start-title = Sign in to { $application }
saml-start-heading = Sign in to { $application }?
saml-start-lead = A link, and not the application, asks to sign you in there. Go on only if that is what you want.
saml-start-go = Sign in

## The start page

home-title = Sign in without passwords
home-lead = { $operator } signs you in to your applications. You approve each sign-in on your phone; there is no password to remember or to lose.
home-hello = Hello, { $name }
home-hello-lead = You are signed in in this browser. Applications that use { $operator } know you until you sign out.
home-sign-in = Sign in
home-sign-in-about = To your applications, devices, sessions and permissions.
home-authenticator = Authenticator
home-authenticator-about = On your phone: approve or deny sign-ins, add or remove this phone.
home-administration = Administration
home-administration-about = Applications, users and how they are connected.
home-applications = Your applications
home-start-there = Want to sign in? Start at the application; it sends you here.

## The portal

portal-navigation = Your account
portal-applications = Applications
portal-devices = Devices
portal-sessions = Sessions
portal-consents = Permissions
portal-activity = Activity
portal-profile = Profile
portal-time = { $date }, { $time } UTC
portal-not-known = Not known
portal-not-found = There is nothing of yours at this address. Perhaps it was removed in the meantime.
portal-not-found-advice = Go back and look at what there is now.
applications-none = There is no application yet that you have an account with. Your administrator gives you one.
applications-open = Open
applications-open-label = Open { $application }
applications-elsewhere = Open it at its own address; it sends you here to sign in.
devices-heading = Your devices
devices-lead = Each of them can approve sign-ins with your name. Remove one that you have lost, sold or do not know.
devices-none = You have no device that can approve. Once you are signed out, you need a recovery code or a new link from your administrator to sign in.
devices-added = Added
devices-used = Last used
devices-unused = Never
devices-key = Key
devices-key-passkey = Kept by the authenticator’s browser; each approval needs face, finger or PIN
devices-key-browser = Kept by the authenticator’s browser, and can’t be copied out of it
devices-rename = Rename
devices-name = New name
devices-name-invalid = Give the device a name of 1 to 80 characters.
devices-rename-save = Save the name
devices-renamed = The device has its new name.
devices-revoke = Remove
devices-revoke-label = Remove { $device }
devices-revoke-title = Remove { $device }?
devices-revoke-follows-approve = It approves nothing from now on, and a sign-in that waits for you at this moment ends.
devices-revoke-follows-sessions = Every browser that it signed in is signed out, this one too if it was approved there.
devices-revoke-follows-final = It can’t be undone. To use the device again, it must be added again.
devices-revoke-codes = The recovery codes that it created become invalid, because a person with the device may have created them. They were created:
devices-revoke-codes-keep = Keep them: I created these codes, and nobody else has them
devices-revoke-last = This is your last device. Without it you can’t sign in any more, until you use a valid recovery code or get a new link from your administrator.
devices-revoke-yes = Remove it
devices-revoke-no = Keep it
devices-revoked = The device is removed, and the browsers that it signed in are signed out.
devices-revoked-not-notified = The device is removed, and the browsers that it signed in are signed out. Some applications cannot be notified: a browser that has them open may still be signed in there.
devices-add = Add a device
devices-add-about = Open the authenticator on a phone that you have enrolled, and add the new one from there. It can’t be done here, so that nobody who finds your browser open can add a phone of theirs.
sessions-heading = Where you are signed in
sessions-lead = Sign out what you do not know, and what you no longer use.
sessions-here = This browser
sessions-place = Place
sessions-started = Signed in
sessions-used = Last used
sessions-end = Sign out there
sessions-end-here = Sign out here
sessions-all = Several at once
sessions-all-about = What applications were given in these browsers ends as well. An application that you let keep access while you are away keeps it; you end that under Permissions.
sessions-end-others = Sign out all others
sessions-end-all = Sign out everywhere
sessions-ended = That browser is signed out.
sessions-ended-not-notified = That browser is signed out. Some applications cannot be notified: a browser that has them open may still be signed in there.
sessions-others-ended = All other browsers are signed out.
sessions-others-ended-not-notified = All other browsers are signed out. Some applications cannot be notified: a browser that has them open may still be signed in there.
consents-heading = What you allowed
consents-lead = When you withdraw it, everything that the application was given ends at once, also what it keeps while you are away. It has to ask you again then.
consents-none = You have allowed no application anything that it would have to ask for.
consents-title = { $application } may
consents-since = Allowed on { $since }.
consents-until = You are not asked again until { $until }.
consents-until-offline = You are asked each time it wants to keep access while you are away; for the rest, not until { $until }.
consents-withdraw = Withdraw
consents-withdraw-label = Withdraw what { $application } may
consents-withdrawn = { $application } is no longer allowed.
consents-withdrawn-asks = { $application } is no longer allowed; it has to ask you again.
activity-heading = What happened lately
activity-lead = Everything that was done with your account or in your name. If there is something that you do not know, remove the devices that you do not know, sign out the other browsers, make new recovery codes and tell your administrator.
activity-none = Nothing happened.
activity-newest = Back to the newest
activity-older = Older
activity-application = { $application }
activity-application-deleted-since = an application that is gone
activity-by-administrator = by an administrator
activity-by-device = on your device
activity-by-application = by { $application }
activity-by-channel = through another approval app
activity-by-other-user = by somebody else who signed in there
activity-requested = Sign-in to { $application } asked for with your name
activity-approved = Sign-in to { $application } approved
activity-denied = Sign-in to { $application } denied
activity-action-requested = Approval asked for: { $action }
activity-action-approved = Approved: { $action }
activity-action-denied = Denied: { $action }
activity-action-reported = Reported as not yours: { $action }
activity-action-number-mismatch = Wrong number typed for: { $action }
activity-reported = Sign-in to { $application } reported as not yours
activity-number-mismatch = Wrong number typed for a sign-in to { $application }
activity-signed-in = Signed in to { $application }
activity-signed-out = Signed out
activity-session-ended = Other browsers signed out
activity-cooldown-started = Sign-ins with your name paused
activity-cooldown-lifted = Sign-ins allowed again
activity-enrolment-link = Link created to enrol a device for you
activity-device-enrolled = Device added: { $device }
activity-device-renamed = Device renamed: { $device }
activity-device-revoked = Device removed: { $device }
activity-passkey-added = Approvals protected by face, finger or PIN: { $device }
activity-passkey-removed = Approvals no longer protected by face, finger or PIN: { $device }
activity-passkey-clone-suspected = Sign-in rejected, because the protection may have been copied: { $device }
activity-recovery-codes = Recovery codes created
activity-recovery-used = Recovery code used
activity-recovery-failed = Recovery with your name failed: the code was not yours, or was used
activity-user-created = Your account was created
activity-user-updated = Your details were changed
activity-user-active = Your account is active
activity-user-suspended = Your account was suspended
activity-user-terminated = Your account was closed
activity-user-erased = Your personal data was erased
activity-user-deleted = Your account was deleted
activity-users-exported = A list of users was exported
activity-account-created = You were given an account with { $application }
activity-account-updated = Your account with { $application } was changed
activity-account-active = Your account with { $application } is active
activity-account-suspended = Your account with { $application } was suspended
activity-account-terminated = Your account with { $application } was closed
activity-account-deleted = Your account with { $application } was removed
activity-accounts-exported = A list of the accounts with { $application } was exported
activity-external-authenticator-set = Another approval app was set up for you
activity-external-authenticator-removed = Another approval app was removed
activity-consent-granted = Permission given: { $application }
activity-consent-withdrawn = Permission withdrawn: { $application }
activity-refresh-token-reused = Access ended, because it was used twice: { $application }
activity-application-created = Application added: { $application }
activity-application-updated = Application changed: { $application }
activity-application-deleted = Application removed: { $application }
activity-metadata-applied = Application updated from its metadata: { $application }
activity-secret-rotated = New secret for an application: { $application }
activity-logo-set = Picture of an application set: { $application }
activity-logo-removed = Picture of an application removed: { $application }
activity-certificate-published = Next certificate published: { $application }
activity-certificate-activated = Next certificate in use: { $application }
activity-certificate-withdrawn = Certificate withdrawn: { $application }
activity-key-published = Next signing key published
activity-key-activated = Next signing key in use
activity-key-revoked = Signing key revoked
activity-tokens-revoked = All access and refresh tokens revoked
activity-plugins-reloaded = Extensions loaded again
activity-plugins-rolled-back = Plugins put back to those before
activity-claims-compared = An administrator tried a plugin with what { $application } learns of you
activity-test-sign-in-started = You started a test sign-in to an application
activity-test-sign-in-ended = Your test sign-in to an application ended
activity-admin-token-created = Administrator’s token created
profile-heading = Your profile
profile-lead = What { $operator } keeps of you. If something is wrong, ask your administrator to change it.
profile-did-about = The decentralized identifier is a fixed name by which applications can know you. It is no secret, and you need not remember it.
profile-login-name = Account name
profile-claims = What applications see
profile-claims-about = Each sees its own part, and some receive more by your administrator’s rules.
profile-claims-of = What { $application } sees
claims-title = What { $application } sees
claims-now = When you sign in, { $application } receives this about you:
claims-after-consent = { $application } has to ask you first. If you allow everything, it receives this about you:
claims-none = Nothing but that you signed in, and an identifier by which it knows you again.
claims-denied = A rule of your administrator does not let you in to { $application }, so it receives nothing. The reason: { $reason }
claims-failed = The data for { $application } is not available at the moment, so you can’t sign in there either. Your administrator finds the reason in the log.
claims-back = Back to your profile
claim-sub = Identifier
claim-name = Name
claim-given-name = Given name
claim-family-name = Family name
claim-middle-name = Middle name
claim-nickname = Nickname
claim-picture = Address of a picture
claim-profile = Address of a profile
claim-website = Website
claim-gender = Gender
claim-birthdate = Birthdate
claim-zoneinfo = Time zone
claim-locale = Language
claim-preferred-username = Account name here
claim-updated-at = Last changed
claim-upn = Account name there
claim-user-did = Decentralized identifier
claim-user-short-code = Short code
claim-email = Email address
claim-email-verified = Email address verified
claim-phone-number = Phone number
claim-phone-number-verified = Phone number verified
claim-address = Postal address
claim-account = Account and roles there
claim-other = { $name }
claim-value = { $value }
claim-yes = Yes
claim-no = No

## Signing out

sign-out-title = Sign out?
sign-out-heading = Do you want to sign out?
sign-out-lead = You are signed in as { $name }.
sign-out-requested = { $application } asks to sign you out.
sign-out-returns = Afterwards you return to { $application }.
sign-out-about = Signing out ends this browser's sign-in, and tells the applications that you used with it.
sign-out-yes = Yes, sign out
sign-out-no = No, stay signed in
signed-out-title = Signed out
signed-out-heading = You are signed out
signed-out-lead = Nobody is signed in to { $operator } in this browser.
signed-out-not-notified = These applications could not be notified. You may still be signed in there; sign out there, too:
signed-out-others = Some applications could not be notified. You may still be signed in there.
signed-out-windows = An application may keep its own window open: close it, if others use this computer.
signed-out-device = The device was removed. It had signed in this browser, so you are signed out here too.

test-sign-in-title = Test sign-in
test-sign-in-done = Done: the sign-in works
test-sign-in-failed = The sign-in did not work
test-sign-in-back = Go back to the console’s tab. It shows each step and what the application would have received.
test-sign-in-no-session = You are not signed in to the application by this, and you can close this tab.
error-test-sign-in = This test sign-in has ended
error-test-sign-in-happened = No such test sign-in is open in this browser. It was already answered, it expired, or another administrator started it.
error-test-sign-in-advice = Start another one in the console.
signing-out-title = Signing out
signing-out-heading = Signing you out
signing-out-lead = You are signed out of { $operator }. Now { $application } is notified.
signing-out-position = { $turn } of { $of }. This takes a few seconds; please keep this page open.
signing-out-frame = Signing out of { $application }
signing-out-answered = The application has answered.
signing-out-continue = Go on

## Error pages

error-reference = Reference
error-support = Help:
error-again = Try again
error-sign-out = Sign out
error-wait =
    { $seconds ->
        [one] Wait { $seconds } second and try again. If you did not ask so often yourself, tell your administrator.
       *[other] Wait { $seconds } seconds and try again. If you did not ask so often yourself, tell your administrator.
    }
error-internal = Something went wrong
error-internal-happened = The service could not answer. Nothing was changed.
error-internal-advice = Try again in a moment. If it goes on, tell your administrator the reference number.
error-outage = Please try again
error-outage-happened = Assent cannot reach its database at the moment.
error-outage-advice = Try again in a few seconds.
error-form = This form has expired
error-form-happened = The form did not come from the page that is open in this browser, so nothing was done.
error-form-advice = Go back, load the page again and repeat what you did. Cookies must be allowed for this site.
error-not-found = There is no such page
error-not-found-happened = The address does not lead anywhere on this site.
error-not-found-advice = Check the address, or begin at the start page.
error-rejected = This request can’t be answered
error-rejected-body = The request brings more data than is read here.
error-rejected-head = The request brings more cookies or other headers than are read here.
error-rejected-address = The address of the request is too long.
error-rejected-method = This address can’t be used in this way.
error-rejected-timeout = The server is busy, or the answer took too long.
error-rejected-unreadable = The request can’t be read.
error-rejected-cookies = Delete the cookies of this site in your browser, and try again.
error-rejected-advice = Go back and try again. If that does not help, tell the people who run the application.
error-too-many = Too many sign-ins
error-too-many-network = There were so many requests from your network that this one was rejected.
error-too-many-name = There were so many sign-ins with this name that this one was rejected. You can go back and scan the code with your authenticator instead: nobody else can keep you from that.
error-too-many-here = There were so many sign-ins from here that this one was rejected.
error-login-unknown = This sign-in is not open here
error-login-unknown-happened = It was begun in another browser, or too long ago, or this browser does not keep cookies.
error-login-unknown-advice = Go back to the application and sign in again, in one browser and with cookies allowed.
error-login-answered = This sign-in is finished
error-login-answered-happened = You went back to a sign-in that the application already has the answer of.
error-login-answered-advice = Go to the application. If it does not know you, sign in there again.
error-login-replayed = This sign-in was begun before
error-login-replayed-happened = Each request of an application counts once, and this one was used, or is too old.
error-login-replayed-advice = Go back to the application and sign in there again.
error-not-administrator = This page is for administrators
error-not-administrator-happened = You are signed in, but you have no role in the console.
error-not-administrator-advice = Ask an administrator for a role, or sign out and sign in as somebody who has one.
error-request = This sign-in request is not valid
error-request-again = Go back to the application and try again. If it happens again, tell the people who run it, with the reference number.
error-request-tell = Tell the people who run the application, with the reference number: its settings are wrong.
error-request-application = The application that sent you here is not known to this service.
error-request-no-address = The application did not say where to send you afterwards.
error-request-address = The application asked to send you to an address that is not registered for it.
error-request-unreadable = The application sent a request that can't be read.
error-request-relay-state = The application sent along more than 2,048 bytes of RelayState.
error-request-unsigned = The application's request is not signed as it has to be.
error-request-clock = The request is too old or too new: the clocks of the application and of this service may differ.
error-request-wrong-recipient = The request is not one of this application for this address.
error-request-replay = Each request of an application counts once, and this one came before. Perhaps a page was loaded again.
error-request-link = The link leads to a place in the application that is not registered for it.
error-request-link-advice = Ask the person who gave you the link, or open the application from the start page.
error-metadata = There is no such metadata
error-metadata-happened = No SAML application has the id in the address.
error-metadata-advice = Take the address from the application's settings.
error-start-there = Sign in at the application
error-start-there-happened = Sign-in to this application begins at the application itself.
error-start-there-advice = Open the application, and sign in there.
error-sign-out-request = This sign-out request is not valid
error-sign-out-advice = You can still sign out here. Tell the people who run the application, with the reference number.
error-sign-out-unreadable = The application sent a request that can't be read. You are not signed out.
error-sign-out-expired = The question whether to sign out was open for too long. You are not signed out.
error-sign-out-unproven = The application could not show that it is one that you signed in to. You are not signed out.
error-sign-out-address = The application asked to send you to an address that is not registered for it. You are not signed out.
error-logout-unreadable = The application sent a request that can't be read. Nobody was signed out.
error-logout-unsigned = The application's request is not signed as it has to be. Nobody was signed out.
error-logout-wrong-recipient = The request is not one that this application sent here just now. Nobody was signed out.
error-logout-no-session = The application's request is neither signed, nor does it name your session. Nobody was signed out.
error-logout-principal = The application asked for a sign-out, but does not name the user correctly. Nobody was signed out.
error-logout-unexpected = The application sent something that nobody waits for. Nothing was done.

## Where and what the browser is that asks, as the phone shows it

place-here = This computer
place-unknown = Unknown place
place-local = Local network ({ $address })
place-internet = Internet address { $address }
place-known = { $place } ({ $address })
browser-on = { $browser } on { $system }
browser-only = { $browser }
browser-unknown = Unknown browser
browser-unknown-on = Unknown browser on { $system }

## The authenticator's page

authenticator-title = Authenticator
authenticator-no-script = JavaScript is needed here
authenticator-no-script-about = The authenticator keeps a key in this browser and signs with it, which takes JavaScript. Turn it on for this site and load the page again.
authenticator-foot = Approve only a sign-in that you started yourself.
authenticator-keep = Cancel
authenticator-description = Approve or deny sign-ins on this phone.
authenticator-push = Sign-in request
authenticator-push-body = Open the authenticator to approve or deny it.

## The authenticator's app: these are sent to the phone, which fills the values in itself

app-requests = Sign-in requests
app-accounts = Accounts
app-request-arrived = Sign-in request: { $application }, { $account }.
app-requests-several = { $count } sign-in requests
app-requests-choose = Choose the request that you started. If you did not start one of them, choose it and report it.
app-requests-started = started at { $time }
app-requests-all = All { $count } requests
app-nothing = Nothing to approve
app-nothing-about = When you sign in somewhere, the request shows up here.
app-offline = You are offline. Requests show up once you are connected again.
app-unreachable = The server can’t be reached just now. Trying again…
app-connected = Connected again.
app-your-accounts =
    { $count ->
        [one] Your account
       *[other] Your accounts
    }
app-welcome = Use this device to sign in
app-welcome-about = To start, you need an enrolment link from { $operator }.
app-enrolled = This device is enrolled
app-enrolled-about = It approves sign-ins of { $name } from now on.
app-enrolled-status = This device is enrolled.
app-done = Done
app-attention = A sign-in to { $application } waits for your answer.
app-attention-go = Show it
app-cancel = Cancel
app-unsupported = This does not work here
app-unsupported-insecure = The authenticator needs a secure connection. Open its address with https.
app-unsupported-private = This browser keeps nothing for this site. Private windows often do not: use an ordinary one.
app-push-blocked = Notifications are blocked for this site, so open this app when you sign in. The browser’s site settings allow them again.
app-push-on = Notifications are on.
app-push-failed = The browser could not turn them on. The app works without: open it when you sign in.
app-push-offer = Get a notification when you sign in, so that you need not open this app first.
app-push-turn-on = Turn on notifications
app-seconds = { $seconds } s left
app-minutes = { $minutes } min { $seconds } s left

app-account-suspended = This account is suspended: its sign-ins can’t be approved. Ask your administrator.
app-account-terminated = This account is closed: its sign-ins can’t be approved. Ask your administrator.
app-account-device = This device: { $device }
app-account-gone = This device was removed from { $operator }. To use it again, add it from another device of yours, use a recovery code, or ask your administrator for a new enrolment link.
app-account-forget = Forget this account
app-account-remove = Remove this device
app-account-remove-ask = Remove this device?
app-account-remove-about = It will no longer approve sign-ins of { $name } at { $operator }, and recovery codes that it created become invalid. If it is your only device, add another one first: otherwise only a new enrolment link from your administrator lets you back in.
app-account-remove-yes = Remove
app-account-remove-failed = It was not removed. { $reason }
app-account-removed = This device was removed.
app-add = Add an account
app-add-about = Open the enrolment link that your administrator gave you, scan its QR code with the camera, or paste it here.
app-add-link = Enrolment link
app-add-invalid = This is not an enrolment link. It has “#enrol=” in it; copy it whole.
app-add-continue = Go on

app-scan = Scan a code
app-scan-about = Point the camera at the code on the sign-in page, or at the code of an enrolment link.
app-scan-stop = Stop
app-scan-no-camera = The camera can’t be used here. Allow it in the browser’s settings for this site, or use your phone’s own camera app.
app-scan-foreign = This code is for something else: it is neither a sign-in nor an enrolment link of this server.
app-scan-which = Sign in to { $application }?
app-scan-which-about = Go on only if the page that shows this code is open before you, in this browser and at this place. It may be somebody else’s who wants to be let in as you.
app-scan-as = Yes, as { $name } ({ $account })
app-scan-here-about = The sign-in is in this browser, so you need no number.
app-scan-approve-as = Approve as { $name } ({ $account })
app-scan-asking = Asking…
app-scan-looking = Looking at the code…
app-scan-failed = The code was not taken
app-scan-not-enrolled = This device is not enrolled yet
app-scan-not-enrolled-about = To sign in with it, enrol it first with a link from your administrator. On the sign-in page you can type your name instead.

app-enrol-title = Enrol this device for { $name } at { $operator }?
app-enrol-lead = It will approve the sign-ins of this account. Go on only if the link was meant for you.
app-enrol-account = Account
app-enrol-server = Server
app-enrol-until = Valid until
app-enrol-again = This account is in this browser already. Going on adds it a second time, as another device.
app-enrol-name = Name of this device
app-enrol-name-missing = Give this device a name, so that you can tell it from others later.
app-enrol-confirm = Enrol this device
app-enrol-confirming = Enrolling…
app-enrol-not-now = Not now
app-enrol-leave = To the authenticator
app-enrol-no-key = This browser could not make or keep a key. Private windows often can’t: use an ordinary one.
app-enrol-checking = Checking the link…
app-enrol-unchecked = The link could not be checked
app-enrol-unusable = This link can’t be used
app-enrol-unusable-about = It was used already, or its time is over. Make another on another device of yours, use a recovery code, or ask your administrator for a new one.
app-enrol-again-try = Try again
app-enrol-scan-picture = QR code of this enrolment link
app-enrol-scan = On a computer?
app-enrol-scan-about = Scan this with your phone’s camera to enrol the phone, or go on below to use this browser.
app-enrol-copy = Copy link
app-enrol-copied = Copied.
app-enrol-copy-yourself = Copy the link from the address bar.
app-enrol-home-screen = For notifications on iPhone and iPad: copy this link, add this page to the Home Screen (Share, Add to Home Screen), open it from there and paste the link.
app-device-android-phone = Android phone
app-device-android-tablet = Android tablet
app-device-windows = Windows computer
app-device-linux = Linux computer
app-device-other = My device

app-request-title = Sign in to { $application }?
app-request-account = Account
app-request-place = Place
app-request-browser = Browser
app-request-time = Asked at
app-request-not-known = Not known
app-request-number = Type the number shown where you sign in
app-request-approve = Approve
app-request-deny = Deny
app-request-not-you = Did you not start this sign-in? Then say so: every open one with your name ends, new ones reach no device for a while, and your administrators see it.
app-request-report = This was not me
app-request-tries =
    { $count ->
        [one] One try left.
       *[other] { $count } tries left.
    }
app-request-both-digits = Type both digits of the number.
app-request-number-mismatch = Wrong number. Look again where you sign in.
app-request-approved = Approved
app-request-approved-about = You are signed in to { $application }. Go back to where you started; it goes on by itself.
app-request-expired = Too late
app-request-expired-about = The time for this sign-in is over. Start again where you wanted to sign in.
app-request-decided = Already answered
app-request-decided-about = This sign-in was answered before, here or on another device.
app-request-closed = Sign-in closed
app-request-closed-about = It was cancelled or answered elsewhere. There is nothing more to do.
app-request-locked = Closed
app-request-locked-about = The number was wrong too often, so nobody was signed in. Start again where you wanted to sign in.
app-request-denied = Denied
app-request-denied-about = Nobody was signed in.
app-request-denied-not-you = Did you not start this sign-in? Then say so: new ones reach no device for a while, and your administrators see it.
app-request-reported = Stopped
app-request-reported-about = Nobody was signed in. New sign-ins with your name are paused, and your administrators see what happened.
app-other-title = Wrong number for this request
app-other-about = This number belongs to another sign-in request: { $request }, started at { $time }. If you did not start it, report it.
app-other-pending = If you did start it, go back and choose that request.
app-other-ended = That request can no longer be approved.
app-other-back = Back
app-action-about = An action in the administration needs your approval. Approve only what you are doing at this moment.
app-action-where = At
app-action-number = Type the number shown in the administration
app-action-approved = The action is carried out where you began it.
app-action-denied = Nothing was changed.
app-action-closed = Action closed
app-action-ended = The action can’t be approved any more. If it was yours, begin it again in the administration.
app-cooldown = Sign-ins of { $name } are paused until { $time }: requests reach no device.
app-cooldown-end = I want to sign in now
app-cooldown-ended = Sign-ins reach you again. Start the sign-in again.

app-failure = This did not work. Try again.
app-failure-offline = The server could not be reached. Check your connection and try again.
app-failure-unreadable = The server gave an answer that this app does not understand.
app-failure-server = The server could not do this. Try again in a moment.
app-failure-link = This link was used already, or has expired. Make another on another device of yours, use a recovery code, or ask your administrator for a new one.
app-failure-other-browser = The sign-in is in another browser. Type its number.
app-failure-proof = The app could not prove that it has its key. Load the page again and repeat.
app-failure-name = Give the device a name of 1 to 80 characters.
app-failure-key-in-use = This key is enrolled already. Load the page again and repeat.
app-failure-clock = This device’s clock is wrong. Set it by the network, then try again.
app-failure-device = This device is not enrolled any more. Add it from another device of yours, use a recovery code, or ask your administrator for a new link.
app-failure-request = There is no such request for you.
app-failure-sign-in = This code was used already, or it expired. Load the sign-in page again.
app-failure-user-inactive = Your account can’t be used. Ask your administrator.
app-failure-too-many-calls = You did this too often. Wait a minute and try again.
app-failure-too-many-devices = You have as many devices as there may be. Remove one that you no longer use, then try again.
app-failure-too-many-sign-ins = This device scanned too many codes. Wait a minute and scan it again.
app-failure-too-many = There were too many failed attempts from your network. Wait a minute and try again.
app-failure-subscription = This subscription can't be used.

app-passkey-offer-title = Protect approvals
app-passkey-offer = Have this device ask for your face, finger or PIN with each approval. Then nobody else can approve with it, not even while it is unlocked.
app-passkey-add = Protect with face, finger or PIN
app-passkey-add-recommended = Protect (recommended)
app-passkey-skip = Not now
app-passkey-added = Approvals are protected from now on.
app-passkey-set = Each approval needs your face, finger or PIN.
app-passkey-remove = Remove this protection
app-passkey-remove-ask = Remove the protection?
app-passkey-remove-about = This device then approves without face, finger or PIN. To remove the protection you confirm with them once more.
app-passkey-remove-yes = Remove
app-passkey-removed = Approvals are no longer protected.
app-passkey-no-lock = Approvals can be protected with face, finger or PIN once this device has a screen lock that the browser can ask for.
app-passkey-impossible = Approvals can’t be protected with face, finger or PIN here: this server has an address in place of a name, and browsers want a name for that.
app-failure-passkey-unconfirmed = Your device did not confirm that it is you. Try again. If its screen lock was removed, remove this device here and enrol it again: by another device of yours, a recovery code, or a link from your administrator.
app-failure-passkey-rejected = The confirmation of your device is not valid. Try again.
app-failure-has-passkey = This device is protected already. Load the app again.

app-history = Last sign-ins
app-history-loading = Loading…
app-history-empty = None so far.
app-history-approved = Approved
app-history-denied = Denied
app-history-reported = You said that it was not you
app-history-number-mismatch = Wrong number too often
app-history-unanswered = Not answered
app-action-delete-user = Delete a user
app-action-erase-user = Erase the personal data of a user
app-action-update-user = Create or change a user
app-action-import-table = Import a table
app-action-enrol-device = Let another device approve for a user
app-action-set-external-authenticator = Let an approval app approve for a user
app-action-create-account = Create an account
app-action-update-account = Change an account
app-action-delete-account = Delete an account
app-action-revoke-device = Remove a device
app-action-delete-application = Delete an application
app-action-grant-admin-scopes = Create an application that administers this server
app-action-update-application = Change an application
app-action-apply-metadata = Change an application to what its metadata says
app-action-rotate-client-secret = Make a new secret for an application
app-action-rotate-key = Let another key or certificate sign
app-action-revoke-key = Revoke a key or certificate
app-action-reload-plugins = Exchange the plugins
app-action-roll-back-plugins = Put the previous plugins back
app-action-try-component = Try a new component of a plugin
app-action-target = { $action }: { $target }
app-action-erased = { $action } (data erased since)
app-notification-passkey-added = { $day }, { $time }: the device “{ $device }” asks for face, finger or PIN from now on.
app-notification-passkey-removed = { $day }, { $time }: the device “{ $device }” no longer asks for face, finger or PIN.
app-notification-passkey-clone-suspected = { $day }, { $time }: the protection of the device “{ $device }” may have been copied, so a sign-in was rejected.

app-install-offer = Install this app, so that it has an icon of its own among your apps.
app-install = Install
app-update-ready = A new version of this app is ready.
app-update = Load it
app-welcome-recover = Use a recovery code
app-welcome-lost = Was this device enrolled before? Then the browser’s data was deleted, and its key with it. Nobody can bring it back: add this device from another one of yours, use a recovery code, or ask for a new enrolment link.
app-account-lost = This browser no longer has the key of this account. Nobody can bring it back: add this device from another one of yours, use a recovery code, or ask { $operator } for a new enrolment link. Then forget this account here.

app-account-devices = Devices and recovery
app-devices-title = Devices of { $name }
app-devices-looking = One moment…
app-devices-back = Back
app-devices-this = This device, enrolled on { $day }, { $time }
app-devices-since = Enrolled on { $day }, { $time }
app-devices-used = Last used on { $day }, { $time }
app-devices-unused = Never used
app-devices-protected = Asks for face, finger or PIN
app-devices-remove = Remove
app-devices-remove-ask = Remove { $device }?
app-devices-remove-about = It will approve nothing any more, and the browsers that it signed in are signed out. Recovery codes that it created become invalid. To use it again you must enrol it again.
app-devices-removed = The device was removed.
app-devices-rename = Rename
app-devices-name = New name
app-devices-rename-save = Save the name
app-devices-renamed = The device has its new name.
app-devices-add = Add another device
app-devices-add-about = Scan this code with the other device’s camera, or open the link there. It then approves your sign-ins like this one.
app-devices-add-warning = Only for a device of your own: anybody else who gets it can sign in as you.
app-devices-added = “{ $device }” was enrolled
app-devices-added-about = It approves your sign-ins from now on. If it is not yours, go back and remove it.
app-devices-copy = Copy the link
app-copied = Copied.
app-copy-failed = The browser did not allow it. Select the text and copy it yourself.
app-recovery = Recovery codes
app-recovery-about = If you lose all your devices, one of these codes lets you enrol a new one. Each is good once.
app-recovery-left = { $count ->
    [one] You have one code left.
   *[other] You have { $count } codes left.
 }
app-recovery-left-none = You have no codes.
app-recovery-create = Make new codes
app-recovery-ask = Make new codes?
app-recovery-ask-about = Your present codes become invalid.
app-recovery-new = Your recovery codes
app-recovery-once = Write them down, print them, or keep them in a safe place. They are not shown again.
app-recovery-where = You use one at { $address }, with your name.
app-recovery-file = Recovery codes of { $account } at { $operator }
app-recovery-copy = Copy
app-recovery-save = Save as a file
app-recovery-kept = I have kept them
app-recovery-leave = Leave the codes?
app-recovery-created = New recovery codes are shown.
app-notifications = Account notifications for { $name }
app-notification-link = { $day }, { $time }: a link was created that enrols another device.
app-notification-enrolled = { $day }, { $time }: the device “{ $device }” was enrolled.
app-notification-revoked = { $day }, { $time }: the device “{ $device }” was removed.
app-notification-codes = { $day }, { $time }: new recovery codes were created.
app-notification-external-authenticator = { $day }, { $time }: another approval app was set up for you.
app-notification-recovered = { $day }, { $time }: a recovery code was used.
app-notifications-about = If this was not you, remove what is not yours, make new recovery codes, and tell your administrator.
app-notifications-read = It was me
app-notifications-devices = Look at the devices
app-enrolled-codes = Make recovery codes
app-enrolled-codes-about = For the day on which this device is lost or broken: recovery codes, or a second device.
app-enrolled-recovered = Now remove the device that you lost, so that nobody can approve with it. Then make new recovery codes: that takes the place of what is left of the old ones.
app-failure-device-unknown = You have no such device any more.
recover-title = Get back in without your phone
recover-lead = With a recovery code you can enrol a new authenticator.
recover-failed = This name and code are not good together. Each code is good once, and new codes take the place of older ones: if you have just used it, take the next one.
recover-code = Recovery code
recover-code-about = 16 letters and digits. Case, blanks and dashes don’t matter.
recover-continue = Continue
recover-no-script = The authenticator needs JavaScript, which is off in this browser. Turn it on, or use another browser, before you use up a code.
recover-none = No code left? Ask your administrator for a new enrolment link.
recovered-title = Your code was good
recovered-lead = It is used up. Go on now, within 15 minutes: the next page enrols this device, or shows a code that another one scans.
recovered-continue = Enrol an authenticator
recovered-about = Then remove the device that you lost, in the authenticator under “Devices and recovery”.
login-lost = Phone lost?
authenticator-push-notification = There is a notification about your account. Open the authenticator to see it.
