# The English texts of the pages and the authenticator. Each message is in every language's file, with the same values.
# The templates isolate the text direction of names, so messages need no direction marks.

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
login-lead-passkey = No password. Approve on your phone, or use a passkey.
login-continue-as = Continue as { $name }
login-recent = You have signed in as { $name } in another tab.
login-other-user = Or sign in as someone else:
login-name = Account name or email
login-name-invalid = Enter your account name or email address, without spaces.
login-name-character = A name can’t contain { $character }, which is character { $position } of your input.
login-name-domain = The part after @ isn’t a domain name.
login-continue = Continue
login-remember = Remember this name in this browser
login-code = A code for the authenticator on your phone
login-scan = Sign in with a code
login-scan-about = Scan with your phone’s camera. No account name needed.
login-scanned = I have scanned it
login-or = or
login-scan-here = Use the authenticator on this phone
login-here = Approve on this device
login-here-about = With the authenticator in this browser. You need no number.
login-guide = How does this work?
login-guide-name = Enter your account name here.
login-guide-number = This page shows a number.
login-guide-phone = Enter the number in the authenticator on your phone.
login-leave = Cancel and go back to { $application }

## Signing in: the number to type on the phone

waiting-title = Approve on your phone
waiting-lead = Open the authenticator on your phone and enter this number:
waiting-lead-here = On another phone: enter this number
waiting-title-delegated = Approve this sign-in
waiting-lead-delegated = Approve in your authenticator app. If it asks for a number:
waiting-binding = If the app shows letters, approve only if they are these:
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
waiting-left-whole =
    { $minutes ->
        [one] { $minutes } minute left
       *[other] { $minutes } minutes left
    }
waiting-application = Application
waiting-name = Account
waiting-continues = This page continues automatically when you approve.
waiting-nothing = Nothing on your phone?
waiting-nothing-about = Open the authenticator app: it shows if you’re offline or if requests are paused.
waiting-again = Start again
waiting-scan = Or scan this code
waiting-scan-about = Scan with your phone’s camera. This works even if the sign‑in does not appear on your phone.
waiting-cancel = Cancel this sign-in
waiting-foot = Never tell this number to anyone who calls or writes to you.

## Signing in: the name of the account after a QR sign-in

confirm-title = Sign in as { $name }?
confirm-lead = You are about to sign in to { $application } as { $name } ({ $account }).
confirm-about = A phone scanned the code of this page and approved the sign‑in. Continue only if this is your account.
confirm-continue = Continue
confirm-report = This is not me

## Signing in: it ended without success

ended-denied = Sign-in denied
ended-denied-happened = The request was denied on the phone. No one was signed in.
ended-denied-advice = Denied by mistake? Try again. If requests are paused now, resume them in the authenticator. Not you? Tell your administrator.
ended-expired = Sign-in timed out
ended-expired-happened = The sign‑in was not approved in time. No one was signed in.
ended-expired-advice = Check that “{ $name }” is right and that your phone is set up and online. Still stuck? Contact your administrator.
ended-expired-advice-unnamed = Check that your phone is set up and online. Still stuck? Contact your administrator.
ended-cancelled = Sign-in cancelled
ended-cancelled-happened = You cancelled this sign‑in. No one was signed in.
ended-cancelled-advice = Try again when you are ready, or go back to the application.
ended-conflict = Two sign-ins at the same time
ended-conflict-happened = Two sign‑ins with this name started at the same time, so neither can be approved. No one was signed in.
ended-conflict-advice = Try again and scan the QR code of the sign‑in page, or try again in a few minutes.
ended-number-mismatch = Wrong number
ended-number-mismatch-happened = The number entered on the phone was wrong too often. No one was signed in.
ended-number-mismatch-advice = Try again, and enter the number that the page shows then. Not you? Tell your administrator.
ended-replaced = You started again in another tab
ended-replaced-happened = A newer sign‑in with this name, in this browser, replaced this one.
ended-replaced-advice = Continue in the other tab. If you closed it, try again here.
ended-rejected = Sign-in not possible
ended-rejected-advice = If you need access, contact your administrator and quote the reference.
ended-returns =
    { $seconds ->
        [one] You return to { $application } in { $seconds } second.
       *[other] You return to { $application } in { $seconds } seconds.
    }
ended-stay = Stay on this page
ended-copy = Copy the reference
ended-copied = Copied. This page stays open.
ended-copy-failed = The browser did not allow it. Select the reference and copy it.
ended-again = Try again
ended-other-account = Use a different account
ended-leave = Back to { $application }
rejected-address-not-confirmed = Your email address is not confirmed yet. { $application } identifies you by it. Ask your administrator to confirm it.
rejected-user-inactive = Your account is suspended or closed.
rejected-other-test-sign-in = An administrator is testing the sign‑in to this application, and only they can complete it. Nothing about you was disclosed.
rejected-application-deleted = The application was removed while you signed in.
rejected-application-disabled = An administrator disabled { $application }, so no one can sign in to it now.
rejected-redirect-uri-removed = The application no longer accepts sign‑ins at the address that it asked for.
rejected-by-plugin = { $reason }
rejected-no-account = You have no account with { $application }.
rejected-account-inactive = Your account with { $application } is suspended or closed.

## Consent

consent-title = Allow { $application } to access your account?
continue-title = Continue in { $application }?
continue-lead = A program on this device is asking to sign you in to { $application }. Continue only if you have just opened { $application }.
consent-lead = Signed in as { $name }. { $application } wants to:
consent-details = Only this time, and as you have seen it in your authenticator:
consent-information = More from { $application }, in a new tab:
consent-policy = Privacy policy
consent-terms = Terms of service
consent-about = About this application
consent-contacts = Contact:
consent-allow = Allow
consent-deny = Deny
consent-offline = You will be asked again at each new sign‑in that asks for this.
consent-offline-about = Even while you are signed out, until you withdraw the permission.
consent-remembered =
    { $days ->
        [one] Remembered for { $days } day.
       *[other] Remembered for { $days } days.
    }
consent-withdraw = You can change this at any time under Permissions on the start page of { $operator }.
consent-test = This is a test sign‑in of an administrator. The permission is not stored.
consent-not-you = Not { $name }?
consent-other-user = Sign in as someone else
scope-openid = Confirm your identity
scope-profile = See your name and profile
scope-account = See your account and roles in the application
scope-email = See your email address
scope-phone = See your phone number
scope-address = See your postal address
scope-groups = See your groups that belong to this application
scope-offline-access = Keep access while you are away
scope-value = { $scope }: { $value }

## On the way to an application

response-title = Back to { $application }
response-title-unknown = Back to the application
response-lead = This page continues automatically. If it does not, press the button.
response-continue = Continue
already-title = You are signed in
already-sent = The answer was sent
already-lead = { $application } has received the answer already.
already-open = Open { $application }
saml-title = On to { $application }
saml-start-title = Sign in to { $application }
saml-start-heading = Sign in to { $application }?
saml-start-lead = A link, not the application, is asking to sign you in there. Continue only if you want that.
saml-start-go = Sign in

## The start page

home-title = Sign in without passwords
home-lead = { $operator } signs you in to your applications. You approve each sign‑in on your phone, so there is no password to remember or lose.
home-hello = Hello, { $name }
home-hello-lead = You’re signed in. Sign out when you finish if you share this computer.
home-sign-in = Sign in
home-sign-in-about = To your applications, devices, sessions and permissions.
home-authenticator = Authenticator
home-authenticator-about = On your phone: approve or deny sign‑ins, set up or remove this phone.
home-administration = Console
home-administration-about = Applications, users and how they are connected.
home-applications = Your applications
home-start-there = You can also start in an application. It brings you here to sign in.

## The portal

portal-navigation = Your account
portal-applications = Applications
portal-devices = Devices
portal-sessions = Sessions
portal-consents = Permissions
portal-requests = Requests
portal-activity = Activity
portal-profile = Profile
portal-time = { $date }, { $time } UTC
portal-not-known = Not known
portal-not-found = Not found. It may have been removed.
portal-not-found-advice = Go back and look at the current list.
applications-none = You have no applications yet. Ask your administrator for access.
applications-open = Open
applications-open-label = Open { $application }
applications-no-link = Open it in the app itself
applications-filter = Search your applications
applications-no-match = No application has this name.
devices-heading = Your devices
devices-lead = Each of them can approve sign‑ins with your name. Remove one that you have lost, sold or do not know.
devices-none = You have no device that can approve. Once you are signed out, you need a recovery code or a new link from your administrator to sign in.
devices-added = Set up
devices-used = Last used
devices-unused = Never
devices-protection = Face, finger or PIN
devices-protection-on = On
devices-protection-off = Off
devices-rename = Rename
devices-name = New name
devices-name-invalid = Give the device a name of 1 to 80 characters.
devices-rename-save = Save the name
devices-renamed = The device has its new name.
devices-revoke = Remove
devices-revoke-label = Remove { $device }
devices-revoke-title = Remove { $device }?
devices-revoke-follows-approve = It can no longer approve. A pending sign‑in request ends.
devices-revoke-follows-sessions = Every browser that it signed in is signed out, this one too if it was approved there.
devices-revoke-follows-final = It can’t be undone. To use the device again, it must be set up again.
devices-revoke-codes = The recovery codes that it created become invalid, because someone with the device may have created them.
devices-revoke-codes-keep = Keep them: I created these codes, and no one else has them
devices-revoke-last = This is your last device. Without it you can’t sign in any more, until you use a valid recovery code or get a new link from your administrator.
devices-revoke-yes = Remove it
devices-revoke-no = Keep it
devices-revoked = The device is removed, and the browsers that it signed in are signed out.
devices-revoked-not-notified = The device is removed, and the browsers that it signed in are signed out. Some applications cannot be notified: a browser that has them open may still be signed in there.
devices-add = Set up a device
devices-add-about = Open the authenticator on a phone that is already set up, and set up the new one from there. It can’t be done here, so that no one else can set up their device in your open browser.
sessions-heading = Where you are signed in
sessions-lead = Sign out sessions that you do not know or no longer use.
sessions-here = This browser
sessions-place = Place
sessions-started = Signed in
sessions-used = Last used
sessions-ends = Ends at the latest
sessions-end = Sign out there
sessions-end-here = Sign out here
sessions-all = Sign out several browsers
sessions-all-about = This also signs you out of the applications opened in those browsers. Applications with offline access keep it; withdraw that under Permissions.
sessions-end-others = Sign out all others
sessions-end-all = Sign out everywhere
sessions-without-browser = Approved without a browser
sessions-end-without-browser = End this session
sessions-ended = That browser is signed out.
sessions-ended-not-notified = That browser is signed out. Some applications cannot be notified: a browser that has them open may still be signed in there.
sessions-others-ended = All other browsers are signed out.
sessions-others-ended-not-notified = All other browsers are signed out. Some applications cannot be notified: a browser that has them open may still be signed in there.
requests-heading = Requests without a browser
requests-lead = These applications can ask you on your phone, for example while you are on a call with them. Stop the ones from which you expect no requests.
requests-paused = All requests are paused
requests-paused-about = After denials or a report no request reaches your phone. End of the pause:
requests-resume = End the pause now
requests-resumed = The pause ended. Requests reach your phone again.
requests-none-may = No application can ask you without a browser.
requests-permitted = Its requests reach your phone.
requests-stopped-since = You stopped its requests:
requests-paused-until = You denied or reported a request. End of the pause:
requests-paused-unanswered = You left several requests without an answer. End of the pause:
requests-stop = Stop its requests
requests-stop-label = Stop its requests: { $application }
requests-stopped = Its requests no longer reach your phone. The application sees them expire.
requests-permit = Permit its requests again
requests-permit-label = Permit its requests again: { $application }
requests-permitted-again = Its requests reach your phone again.
requests-asked = What they asked
requests-asked-about = The requests of the last 30 days, the latest first.
requests-asked-none = No application asked you.
requests-requested = Asked
requests-decided = Answered
requests-device = on { $device }
requests-waiting = Waiting for you
requests-approved = You approved
requests-denied = You denied
requests-reported = You reported it
requests-expired = Expired without an answer
requests-not-shown = Not shown on your phone
requests-withdrawn = Ended without a result
requests-number-mismatch = Ended after wrong numbers
consents-heading = Permissions you gave
consents-lead = If you withdraw a permission, the application loses access immediately and has to ask you again.
consents-none = No application has a permission now.
consents-title = { $application } may
consents-since = Allowed on { $since }.
consents-until = You are not asked again until { $until }.
consents-until-offline = You are asked each time it wants to keep access while you are away; for the rest, not until { $until }.
consents-withdraw = Withdraw
consents-withdraw-label = Withdraw what { $application } may
consents-withdrawn = { $application } is no longer allowed.
consents-withdrawn-asks = { $application } is no longer allowed; it has to ask you again.
activity-heading = Recent activity
activity-lead = Don’t recognise something? Remove unknown devices, sign out other browsers, create new recovery codes and contact your administrator.
activity-none = No activity yet.
activity-none-of-kind = Nothing of this kind here.
activity-kinds = What to show
activity-kind-all = All
activity-kind-sign-ins = Sign-ins
activity-kind-devices = Devices
activity-kind-changes = Changes
activity-newest = Back to the newest
activity-older = Older
activity-not-me = Wasn’t you?
activity-application = { $application }
activity-application-deleted-since = a deleted application
activity-by-administrator = by an administrator
activity-by-device = on { $device }
activity-by-removed-device = on a device that was removed
activity-by-application = by { $application }
activity-by-channel = through another approval app
activity-by-other-user = by another user who signed in there
activity-requested = Sign-in to { $application } requested
activity-request = Requested
activity-approved = Sign-in to { $application } approved
activity-approved-by = approved { $by }
activity-approved-by-passkey = with a passkey
activity-approved-only = approved
activity-denied = Sign-in to { $application } denied
activity-action-requested = Approval requested: { $action }
activity-action-approved = Approved: { $action }
activity-action-denied = Denied: { $action }
activity-action-reported = Reported as not yours: { $action }
activity-action-number-mismatch = Wrong number typed for: { $action }
activity-rejected = Sign-in to { $application } not possible. Reference: { $reference }
activity-cancelled = Sign-in to { $application } cancelled in the browser
activity-expired = Sign-in to { $application } expired without an answer
activity-reported = Sign-in to { $application } reported as not yours
activity-number-mismatch = Wrong number typed for a sign-in to { $application }
activity-signed-in = Signed in to { $application }
activity-signed-out = Signed out
activity-session-ended = Other browsers signed out
activity-cooldown-started = Sign-ins with your name paused
activity-cooldown-lifted = Sign-ins allowed again
activity-backchannel-stopped = You stopped { $application } from asking without a browser
activity-backchannel-permitted = { $application } may ask without a browser again
activity-caller-check-requested = The help desk asked whether you are on the phone
activity-caller-check-approved = You confirmed to the help desk that you are on the phone
activity-caller-check-denied = You told the help desk that you are not on the phone
activity-caller-check-reported = You reported that the help desk asked about a call that was not yours
activity-caller-check-number-mismatch = A wrong number was typed when the help desk asked whether you are on the phone
activity-caller-check-ended = The help desk asked whether you are on the phone, without an answer
activity-enrolment-link = Link created to set up a device for you
activity-device-enrolled = Device set up: { $device }
activity-device-renamed = Device renamed: { $device }
activity-device-revoked = Device removed: { $device }
activity-passkey-added = Approvals protected by face, finger or PIN: { $device }
activity-passkey-removed = Approvals no longer protected by face, finger or PIN: { $device }
activity-passkey-clone-suspected = Sign-in rejected, because the protection may have been copied: { $device }
activity-recovery-codes = Recovery codes created
activity-recovery-used = Recovery code used
activity-recovery-failed = Recovery with your name failed: wrong or used code
activity-user-created = Your account was created
activity-user-updated = Your details were changed
activity-user-active = Your account is active
activity-user-suspended = Your account was suspended
activity-user-terminated = Your account was closed
activity-user-erased = Your personal data was erased
activity-user-deleted = Your account was deleted
activity-users-exported = A list of users was exported
activity-users-imported = A table of users was imported
activity-account-created = You were given an account with { $application }
activity-account-updated = Your account with { $application } was changed
activity-account-active = Your account with { $application } is active
activity-account-suspended = Your account with { $application } was suspended
activity-account-terminated = Your account with { $application } was closed
activity-account-deleted = Your account with { $application } was removed
activity-access-exported = A list of users with access, or of applications, was exported
activity-report-settled = An administrator settled your report
activity-accounts-exported = A list of the accounts with { $application } was exported
activity-accounts-imported = A table of accounts with { $application } was imported
activity-group-created = Group created: “{ $group }”
activity-group-updated = Group changed: “{ $group }”
activity-group-deleted = Group deleted: “{ $group }”
activity-group-member-added = You became a member of the group “{ $group }”
activity-group-member-removed = You are no longer a member of the group “{ $group }”
activity-group-members-exported = A list of the members of the group “{ $group }” was exported
activity-access-assigned = More users have access to { $application }
activity-access-removed = Fewer users have access to { $application }
activity-external-authenticator-set = Another approval app was set up for you
activity-external-authenticator-removed = Another approval app was removed
activity-consent-granted = Permission given: { $application }
activity-consent-withdrawn = Permission withdrawn: { $application }
activity-refresh-token-reused = Access of { $application } ended: its access key was used twice and may have been stolen
activity-backchannel-result-abandoned = { $application } did not receive your answer
activity-application-created = Application added: { $application }
activity-application-updated = Application changed: { $application }
activity-application-registered = Application registered itself: { $application }
activity-application-deleted = Application removed: { $application }
activity-metadata-applied = Application updated from its metadata: { $application }
activity-secret-rotated = New secret for an application: { $application }
activity-secret-created = Another secret for an application: { $application }
activity-secret-deleted = Secret of an application deleted: { $application }
activity-logo-set = Picture of an application set: { $application }
activity-logo-removed = Picture of an application removed: { $application }
activity-certificate-published = Next certificate published: { $application }
activity-certificate-activated = Next certificate in use: { $application }
activity-certificate-withdrawn = Certificate withdrawn: { $application }
activity-key-published = Next signing key published
activity-key-activated = Next signing key in use
activity-key-revoked = Signing key revoked
activity-sealing-key-created = Sealing key created
activity-sealing-key-deleted = Replaced sealing keys deleted
activity-tokens-revoked = All access and refresh tokens revoked
activity-database-restored = Backup restored
activity-plugins-reloaded = Plugins reloaded
activity-plugins-rolled-back = Previous plugins restored
activity-claims-compared = An administrator tested a plugin with your data for { $application }
activity-test-sign-in-started = You started a test sign-in to an application
activity-test-sign-in-ended = Your test sign-in to an application ended
activity-admin-token-created = Administrator’s token created
activity-registration-token-created = Initial access token for applications created
activity-registration-token-deleted = Initial access token for applications deleted
activity-details-type-registered = Type of authorization details registered
activity-details-type-deleted = Type of authorization details deleted
profile-heading = Your profile
profile-lead = What { $operator } stores about you. If something is wrong, ask your administrator to change it.
profile-did-about = The decentralized identifier is a fixed identifier with which applications can recognise you. It is not secret, and you don’t need to remember it.
profile-login-name = Account name
profile-claims = What applications see
profile-claims-about = Each sees its own part, and some receive more by your administrator’s rules.
profile-claims-of = What { $application } sees
claims-title = What { $application } sees
claims-now = When you sign in, { $application } receives this about you:
claims-after-consent = { $application } has to ask you first. If you allow everything, it receives this about you:
claims-none = Only that you signed in, and an identifier with which it recognises you.
claims-denied = A rule blocks your sign-in to { $application }, so it receives nothing. Reason: { $reason }
claims-failed = The data for { $application } is not available at the moment, so you can’t sign in there either. Your administrator finds the reason in the log.
claims-back = Back to your profile
claims-technical = Technical details
claim-sub = Your identifier there
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
claim-account = Your account there
claim-groups = Groups
claim-other = { $name }
claim-value = { $value }
claim-member = { $name }: { $value }
claim-roles = Roles
claim-nothing = None
claim-yes = Yes
claim-no = No

## Signing out

sign-out-title = Sign out?
sign-out-heading = Do you want to sign out?
sign-out-lead = You are signed in as { $name }.
sign-out-requested = { $application } asks to sign you out.
sign-out-returns = Afterwards you return to { $application }.
sign-out-about = Signing out ends this browser’s sign‑in, and the applications that you used with it are notified.
sign-out-yes = Yes, sign out
sign-out-no = No, stay signed in
signed-out-title = Signed out
signed-out-heading = You are signed out
signed-out-lead = You are signed out of { $operator } in this browser.
signed-out-confirmed = These applications confirmed that you are signed out:
signed-out-loaded = This browser opened the sign-out pages of these applications. Whether you are signed out there is not known, because browsers often block the cookies that this needs; please check:
signed-out-unconfirmed = These applications have not confirmed that you are signed out. You may still be signed in there; sign out there, too:
signed-out-others = Some applications could not be notified. You may still be signed in there.
signed-out-windows = An application may keep its own window open: close it, if others use this computer.
signed-out-device = The device was removed. It had signed in this browser, so you are signed out here too.

test-sign-in-title = Test sign-in
test-sign-in-done = Done: the sign-in works
test-sign-in-failed = The sign-in did not work
test-sign-in-back = Go back to the console’s tab. It shows each step and what the application would have received.
test-sign-in-no-session = This did not sign you in to the application. You can close this tab.
error-test-sign-in = This test sign-in has ended
error-test-sign-in-happened = No such test sign‑in is open in this browser. It was already answered, it expired, or another administrator started it.
error-test-sign-in-advice = Start another one in the console.
signing-out-title = Signing out
signing-out-heading = Signing you out
signing-out-lead = You are signed out of { $operator }. Now { $application } is notified.
signing-out-position = { $turn } of { $of }. This takes a few seconds; please keep this page open.
signing-out-frame = Signing out of { $application }
signing-out-frames-lead = You are signed out of { $operator }. Now this browser opens the sign-out pages of these applications. This takes a few seconds; please keep this page open.
signing-out-frame-loaded = – opened
signing-out-frames-cookies = If a sign-out page was opened, it is not known whether you are signed out of its application, because browsers often block the cookies that this needs. If it was not opened, you may still be signed in there.
signing-out-answered = The application has answered.
signing-out-continue = Continue

## Error pages

error-reference = Reference
error-request-id = Request ID
error-operator = For the application’s operator
error-operator-application = Application
error-operator-id = Application ID
error-operator-client-id = Client ID
error-operator-address = Address received
error-operator-register = If the address belongs to the application, register exactly this address under Applications, Settings.
error-operator-parameter = Parameter
error-support = Help:
error-again = Try again
error-sign-out = Sign out
error-wait =
    { $seconds ->
        [one] Wait { $seconds } second and try again. If you did not make these attempts, tell your administrator.
       *[other] Wait { $seconds } seconds and try again. If you did not make these attempts, tell your administrator.
    }
error-internal = Something went wrong
error-internal-happened = The service could not answer. Nothing was changed.
error-internal-advice = Try again in a moment. If it keeps happening, give your administrator the reference.
error-outage = Please try again
error-outage-happened = The service is not available at the moment.
error-outage-advice = Try again in a few seconds.
error-form = This form has expired
error-form-happened = The form did not come from the page that is open in this browser, so nothing was done.
error-form-advice = Go back, reload the page and try again. Cookies must be allowed for this site.
error-other-user = Another account is signed in
error-other-user-happened = Another account was signed in in this browser after you opened the page. Nothing was changed.
error-other-user-advice = Load the page again to continue with the account that is signed in now.
error-other-user-again = Load the page again
error-not-found = Page not found
error-not-found-happened = There is no page at this address.
error-not-found-advice = Check the address, or go to the start page.
error-not-found-slash = The address has a slash too many. Use { $address }.
error-rejected = This request can’t be answered
error-rejected-body = The request is too large.
error-rejected-head = The request has too many cookies or other headers.
error-rejected-address = The address of the request is too long.
error-rejected-method = This address can’t be used in this way.
error-rejected-timeout = The server is busy, or the answer took too long.
error-rejected-unreadable = The request can’t be read.
error-rejected-cookies = Delete the cookies of this site in your browser, and try again.
error-rejected-advice = Go back and try again. If that does not help, contact the application’s operator.
error-too-many = Too many sign-ins
error-too-many-network = There were too many requests from your network.
error-too-many-name = There were too many sign‑ins with this name. You can go back and scan the code with your authenticator instead: no one else can block that.
error-too-many-here = There were too many attempts from here.
error-login-unknown = This sign-in has expired
error-login-unknown-happened = It started too long ago or in another browser, or this browser blocks cookies.
error-login-unknown-advice = Go back to the application and sign in again, in one browser and with cookies allowed.
error-login-answered = This sign-in is finished
error-login-answered-happened = You went back to a sign‑in that is already complete.
error-login-answered-advice = Go to the application. If you are not signed in there, sign in again.
error-login-replayed = This sign-in was used before
error-login-replayed-happened = Each request of an application is valid once. This one was used, or it has expired.
error-login-replayed-advice = Go back to the application and sign in there again.
error-not-administrator = This page is for administrators
error-not-administrator-happened = You are signed in, but you have no role in the console.
error-not-administrator-advice = Ask an administrator for a role, or sign out and sign in as an administrator.
error-request = This sign-in request is not valid
error-request-again = Go back to the application and try again. If it happens again, give its operator the reference.
error-request-tell = Give the application’s operator the reference: its settings need to be corrected.
error-request-application = The application that sent you here is not known to this service.
error-application-disabled = This application is turned off
error-application-disabled-happened = An administrator disabled this application, so no one can sign in to it now.
error-application-disabled-advice = Ask your administrator when it will be available again.
error-request-no-address = The application did not say where to send you afterwards.
error-request-address = The application asked to send you to an address that is not registered for it.
error-request-unreadable = The application sent a request that can’t be read.
error-request-relay-state = The application sent along more than 2,048 bytes of RelayState.
error-request-unsigned = The application’s request has no valid signature.
error-request-clock = The request is too old or too new: the clocks of the application and of this service may differ.
error-request-wrong-recipient = The request is from another application, or for another address.
error-request-unknown = The application sent you here with a request that it did not register before.
error-request-expired = This request has expired. It is valid for 90 seconds.
error-request-replay = This request was already used. The page may have been loaded twice.
error-request-object = The application signed its request, but the signature or its content is not valid.
error-request-link = The link leads to a place in the application that is not registered for it.
error-request-link-advice = Ask the sender of the link, or open the application from the start page.
error-metadata = Metadata not found
error-metadata-happened = No SAML application has the ID in this address.
error-metadata-advice = Copy the metadata address from the application’s settings.
error-start-there = Sign in at the application
error-start-there-happened = Sign-in to this application begins at the application itself.
error-start-there-advice = Open the application, and sign in there.
error-sign-out-request = This sign-out request is not valid
error-sign-out-advice = You can still sign out here. If it happens again, give the application’s operator the reference.
error-sign-out-unreadable = The application sent a request that can’t be read. You are not signed out.
error-sign-out-expired = The sign-out question was open for too long. You are not signed out.
error-sign-out-unproven = The application could not prove that you signed in to it. You are not signed out.
error-sign-out-address = The application asked to send you to an address that is not registered for it. You are not signed out.
error-logout-unreadable = The application sent a request that can’t be read. No one was signed out.
error-logout-unsigned = The application’s request has no valid signature. No one was signed out.
error-logout-wrong-recipient = The request is from another application, for another address, or not current. No one was signed out.
error-logout-no-session = The application’s request is neither signed, nor does it name your session. No one was signed out.
error-logout-principal = The application asked for a sign-out, but does not name the user correctly. No one was signed out.
error-logout-unexpected = The application sent an unexpected message. Nothing was done.

## The place and the browser of a request, as the phone shows them

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
authenticator-no-script-about = The authenticator needs JavaScript. Turn on JavaScript for this site, and reload the page.
authenticator-foot = Approve only a sign‑in that you started yourself.
authenticator-keep = Cancel
authenticator-description = Approve or deny sign-ins on this phone.
authenticator-push = Sign-in request
authenticator-push-body = Open the authenticator to approve or deny it.

## The authenticator's app: these are sent to the phone, which fills the values in itself

app-requests = Sign-in requests
app-accounts = Accounts
app-request-arrived = Sign-in request: { $application }, { $account }.
app-requests-several = { $count } sign-in requests
app-requests-choose = Choose the request that you started. If you didn’t start one of them, choose it and report it.
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
app-welcome-about = To start, you need a setup link from { $operator }.
app-enrolled = This device is set up
app-enrolled-about = You can now approve sign‑ins of { $name } with it.
app-enrolled-status = This device is set up.
app-done = Done
app-attention = A sign‑in to { $application } is waiting for your answer.
app-attention-action = An action in your browser is waiting for your approval.
app-attention-go = Show it
app-attention-go-notifications = Show them
app-cancel = Cancel
app-unsupported = This does not work here
app-unsupported-insecure = The authenticator needs a secure connection. Open its address with https.
app-storage-impossible = This browser stores nothing for this site. Private windows and Lockdown Mode often prevent it: use a regular window or another browser.
app-storage-full = This device has no space left to store a key. Free some space, then try again.
app-storage-outdated = A newer version of this app is open in another tab. Reload this page.
app-push-blocked = Notifications are blocked for this site, so open this app when you sign in. You can allow them in the browser’s site settings.
app-push-on = Notifications are on.
app-push-failed = The browser could not turn them on. You can still approve: open this app when you sign in.
app-push-offer = Get a notification when you sign in, so you don’t have to open this app first.
app-push-turn-on = Turn on notifications
app-seconds =
    { $seconds ->
        [one] { $seconds } second left
       *[other] { $seconds } seconds left
    }
app-duration-hours =
    { $count ->
        [one] { $count } hour
       *[other] { $count } hours
    }
app-duration-minutes =
    { $count ->
        [one] { $count } minute
       *[other] { $count } minutes
    }
app-duration-while = a while
app-minutes =
    { $minutes ->
        [one] { $minutes } minute
       *[other] { $minutes } minutes
    } { $seconds ->
        [one] { $seconds } second left
       *[other] { $seconds } seconds left
    }
app-minutes-whole =
    { $minutes ->
        [one] { $minutes } minute left
       *[other] { $minutes } minutes left
    }

app-account-suspended = This account is suspended: its sign‑ins can’t be approved. Ask your administrator.
app-account-terminated = This account is closed: its sign‑ins can’t be approved. Ask your administrator.
app-account-device = This device: { $device }
app-account-gone = This device was removed from { $operator }. To use it again, set it up from another device, with a recovery code, or with a new setup link from your administrator.
app-account-forget = Forget this account
app-account-remove = Remove this device
app-account-remove-ask = Remove this device?
app-account-remove-about = You can no longer approve sign‑ins of { $name } at { $operator } with it, and recovery codes that it created stop working. If it is your only device, set up another one first. Otherwise you need a new setup link from your administrator.
app-account-remove-yes = Remove
app-account-remove-failed = The device was not removed. { $reason }
app-account-removed = This device was removed.
app-add = Add an account
app-add-about = Open the setup link from your administrator, scan its QR code with the camera, or paste it here.
app-add-link = Setup link
app-add-invalid = This is not a setup link. Copy the whole link; it contains “#enrol=”.
app-add-continue = Continue

app-settings = Settings of this device
app-settings-keypad = Show a keypad in requests
app-settings-keypad-about = Type the number on it instead of on your system’s keyboard.

app-scan = Scan a code
app-scan-about = Point the camera at the code on the sign‑in page, or at the code of a setup link.
app-scan-stop = Stop
app-scan-no-camera = The camera can’t be used here. Allow it in the browser’s settings for this site, or use your phone’s own camera app.
app-scan-foreign = This code is for something else. Scan the code of a sign‑in page or of a setup link of this server.
app-scan-which = Sign in to { $application }?
app-scan-which-about = Continue only if you are looking at this sign‑in page right now on your own screen. Otherwise someone may be trying to sign in as you.
app-scan-as = Yes, as { $name } ({ $account })
app-scan-here-about = The sign‑in is in this browser, so you need no number.
app-scan-approve-as = Approve as { $name } ({ $account })
app-scan-back = Back to the sign-in
app-scan-asking = One moment…
app-scan-looking = Checking the code…
app-scan-failed = This code didn’t work
app-scan-not-enrolled = This device is not set up yet
app-scan-not-enrolled-about = Set it up first, with a link from your administrator. On the sign‑in page you can type your account name instead.

app-enrol-title = Set up this device for { $name } at { $operator }?
app-enrol-lead = You can then approve sign‑ins of this account with it. Continue only if the link was meant for you.
app-enrol-account = Account
app-enrol-server = Server
app-enrol-until = Valid until
app-enrol-again = This account is already in this browser. If you continue, it is added again as another device.
app-enrol-name = Name of this device
app-enrol-name-missing = Give this device a name, so that you can recognise it later.
app-enrol-confirm = Set up this device
app-enrol-confirming = Setting up…
app-enrol-not-now = Not now
app-enrol-leave = Open the authenticator
app-enrol-no-key = This browser could not create a key. Use another browser.
app-enrol-unspent = Your setup link was not used: you can open it elsewhere.
app-enrol-checking = Checking the link…
app-enrol-unchecked = The link could not be checked
app-enrol-unusable = This link doesn’t work
app-enrol-unusable-about = Create another one on another device of yours, use a recovery code, or ask your administrator for a new one.
app-enrol-again-try = Try again
app-enrol-scan-picture = QR code of this setup link
app-enrol-scan = On a computer?
app-enrol-scan-about = Scan this with your phone’s camera to set up the phone, or continue below to use this browser.
app-enrol-copy = Copy link
app-enrol-copied = Copied.
app-enrol-copy-yourself = Copy the link from the address bar.
app-enrol-home-screen = For notifications on iPhone and iPad, copy this link. Add this page to the Home Screen (Share, Add to Home Screen). Then open it from there and paste the link.
app-device-android-phone = Android phone
app-device-android-tablet = Android tablet
app-device-windows = Windows computer
app-device-linux = Linux computer
app-device-other = My device

app-request-title = Sign in to { $application }?
app-request-details = You also permit this:
app-request-place = Place
app-request-browser = Browser
app-request-not-known = Not known
app-request-for = for { $account }
app-request-browser-unknown = Unknown browser
app-request-place-unknown = Unknown place
app-request-number = Type the number from the sign‑in page
app-request-approve = Approve
app-request-deny = Deny
app-request-not-you = Not you? Tap “This wasn’t me”. New sign‑in requests are then paused for { $duration }, and your administrator sees the report.
app-request-report = This wasn’t me
app-request-tries =
    { $count ->
        [one] One try left.
       *[other] { $count } tries left.
    }
app-keypad = Keypad
app-keypad-erase = Delete the last digit
app-request-both-digits = Type both digits of the number.
app-request-number-mismatch = Wrong number. Check the page where you sign in.
app-request-approved = Approved
app-request-approved-about = Return to your browser.
app-request-expired = Too late
app-request-expired-about = This request has expired. Start again where you wanted to sign in.
app-request-decided = Already answered
app-request-decided-about = This request was already answered, here or on another device.
app-request-closed = Sign-in closed
app-request-closed-about = It was cancelled, or answered on another device. There is nothing left to do.
app-request-locked = Closed
app-request-locked-about = The number was wrong too often, so no one was signed in. Start again where you wanted to sign in.
app-request-denied = Denied
app-request-denied-about = No one was signed in. Denied by mistake? Start the sign‑in again. If you deny again, new requests may be paused for a while.
app-request-reported = Reported
app-request-reported-about = No one was signed in. New sign‑in requests are paused for now, and your administrator sees the report.
app-caller-check-title = Are you on the phone with { $administrator } of { $application }?
app-caller-check-about = Approve only if you called, and you are speaking with this administrator right now. It permits nothing else.
app-caller-check-number = Type the number that you hear on the phone
app-caller-check-number-mismatch = Wrong number. Ask for the number again.
app-caller-check-approved = The administrator sees that it is you.
app-caller-check-denied = The administrator sees that you are not on the phone.
app-caller-check-ended = It can no longer be answered. The administrator can ask again.
app-caller-check-reported = Your administrator sees the report. New requests are paused for now.
app-caller-check-not-you = Not on the phone? Tap “This wasn’t me”. New requests are then paused for { $duration }, and your administrator sees the report.
app-backchannel-title = Approve a request from { $application }?
app-backchannel-arrived = Request from { $application } for { $account }.
app-backchannel-compare = Approve only if { $application } shows you the same text:
app-backchannel-no-message = { $application } sent no text to compare. Approve only if you expect this request right now.
app-backchannel-type = Approve only if { $application } asked you to, and type the number that it shows you.
app-backchannel-number = Type the number that { $application } shows you
app-backchannel-digits = Type all digits of the number.
app-backchannel-number-mismatch = Wrong number. Check what { $application } shows you.
app-backchannel-passkey = This request counts only if you confirm it with the passkey of this device.
app-backchannel-scopes = { $application } may then:
app-backchannel-approved = The application received your approval.
app-backchannel-denied = The application received nothing. New requests from it are paused for a while.
app-backchannel-closed = Request closed
app-backchannel-ended = It can no longer be answered. If you expect it, start again in the application.
app-backchannel-reported = The application received nothing. New requests are paused for now, and your administrator sees the report.

app-second-title = { $application } asks for { $account }. Do you approve, too?
app-second-arrived = Second approval for { $application }: { $account }.
app-second-own = You approve as { $account }
app-second-about = Two people must approve this request. You don’t see what the other one decided before you decide.
app-second-message = The text of { $application }:
app-second-no-message = { $application } sent no text. Approve only if you know about this request.
app-second-scopes = { $application } may then, for { $account }:
app-second-approved = It counts as soon as both people have approved.
app-second-denied = The application received nothing.
app-second-ended = It can no longer be answered. Another member of your group may have answered it.
app-code = Sign in a device
app-code-about = Type the code that your TV, terminal or other device shows.
app-code-compare = Is this the code that your device shows? Continue only if both are the same.
app-code-field = Code
app-code-field-about = Eight letters. Upper or lower case, spaces and hyphens don’t matter.
app-code-warning = Use only a code that you see on your own device right now. Never use a code that someone sent you.
app-code-continue = Continue
app-code-continue-as = Continue as { $name } ({ $account })
app-code-not-enrolled = Set it up first, with a link from your administrator. Then enter the code of the other device here.
app-code-title = Sign in to { $application } on another device?
app-code-asked-now = started just now
app-code-asked =
    { $count ->
        [one] started { $count } minute ago
       *[other] started { $count } minutes ago
    }
app-code-check = Approve only if the device in front of you shows this code:
app-code-approved = Go back to your device. It continues by itself.
app-code-denied = No one was signed in. The code is used up.
app-code-ended = It can no longer be answered. Start again on your device, which then shows a new code.
app-other-title = Wrong number for this request
app-other-about = This number belongs to another request: { $request } · started at { $time }. If you didn’t start it, report it.
app-other-pending = If you did start it, go back and choose that request.
app-other-ended = That request can no longer be approved.
app-other-back = Back
app-action-about = An action in your browser needs your approval. Approve it only if you are doing this right now.
app-action-for = as { $account } at { $application }
app-action-not-you = Not you? Tap “This wasn’t me”. That session then ends, new sign‑in requests are paused for { $duration }, and your administrator sees the report.
app-action-number = Type the number shown in your browser
app-action-approved = Return to your browser.
app-action-denied = Nothing was changed.
app-action-reported = Nothing was changed. The session ended, new sign‑in requests are paused for now, and your administrator sees the report.
app-action-closed = Action closed
app-action-ended = It can no longer be approved: { $action }. If it was yours, start it again in your browser.
app-action-number-mismatch = Wrong number. Check the number in the window of your browser.
app-cooldown = Sign-in requests are paused until { $time }.
app-cooldown-of = Sign-in requests for { $name } are paused until { $time }.
app-cooldown-end = Resume now
app-cooldown-ended = Sign-in requests are no longer paused. If nothing appears here, start the sign‑in again.

app-failure = This did not work. Try again.
app-failure-offline = The server could not be reached. Check your connection and try again.
app-failure-unreadable = The app does not understand the server’s answer. Reload the app.
app-failure-server = The server could not do this. Try again in a moment.
app-failure-link = This server does not know this link. It may belong to another server, or be too old.
app-failure-link-damaged = This link is damaged: a part of it is missing or was changed. Open it again from the original message, or copy all of it.
app-failure-link-used = This link was already used. If you used it on this device, the device is set up.
app-failure-link-expired = This link has expired.
app-failure-link-withdrawn = This link was withdrawn, or replaced by a newer one.
app-failure-other-browser = The sign‑in is in another browser. Type its number.
app-failure-proof = The app could not prove that it has its key. Reload the page and try again.
app-failure-name = Give the device a name of 1 to 80 characters.
app-failure-key-in-use = This key is already in use. Reload the page and try again.
app-failure-clock = This device’s clock is wrong. Turn on automatic date and time, then try again.
app-failure-device = This device is no longer set up. Set it up again from another device, with a recovery code, or with a new link from your administrator.
app-failure-request = This request does not exist any more. Start again in your browser.
app-failure-sign-in = This code was already used, or it has expired. Reload the sign‑in page.
app-failure-code = This code is wrong, or it has expired. Compare it with the code on your device.
app-failure-no-access = You have no access to this application. Ask your administrator.
app-failure-user-inactive = Your account can’t be used. Ask your administrator.
app-failure-too-many-calls = You did this too often. Wait a minute and try again.
app-failure-too-many-devices = You have reached the maximum number of devices. Remove one that you no longer use, then try again.
app-failure-too-many-sign-ins = This device scanned too many codes. Wait a minute and scan it again.
app-failure-too-many = There were too many failed attempts from your network. Wait a minute and try again.
app-failure-subscription = Notifications could not be turned on, because the server does not accept the subscription of this browser. Try another browser.

app-passkey-offer-title = Protect approvals
app-passkey-offer = Confirm each approval with your face, finger or PIN. Then no one else can approve with this device, even while it is unlocked.
app-passkey-add = Protect with face, finger or PIN
app-passkey-add-recommended = Protect (recommended)
app-passkey-skip = Not now
app-passkey-added = Approvals are now protected.
app-passkey-set = Each approval needs your face, finger or PIN.
app-passkey-remove = Remove this protection
app-passkey-remove-ask = Remove the protection?
app-passkey-remove-about = You then approve without face, finger or PIN. Confirm with them once more to remove the protection.
app-passkey-remove-yes = Remove
app-passkey-removed = Approvals are no longer protected.
app-passkey-no-lock = Approvals can be protected with face, finger or PIN once this device has a screen lock that the browser can ask for.
app-passkey-impossible = Approvals can’t be protected with face, finger or PIN here: this server is reached by an IP address, and browsers require a host name.
app-failure-passkey-unconfirmed = Your device did not confirm that it is you. Try again. Was its screen lock removed? Then remove this device here and set it up again: from another device, with a recovery code, or with a link from your administrator.
app-failure-passkey-missing = This application accepts only approvals with a passkey. Add a passkey to this device first.
app-failure-passkey-rejected = The confirmation of your device is not valid. Try again.
app-failure-has-passkey = This device is already protected. Reload the app.

app-history = Last sign-ins
app-history-loading = Loading…
app-history-empty = None so far.
app-history-approved = Approved
app-history-denied = Denied
app-history-reported = Reported: this wasn’t you
app-history-number-mismatch = Wrong number too often
app-history-unanswered = Not answered
app-history-without-browser = without a browser
app-history-caller-check = on the phone with a help desk
app-action-delete-user = Delete a user
app-action-erase-user = Erase the personal data of a user
app-action-update-user = Create or change a user
app-action-import-table = Import a table
app-action-enrol-device = Let another device approve for a user
app-action-set-external-authenticator = Let an approval app approve for a user
app-action-create-account = Create an account
app-action-update-account = Change an account
app-action-delete-account = Delete an account
app-action-update-group = Change a group
app-action-delete-group = Delete a group
app-action-change-access = Change who has access to an application
app-action-revoke-device = Remove a device
app-action-settle-report = Settle a report
app-action-delete-application = Delete an application
app-action-grant-admin-scopes = Create an application that administers this server
app-action-update-application = Change an application
app-action-apply-metadata = Apply an application’s metadata
app-action-create-recovery-codes = Create new recovery codes
app-action-rotate-client-secret = Create a new secret for an application
app-action-delete-client-secret = Delete a secret of an application
app-action-rotate-key = Sign with another key or certificate
app-action-revoke-key = Revoke a key or certificate
app-action-reload-plugins = Reload the plugins
app-action-roll-back-plugins = Roll back the plugins
app-action-create-registration-token = Create an initial access token for applications
app-action-register-details-type = Register a type of authorization details
app-action-try-component = Try a new component of a plugin
app-action-apply-manifest = Apply a manifest
app-action-target = { $action }: { $target }
app-action-erased = { $action } (data erased since)
app-notification-passkey-added = { $day }, { $time }: the device “{ $device }” now asks for face, finger or PIN.
app-notification-passkey-removed = { $day }, { $time }: the device “{ $device }” no longer asks for face, finger or PIN.
app-notification-passkey-clone-suspected = { $day }, { $time }: the protection of the device “{ $device }” may have been copied, so a sign‑in was rejected.

app-install-offer = Install this app to open it from your home screen.
app-install = Install
app-update-ready = A new version of this app is ready.
app-update = Reload
app-welcome-recover = Use a recovery code
app-welcome-elsewhere = The authenticator of your account is on another device. Open it there.
app-welcome-lost = If you used this device before, its data was cleared. Set it up again: from another device, with a recovery code, or with a new link.
app-account-lost = This browser no longer has the key of this account. It can’t be restored. Set this device up again: from another device, with a recovery code, or with a new link from { $operator }. Then forget this account here.

app-account-devices = Devices and recovery
app-devices-title = Devices of { $name }
app-devices-looking = One moment…
app-devices-back = Back
app-devices-this = This device, set up on { $day }, { $time }
app-devices-since = Set up on { $day }, { $time }
app-devices-used = Last used on { $day }, { $time }
app-devices-unused = Never used
app-devices-protected = Asks for face, finger or PIN
app-devices-remove = Remove
app-devices-remove-ask = Remove { $device }?
app-devices-remove-about = It can no longer approve sign‑ins, and the browsers that it signed in are signed out. Recovery codes that it created stop working. To use it again, you must set it up again.
app-devices-removed = The device was removed.
app-devices-rename = Rename
app-devices-name = New name
app-devices-rename-save = Save the name
app-devices-renamed = The device was renamed.
app-devices-add = Set up another device
app-devices-add-about = Scan this code with the other device’s camera, or open the link there. You can then approve sign‑ins with it too.
app-devices-add-warning = Only for a device of your own. Anyone else who gets the link can sign in as you.
app-devices-added = “{ $device }” was set up
app-devices-added-about = You can now approve sign‑ins with it. If it is not yours, go back and remove it.
app-devices-copy = Copy the link
app-copied = Copied.
app-copy-failed = The browser did not allow it. Select the text and copy it.
app-recovery = Recovery codes
app-recovery-about = If you lose all your devices, set up a new one with one of these codes. Each code works once.
app-recovery-left = { $count ->
    [one] You have one code left.
   *[other] You have { $count } codes left.
 }
app-recovery-left-none = You have no codes.
app-recovery-create = Create new codes
app-recovery-ask = Create new codes?
app-recovery-ask-about = Your current codes stay valid until you confirm the new ones.
app-recovery-new = Your recovery codes
app-recovery-once = Write these codes down, print them, or store them in a safe place. They are shown only once.
app-recovery-where = Use a code at { $address }, with your account name.
app-recovery-file = Recovery codes of { $account } at { $operator }
app-recovery-copy = Copy
app-recovery-save = Save as a file
app-recovery-print = Print
app-recovery-kept = I have saved them
app-recovery-confirm-earlier = Confirm that you saved them: they are valid from then on, and your current codes stay valid until then. You have 30 minutes.
app-recovery-confirm-none = Confirm that you saved them: they are valid from then on. You have 30 minutes.
app-recovery-confirmed = Your new recovery codes are valid.
app-recovery-discard = Discard them
app-recovery-leave = Leave without confirming?
app-recovery-leave-earlier = These codes will not become valid. Your current codes stay valid.
app-recovery-leave-none = These codes will not become valid. You still have no codes.
app-recovery-leave-yes = Leave
app-recovery-created = Your new recovery codes are shown.
app-notifications = Account notifications for { $name }
app-notification-link = { $day }, { $time }: a link was created that sets up another device.
app-notification-enrolled = { $day }, { $time }: the device “{ $device }” was set up.
app-notification-revoked = { $day }, { $time }: the device “{ $device }” was removed.
app-notification-codes = { $day }, { $time }: new recovery codes were created.
app-notification-external-authenticator = { $day }, { $time }: another approval app was set up for you.
app-notification-recovered = { $day }, { $time }: a recovery code was used.
app-notifications-about = Wasn’t you? Remove unknown devices, create new recovery codes, and tell your administrator.
app-notifications-read = It was me
app-notifications-not-me = It wasn’t me
app-notifications-devices = Check the devices
app-enrolled-codes = Create recovery codes
app-enrolled-codes-about = Set up a backup now, in case you lose this device.
app-enrolled-recovered = Now remove the device that you lost, so that no one can approve with it. Then create new recovery codes, which replace your remaining ones.
app-failure-codes = These codes can’t be confirmed any more, so they are not valid. Create new ones.
app-failure-device-unknown = This device was already removed.
device-title = Sign in a device
device-lead = Your device shows a code of eight letters. Enter it in the authenticator on your phone.
device-compare = Does your device show this code?
device-compare-about = Continue only if both codes are the same. If your device shows another code or none, close this page.
device-open = Open the authenticator and choose “Sign in a device”. There you see which application asks, from where and for how long, before anything happens.
device-scan = Or scan this with your phone.
device-scan-alt = Code that opens the authenticator
device-here = Open the authenticator in this browser
device-warning = Never use a code that someone sent you. Otherwise their device is signed in as you.
recover-title = Sign in without your phone
recover-lead = Use a recovery code to set up a new authenticator.
recover-failed = That code doesn’t match this account, or it has already been used. Try your next code.
recover-code = Recovery code
recover-code-about = 16 letters and digits. Upper or lower case, spaces and dashes don’t matter.
recover-continue = Continue
recover-no-script = The authenticator needs JavaScript, which is off in this browser. Turn it on, or use another browser, before you use a code.
recover-no-storage = This browser stores nothing for this site, so it can’t be set up as an authenticator. Open this page in a regular window or in another browser. Your code was not used.
recover-none = No code left? Ask your administrator for a new setup link.
recovered-title = Code accepted
recovered-lead = Continue within 15 minutes: the next page sets up this device, or shows a code that another device can scan. The recovery code cannot be used again.
recovered-continue = Set up an authenticator
recovered-about = Then remove the device that you lost, in the authenticator under “Devices and recovery”.
recovered-back = After you set up the authenticator, go back to your sign‑in.
recover-back = Back to the sign-in
login-lost = Lost your phone?
authenticator-push-notification = There is a notification about your account. Open the authenticator to see it.

## Summaries of protected actions: the administrator's device shows and signs them

action-sentences = { $first }. { $next }
action-comma = { $first }, { $next }
action-and = { $first } and { $next }
action-item = { $value }
action-quoted = “{ $value }”
action-nothing = nothing
action-create-user = Create the user “{ $user }” as { $role } in the console
action-create-user-with-email = Create the user “{ $user }” as { $role } in the console, with the email address { $email }
action-create-user-without-role = Create the user “{ $user }”
action-create-user-without-role-with-email = Create the user “{ $user }”, with the email address { $email }
action-named-by-other-address = The name is an address too, but not the user’s email address. Applications may take the user for the owner of that address
action-delete-user = Delete the user “{ $user }”
action-erase-user = Erase the personal data of the user “{ $user }”
action-terminate-user = Close the user “{ $user }” for ever, in all applications
action-rename-user = Change the sign-in name of “{ $user }” to “{ $name }”
action-change-email = Change the email address of “{ $user }” to { $email }
action-remove-email = Remove the email address { $email } of “{ $user }”
action-confirm-email = Confirm that the email address { $email } belongs to “{ $user }”. Applications identify the user by it
action-confirm-name = Confirm that the name of “{ $user }”, which is an address, belongs to the user too. Applications identify the user by it
action-confirm-emails = Confirm that each of these email addresses belongs to its user, whom applications identify by it: { $emails }
action-confirmed-email = “{ $user }” ({ $email })
action-confirmed-email-and-name = “{ $user }” ({ $email }, and the name is an address of the user too)
action-remove-role = Remove the role in the console of “{ $user }”
action-grant-role = Make “{ $user }”, a user since { $since }, { $role } in the console
action-role-owner = an owner
action-role-admin = an administrator
action-role-support = a support administrator
action-role-auditor = an auditor
action-approves-with = “{ $user }” approves with { $devices ->
        [one] { $devices } device
       *[other] { $devices } devices
    }
action-approves-with-external = “{ $user }” approves with { $devices ->
        [one] { $devices } device
       *[other] { $devices } devices
    } and { $external ->
        [one] { $external } vendor’s authenticator
       *[other] { $external } vendor’s authenticators
    }
action-approves-with-nothing = Warning: “{ $user }” has no device. The first device that is set up for this user gets this role
action-enrol-first-device = Create a link. The first to open it becomes “{ $user }”, a user since { $since }
action-create-invitation-links = Create invitation links. The first to open one becomes its user: { $users }
action-enrol-device = Let another device approve as “{ $user }”, a user since { $since }
action-revoke-device = Remove a device of “{ $user }”, who has a role in the console: set up on { $day }, with an id that ends in { $end }
action-settle-report = Settle the report of “{ $user }” from { $time } (UTC), which then no longer alerts administrators
action-settle-ends-pause = The pause of sign-in requests for “{ $user }” ends
action-external-authenticator = Let the holder of the identifier “{ $identifier }” at the channel “{ $channel }” approve as “{ $user }”, a user since { $since }
action-external-authenticator-replaced = Let the holder of the identifier “{ $identifier }” at the channel “{ $channel }” approve as “{ $user }”, a user since { $since }, in place of “{ $replaced }”
action-create-account = Set the name of “{ $user }” to “{ $name }” in the application “{ $application }”
action-rename-account = Set the name of “{ $user }” to “{ $name }” in the application “{ $application }”, in place of “{ $account }”
action-terminate-account = Close the account “{ $account }” of “{ $user }” in the application “{ $application }” for ever
action-delete-account = Delete the account “{ $account }” of “{ $user }” in the application “{ $application }”
action-import-users = Import { $count ->
        [one] { $count } user
       *[other] { $count } users
    }: { $created } new, { $changed } updated
action-import-accounts = Import { $count ->
        [one] { $count } account
       *[other] { $count } accounts
    } of the application “{ $application }”: { $created } new, { $changed } updated
action-import-renamed = { $import }, { $count } with another name
action-import-readdressed = { $import }, { $count } with another email address
action-import-confirmed = { $import }, { $count } whose email address is confirmed
action-import-named-by-other-address = { $import }, { $count } with a name that is an address but not the user’s email address
action-create-application = Create the application “{ $application }”
action-change-application = Change the application “{ $application }”: { $members }
action-apply-metadata = Change the application “{ $application }” to match its metadata: { $members }
action-delete-application = Delete the application “{ $application }”
action-create-recovery-codes = Create new recovery codes for “{ $user }”. Each of them can set up a new phone. The old ones end once the new ones are confirmed
action-rotate-client-secret = Rotate the client secret of “{ $application }”
action-create-client-secret = Create a client secret for “{ $application }”
action-create-registration-token = Create the initial access token “{ $name }”, with which { $count ->
        [one] { $count } application registers itself
       *[other] { $count } applications register themselves
    }, { $daily } on a day, until { $until } (UTC)
action-registration-scopes = The applications may have the scopes { $scopes }
action-registration-hosts = Their redirect URIs have the hosts { $hosts }
action-registration-any-host = Their redirect URIs have any host
action-registration-types = Their application types are { $types }
action-registration-profile = Their security profile is { $profile }
action-register-details-type = Register the type of authorization details “{ $name }”
action-replace-details-type = Replace the type of authorization details “{ $name }”
action-details-type-english = Its English text is “{ $text }”
action-details-type-german = Its German text is “{ $text }”
action-details-type-invalid = Its schema is not valid
action-details-type-second = A member of the group { $group } must approve each request with it, too
action-details-text = “{ $member }” is a text of { $least } to { $most } characters
action-details-choice = “{ $member }” is one of { $choices }
action-details-integer = “{ $member }” is a whole number
action-details-integer-from = “{ $member }” is a whole number of { $least } at least
action-details-integer-to = “{ $member }” is a whole number of { $most } at most
action-details-integer-between = “{ $member }” is a whole number from { $least } to { $most }
action-details-object = “{ $member }” has members
action-details-list = { $values }, in a list of { $least } to { $most }
action-details-optional = { $values }, and may be absent
action-create-second-client-secret = Create a second client secret for “{ $application }”. The first one stays valid.
action-delete-client-secret = Delete the client secret of “{ $application }” from { $day } (UTC; its ID ends with { $end })
action-issue-certificate = Publish the next certificate of “{ $application }”
action-activate-certificate = Activate the certificate with the SHA-256 digest { $digest } for “{ $application }”
action-withdraw-certificate = Withdraw the certificate with the SHA-256 digest { $digest } of “{ $application }”
action-member = { $member }
action-member-name = name
action-member-redirect-uris = redirect URIs
action-member-post-logout-redirect-uris = post-logout redirect URIs
action-member-scopes = scopes
action-member-admin-scopes = admin scopes
action-member-consent = consent
action-member-certificates = certificates
action-member-custom-attributes = custom attributes
action-member-single-logout = single logout
action-member-initiate-login-uri = start address
action-member-backchannel-logout-uri = back-channel logout URI
action-member-frontchannel-logout-uri = front-channel logout URI
action-member-removed = no { $member }
action-member-text = { $member } “{ $value }”
action-member-list = { $member } ({ $values })
action-member-value = { $member } { $value }
action-its-name = Its name is “{ $name }”
action-its-client-id = Its Client ID is { $id }
action-its-entity-id = Its entity ID is “{ $id }”
action-enable-application = Enable the application “{ $application }”: its users can sign in to it
action-disable-application = Disable the application “{ $application }”: no user can sign in to it, and its tokens are no longer valid
action-no-admin-scopes = It has no admin scopes
action-admin-scopes = It has the admin scopes { $scopes }
action-lenient-audience = Its client assertions may be addressed to the token endpoint, which other servers can abuse
action-starts-at = Users open it from their start page at { $address }
action-starts-nowhere = Users cannot open it from their start page
action-answers-nowhere = No address receives its responses
action-answers-kept = Addresses for responses, unchanged: { $kept }
action-answers-new = Addresses for responses, new: { $new }
action-answers-both = Addresses for responses, new: { $new }; unchanged: { $kept }
action-returns-nowhere = No return address after signing out
action-returns-kept = Return addresses after signing out, unchanged: { $kept }
action-returns-new = Return addresses after signing out, new: { $new }
action-returns-both = Return addresses after signing out, new: { $new }; unchanged: { $kept }
action-notified-at = It is notified of the end of sessions at { $address }
action-notified-with-name = It is notified of the end of sessions, with the name of the user, at { $addresses } by { $binding }
action-logout-page = Browsers open its sign-out page at the end of sessions at { $address }
action-no-logout-page = Browsers no longer open its sign-out page at the end of sessions
action-not-notified = It is no longer notified of the end of sessions
action-receives = It receives { $values } as “{ $name }”
action-receives-no-more = It no longer receives “{ $name }” as before
action-metadata-at = Its metadata is read from { $address }
action-metadata-nowhere = It has no metadata address
action-key-none = It authenticates with no key
action-key-known = It authenticates as before with the key with the thumbprint { $known }
action-key-new = It authenticates with the key with the thumbprint { $new }
action-key-both = It authenticates with the key with the thumbprint { $new }; as before with the key with the thumbprint { $known }
action-keys-at = It authenticates with the keys at { $address }
action-request-keys = Its signed requests are verified with the key with the thumbprint { $keys }
action-request-keys-at = Its signed requests are verified with the keys at { $address }
action-request-keys-none = It has no keys for signed requests
action-certificate-none = It authenticates with no certificate
action-certificate-known = It authenticates as before with the certificate with the SHA-256 digest { $known }
action-certificate-new = It authenticates with the certificate with the SHA-256 digest { $new }
action-certificate-both = It authenticates with the certificate with the SHA-256 digest { $new }; as before with the certificate with the SHA-256 digest { $known }
action-certificate-name = It authenticates with any certificate of the authorities of this server that has the { $kind } “{ $name }”
action-new-client-secret = It authenticates with a new client secret
action-rotate-key = Sign ID tokens with a new { $algorithm } key
action-rotate-key-now = Sign ID tokens with a new { $algorithm } key, in a few minutes
action-rotate-keys = Sign ID tokens with a new key of each algorithm
action-rotate-keys-now = Sign ID tokens with a new key of each algorithm, in a few minutes
action-revoke-key = Revoke the signing key { $key }
action-rotate-receipt-key = Sign receipts with a new key
action-rotate-receipt-key-now = Sign receipts with a new key, in a few minutes
action-revoke-receipt-key = Revoke the receipt key { $key }: its receipts are no longer valid by themselves
action-reload-plugins = Reload the plugins
action-roll-back-plugins = Roll back to the previous plugins: { $plugins }
action-try-component = Run a new component as the plugin “{ $plugin }”, with the SHA-256 digest { $digest }
action-apply-manifest = Apply the manifest of { $owner }: { $created } new, { $updated } updated, { $deleted } deleted. Changes: { $objects }. Plan { $digest }

action-adopt-application = The manifest of { $owner } manages the application “{ $application }” from now on, by the key { $key }
action-adopt-group = The manifest of { $owner } manages the group “{ $group }” from now on, by the key { $key }
action-create-group = Create the group “{ $group }”
action-describe-group = Change the description of the group “{ $group }”
action-group-receives = Add to the group “{ $group }”: { $users }
action-group-loses = Remove from the group “{ $group }”: { $users }
action-change-logo = Change the logo of the application with the key { $key }
action-give-account = Give “{ $user }” access to the application “{ $application }”
action-remove-account = Remove the account of “{ $user }” in the application “{ $application }”
action-its-id = Its id is { $id }
action-id-of-application = The id of the application is { $id }
action-application-is-new = The same manifest creates the application
action-consumer = { $address } (index { $index })
action-unchanged-count = { $count } addresses
action-manifest-more = { $count } further changes grant no access: new applications, empty groups, logos and descriptions
action-answers-default = The default address for responses is { $address }
action-rename-group = Rename the group “{ $group }” to “{ $name }”, which applications receive
action-delete-group = Delete the group “{ $group }”; its members lose the access that it grants
action-replace-members = Change the members of the group “{ $group }”: { $added } added, { $removed } removed
action-assign-group = Give the members of the group “{ $group }” access to the application “{ $application }”
action-assign-everyone = Give everyone access to the application “{ $application }”
action-assign-roles = They have the roles there: { $roles }
action-assign-without-roles = They have no roles there
action-assign-before-roles = Before they had: { $roles }
action-assign-before-without-roles = Before they had no roles
action-unassign-group = Remove the access of the group “{ $group }” to the application “{ $application }”
action-unassign-everyone = Remove the access to the application “{ $application }” that users have neither by an account nor by a group

## Security card and recovery codes in the portal

security = Your security
on-phone-add = Open the authenticator on a phone that is already set up, and choose “Set up another device” there.
on-phone-protection = Open the authenticator on your phone, and choose “Protect with face, finger or PIN” there.
on-phone-code = A code that opens the authenticator on your phone
on-phone-scan = Open the authenticator on your phone
on-phone-scan-about = Scan this code with your phone’s camera. It leads to exactly this place.
on-phone-here = Open it in this browser
on-phone-here-about = Did you set up the authenticator in this browser? Then open it here.
security-devices = Devices
security-devices-none = No device can approve for you.
security-devices-one = One device. If you lose it, you need a recovery code.
security-devices-several = { $count } devices can approve for you.
security-devices-add = Set up another device
security-devices-manage = Show devices
security-codes = Recovery codes
security-codes-none = No recovery codes. If you lose your devices, only your administrator can help.
security-codes-left = { $count ->
        [one] One valid recovery code
       *[other] { $count } valid recovery codes
    }
security-codes-create = Create recovery codes
security-codes-renew = Create new codes
security-lock = Face, finger or PIN
security-lock-on = Each approval needs face, finger or PIN.
security-lock-off = Off. Anyone who can unlock your phone can approve for you.
security-lock-partly = { $count ->
        [one] Off on one device
       *[other] Off on { $count } devices
    }
security-lock-turn-on = Turn it on
security-lock-manage = Open the authenticator
portal-codes = Recovery codes
portal-codes-lead = With a recovery code you set up a new phone if you lose yours. Each code works once.
portal-codes-manage = Manage recovery codes
portal-codes-approval = Your phone asks you to approve new codes.
portal-codes-approval-earlier = Your old codes stay valid until you confirm that you saved the new ones.
portal-codes-create = Create new codes
portal-codes-back = Back
portal-codes-cannot-ask = Your phone can’t be asked right now. Wait a minute, or sign in again with your phone, then try again. You can also create the codes in the authenticator.
portal-codes-approve = Approve on your phone
portal-codes-number = To create new recovery codes, open the authenticator and type this number.
portal-codes-cancel = Cancel
portal-codes-approved = Approved
portal-codes-approved-lead = The new codes are shown once. Have something ready to write them down or print them.
portal-codes-show = Show my new codes
portal-codes-denied = You denied new recovery codes. Nothing was changed.
portal-codes-ended = This request expired, or its codes were shown already.
portal-codes-new = Your new recovery codes
portal-codes-once = They are only shown now. Print them, or write them down, and keep them where your phone is not.
portal-codes-where = If you lose your phone, open { $address } and type one of them.
portal-codes-confirm-about = Your old codes stay valid until you confirm that you saved these. If you don’t confirm within 30 minutes, these never become valid.
portal-codes-confirm-first = They are valid from the moment you confirm that you saved them. If you don’t confirm within 30 minutes, they never become valid.
portal-codes-confirm = I have saved them
portal-codes-discard = Discard them
portal-codes-confirmed = Your new recovery codes are valid. Older codes no longer work.
portal-codes-unconfirmed = These codes can’t be confirmed any more.

## Email

mail-invitation-subject = Your invitation to sign in at { $operator }
mail-greeting = Hello { $name },
mail-invitation-lead = { $operator } invites you to sign in without a password. Your phone approves each sign-in instead.
mail-invitation-steps = Open this link on your phone. On a computer, it shows a code that you scan with your phone.
mail-invitation-link = Set up my phone
mail-invitation-expires = The link works once, until { $date } at { $time } (UTC).
mail-invitation-private = Do not forward it. Anyone who opens it first can sign in as you.
mail-support = Questions? Contact { $support }.
mail-foot = { $operator } sent this email automatically from { $address }. It never asks for a password.
mail-test-subject = Test email from { $operator }
mail-test-text = This is a test. The server can send email with its current settings.

## What happened: invitations

activity-invitation-sent = Your invitation was sent by email
activity-invitation-failed = Your invitation could not be sent by email
activity-invitation-resent = Your invitation link was replaced, and the earlier link is no longer valid
activity-invitation-withdrawn = Your setup link was withdrawn
activity-mail-tested = A test email was sent

## Passkeys that sign in on the login page

login-passkey = Sign in with a passkey
login-passkey-failed = That passkey can’t sign you in here. Use another way, or turn it on first: open the authenticator on that device and choose “Turn on passkey sign‑in”.
devices-passkey = Sign-in with its passkey
devices-passkey-on = Allowed, where an application permits it
devices-passkey-stop = Turn off passkey sign-in
devices-passkey-stop-label = Turn off passkey sign-in: { $device }
devices-passkey-stopped = That device’s passkey no longer signs you in.
activity-passkey-approved = You signed in to { $application } with a passkey
activity-passkey-sign-in-allowed = Sign-in with a passkey allowed: { $device }
activity-passkey-sign-in-stopped = Sign-in with a passkey no longer allowed: { $device }
app-passkey-sign-in-offer = Some applications let you sign in with only this device’s passkey, without a request to approve.
app-passkey-sign-in-allow = Turn on passkey sign-in
app-passkey-sign-in-set = This device’s passkey also signs you in, where an application permits it.
app-passkey-sign-in-stop = Turn off passkey sign-in
app-passkey-sign-in-allowed = You can now sign in with this device’s passkey.
app-passkey-sign-in-stopped = This device’s passkey no longer signs you in.
app-devices-passkey-sign-in = Its passkey signs you in
app-notification-passkey-sign-in-allowed = { $day }, { $time }: the passkey of the device “{ $device }” can now sign you in.
app-notification-passkey-sign-in-stopped = { $day }, { $time }: the passkey of the device “{ $device }” no longer signs you in.
action-passkeys-permitted = Users who agreed to it sign in with a passkey, without a request on a device
action-unconfirmed-email-permitted = It receives email addresses that are not confirmed, so a user may appear as another user
action-unconfirmed-email-refused = It receives only confirmed email addresses
action-pkce-required = It must use PKCE
action-pkce-optional = It may omit PKCE, so an attacker may insert a stolen code into a sign-in
action-passkeys-refused = No user signs in to it with only a passkey
