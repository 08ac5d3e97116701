# Was die Seiten und der Authenticator auf Deutsch sagen. Dieselben Texte mit denselben Werten wie in en.ftl.

## Jede Seite

layout-skip = Zum Inhalt springen
layout-foot = { $operator } fragt nie nach einem Passwort und ruft nie an, um nach einer Zahl zu fragen.
layout-sign-out = Abmelden
start-page = Startseite
date = { $day }. { $month ->
        [1] Januar
        [2] Februar
        [3] März
        [4] April
        [5] Mai
        [6] Juni
        [7] Juli
        [8] August
        [9] September
        [10] Oktober
        [11] November
       *[12] Dezember
    } { $year }

## Anmelden: Wer sind Sie?

login-title = Bei { $application } anmelden
login-lead = Ganz ohne Passwort. Ihr Smartphone bittet Sie um Bestätigung.
login-lead-passkey = Ganz ohne Passwort. Bestätigen Sie auf Ihrem Smartphone, oder nutzen Sie einen Passkey.
login-continue-as = Weiter als { $name }
login-recent = Sie haben sich in einem anderen Tab als { $name } angemeldet.
login-other-user = Oder mit einem anderen Konto anmelden:
login-name = Kontoname oder E-Mail-Adresse
login-name-invalid = Geben Sie Ihren Kontonamen oder Ihre E‑Mail-Adresse ohne Leerzeichen ein.
login-name-character = Ein Name kann { $character } nicht enthalten. Das ist Zeichen { $position } Ihrer Eingabe.
login-name-domain = Der Teil nach @ ist kein Domainname.
login-continue = Weiter
login-remember = Diesen Namen in diesem Browser merken
login-code = Ein Code für den Authenticator auf Ihrem Smartphone
login-scan = Mit einem Code anmelden
login-scan-about = Scannen Sie ihn mit der Kamera Ihres Smartphones. Ein Kontoname ist nicht nötig.
login-scanned = Ich habe ihn gescannt
login-or = oder
login-scan-here = Den Authenticator auf diesem Smartphone verwenden
login-here = Auf diesem Gerät bestätigen
login-here-about = Mit dem Authenticator in diesem Browser. Sie brauchen keine Zahl.
login-guide = Wie funktioniert das?
login-guide-name = Geben Sie hier Ihren Kontonamen ein.
login-guide-number = Diese Seite zeigt Ihnen eine Zahl.
login-guide-phone = Geben Sie die Zahl im Authenticator auf Ihrem Smartphone ein.
login-leave = Abbrechen und zurück zu { $application }

## Anmelden: die Zahl für das Smartphone

waiting-title = Auf dem Smartphone bestätigen
waiting-lead = Öffnen Sie den Authenticator auf Ihrem Smartphone und geben Sie diese Zahl ein:
waiting-lead-here = Auf einem anderen Smartphone: diese Zahl eingeben
waiting-title-delegated = Diese Anmeldung bestätigen
waiting-lead-delegated = Bestätigen Sie in Ihrer Authenticator-App. Falls sie nach einer Zahl fragt:
waiting-binding = Falls sie Buchstaben zeigt, bestätigen Sie nur, wenn es diese sind:
waiting-left =
    { $seconds ->
        [one] noch { $seconds } Sekunde
       *[other] noch { $seconds } Sekunden
    }
waiting-left-minutes =
    { $minutes ->
        [one] noch { $minutes } Minute
       *[other] noch { $minutes } Minuten
    } { $seconds ->
        [one] { $seconds } Sekunde
       *[other] { $seconds } Sekunden
    }
waiting-left-whole =
    { $minutes ->
        [one] noch { $minutes } Minute
       *[other] noch { $minutes } Minuten
    }
waiting-application = Anwendung
waiting-name = Konto
waiting-continues = Sobald Sie bestätigt haben, geht es hier von selbst weiter.
waiting-nothing = Auf dem Smartphone erscheint nichts?
waiting-nothing-about = Öffnen Sie dort den Authenticator: Er zeigt, ob Sie offline sind oder ob Anfragen angehalten sind.
waiting-again = Neu beginnen
waiting-scan = Oder scannen Sie diesen Code
waiting-scan-about = Scannen Sie ihn mit der Kamera Ihres Smartphones. Das geht auch, wenn die Anmeldung dort nicht erscheint.
waiting-cancel = Anmeldung abbrechen
waiting-foot = Nennen Sie diese Zahl niemandem, der Sie anruft oder Ihnen schreibt.

## Anmelden: wessen Konto es ist, nach einer Anmeldung per QR-Code

confirm-title = Als { $name } anmelden?
confirm-lead = Sie melden sich gleich bei { $application } als { $name } ({ $account }) an.
confirm-about = Ein Smartphone hat den Code dieser Seite gescannt und die Anmeldung bestätigt. Fahren Sie nur fort, wenn das Ihr Konto ist.
confirm-continue = Weiter
confirm-report = Das bin ich nicht

## Anmelden: ohne Erfolg beendet

ended-denied = Anmeldung abgelehnt
ended-denied-happened = Die Anfrage wurde auf dem Smartphone abgelehnt. Niemand wurde angemeldet.
ended-denied-advice = Aus Versehen abgelehnt? Versuchen Sie es noch einmal. Sind Anfragen gerade angehalten, setzen Sie sie im Authenticator fort. Sie waren das nicht? Sagen Sie Ihrer Administration Bescheid.
ended-expired = Zeit abgelaufen
ended-expired-happened = Die Bestätigung kam nicht rechtzeitig. Niemand wurde angemeldet.
ended-expired-advice = Prüfen Sie, ob „{ $name }“ stimmt und ob Ihr Smartphone eingerichtet und online ist. Hilft das nicht, wenden Sie sich an Ihre Administration.
ended-expired-advice-unnamed = Prüfen Sie, ob Ihr Smartphone eingerichtet und online ist. Hilft das nicht, wenden Sie sich an Ihre Administration.
ended-cancelled = Anmeldung abgebrochen
ended-cancelled-happened = Sie haben diese Anmeldung abgebrochen. Niemand wurde angemeldet.
ended-cancelled-advice = Versuchen Sie es noch einmal, wenn Sie so weit sind, oder kehren Sie zur Anwendung zurück.
ended-conflict = Zwei Anmeldungen zur selben Zeit
ended-conflict-happened = Zwei Anmeldungen mit diesem Namen wurden zur selben Zeit begonnen, deshalb lässt sich keine bestätigen. Niemand wurde angemeldet.
ended-conflict-advice = Versuchen Sie es noch einmal und scannen Sie den QR‑Code der Anmeldeseite, oder versuchen Sie es in einigen Minuten wieder.
ended-number-mismatch = Falsche Zahl
ended-number-mismatch-happened = Die Zahl wurde auf dem Smartphone zu oft falsch eingegeben. Niemand wurde angemeldet.
ended-number-mismatch-advice = Versuchen Sie es noch einmal, und geben Sie die Zahl ein, die die Seite dann zeigt. Sie waren das nicht? Sagen Sie Ihrer Administration Bescheid.
ended-replaced = Sie haben in einem anderen Tab neu begonnen
ended-replaced-happened = Eine neuere Anmeldung mit diesem Namen in diesem Browser hat diese ersetzt.
ended-replaced-advice = Machen Sie im anderen Tab weiter. Wenn Sie ihn geschlossen haben, versuchen Sie es hier noch einmal.
ended-rejected = Anmeldung nicht möglich
ended-rejected-advice = Wenn Sie Zugriff brauchen, wenden Sie sich an Ihre Administration und nennen Sie die Referenz.
ended-returns =
    { $seconds ->
        [one] In { $seconds } Sekunde kehren Sie zu { $application } zurück.
       *[other] In { $seconds } Sekunden kehren Sie zu { $application } zurück.
    }
ended-stay = Auf dieser Seite bleiben
ended-copy = Referenz kopieren
ended-copied = Kopiert. Diese Seite bleibt offen.
ended-copy-failed = Der Browser hat es nicht erlaubt. Markieren Sie die Referenz und kopieren Sie sie.
ended-again = Noch einmal versuchen
ended-other-account = Ein anderes Konto verwenden
ended-leave = Zurück zu { $application }
rejected-address-not-confirmed = Ihre E‑Mail-Adresse ist noch nicht bestätigt. { $application } erkennt Sie daran. Bitten Sie Ihre Administration, sie zu bestätigen.
rejected-user-inactive = Ihr Konto ist gesperrt oder stillgelegt.
rejected-other-test-sign-in = Jemand von der Administration testet die Anmeldung bei dieser Anwendung, und nur diese Person kann sie abschließen. Über Sie wurde nichts verraten.
rejected-application-deleted = Die Anwendung wurde entfernt, während Sie sich angemeldet haben.
rejected-application-disabled = { $application } wurde von der Administration deaktiviert. Zurzeit kann sich dort niemand anmelden.
rejected-redirect-uri-removed = Die Anwendung nimmt an der Adresse, für die sie diese Anmeldung angefragt hat, keine Anmeldungen mehr an.
rejected-by-plugin = { $reason }
rejected-no-account = Sie haben kein Konto bei { $application }.
rejected-account-inactive = Ihr Konto bei { $application } ist gesperrt oder stillgelegt.

## Einwilligung

consent-title = { $application } den Zugriff auf Ihr Konto erlauben?
continue-title = In { $application } weitermachen?
continue-lead = Ein Programm auf diesem Gerät möchte Sie bei { $application } anmelden. Fahren Sie nur fort, wenn Sie { $application } gerade geöffnet haben.
consent-lead = Angemeldet als { $name }. { $application } möchte:
consent-details = Nur dieses Mal, und so, wie Sie es in Ihrem Authenticator gesehen haben:
consent-information = Mehr von { $application }, in einem neuen Tab:
consent-policy = Datenschutzerklärung
consent-terms = Nutzungsbedingungen
consent-about = Über diese Anwendung
consent-contacts = Kontakt:
consent-allow = Erlauben
consent-deny = Ablehnen
consent-offline = Sie werden bei jeder neuen Anmeldung, die das verlangt, wieder gefragt.
consent-offline-about = Auch während Sie abgemeldet sind, bis Sie die Berechtigung widerrufen.
consent-remembered =
    { $days ->
        [one] Gilt { $days } Tag lang.
       *[other] Gilt { $days } Tage lang.
    }
consent-withdraw = Auf der Startseite von { $operator } können Sie das unter Berechtigungen jederzeit widerrufen.
consent-test = Das ist eine Testanmeldung der Administration. Die Berechtigung wird nicht gespeichert.
consent-not-you = Nicht { $name }?
consent-other-user = Mit einem anderen Konto anmelden
scope-openid = Ihre Identität bestätigen
scope-profile = Ihren Namen und Ihr Profil sehen
scope-account = Ihr Konto und Ihre Rollen in der Anwendung sehen
scope-email = Ihre E-Mail-Adresse sehen
scope-phone = Ihre Telefonnummer sehen
scope-address = Ihre Postanschrift sehen
scope-groups = Ihre Gruppen sehen, die zu dieser Anwendung gehören
scope-offline-access = Zugriff behalten, auch wenn Sie nicht da sind
scope-value = { $scope }: { $value }

## Auf dem Weg zu einer Anwendung

response-title = Zurück zu { $application }
response-title-unknown = Zurück zur Anwendung
response-lead = Hier geht es von selbst weiter. Wenn nicht, drücken Sie den Knopf.
response-continue = Weiter
already-title = Sie sind angemeldet
already-sent = Die Antwort wurde gesendet
already-lead = { $application } hat die Antwort schon erhalten.
already-open = { $application } öffnen
saml-title = Weiter zu { $application }
saml-start-title = Bei { $application } anmelden
saml-start-heading = Bei { $application } anmelden?
saml-start-lead = Nicht die Anwendung, sondern ein Link möchte Sie dort anmelden. Fahren Sie nur fort, wenn Sie das wollen.
saml-start-go = Anmelden

## Die Startseite

home-title = Anmelden ohne Passwort
home-lead = { $operator } meldet Sie bei Ihren Anwendungen an. Jede Anmeldung bestätigen Sie auf Ihrem Smartphone; es gibt kein Passwort, das man sich merken oder verlieren könnte.
home-hello = Guten Tag, { $name }
home-hello-lead = Sie sind angemeldet. Melden Sie sich am Ende ab, wenn andere diesen Computer mitbenutzen.
home-sign-in = Anmelden
home-sign-in-about = Zu Ihren Anwendungen, Geräten, Sitzungen und Berechtigungen.
home-authenticator = Authenticator
home-authenticator-about = Auf dem Smartphone: Anmeldungen bestätigen oder ablehnen, dieses Smartphone einrichten oder entfernen.
home-administration = Konsole
home-administration-about = Anwendungen, Benutzer und wie sie zusammenhängen.
home-applications = Ihre Anwendungen
home-start-there = Sie können auch in einer Anwendung beginnen. Zum Anmelden führt sie Sie hierher.

## Das Portal

portal-navigation = Ihr Konto
portal-applications = Anwendungen
portal-devices = Geräte
portal-sessions = Sitzungen
portal-consents = Berechtigungen
portal-requests = Anfragen
portal-activity = Verlauf
portal-profile = Profil
portal-time = { $date }, { $time } Uhr (UTC)
portal-not-known = Nicht bekannt
portal-not-found = Nicht gefunden. Vielleicht wurde es entfernt.
portal-not-found-advice = Gehen Sie zurück zur aktuellen Liste.
applications-none = Sie haben noch keine Anwendungen. Bitten Sie Ihre Administration um Zugang.
applications-open = Öffnen
applications-open-label = { $application } öffnen
applications-no-link = Öffnen Sie sie in der App selbst
applications-filter = Ihre Anwendungen durchsuchen
applications-no-match = Keine Anwendung heißt so.
devices-heading = Ihre Geräte
devices-lead = Jedes davon kann Anmeldungen mit Ihrem Namen bestätigen. Entfernen Sie eines, das Sie verloren oder verkauft haben oder nicht kennen.
devices-none = Sie haben kein Gerät, das bestätigen kann. Sobald Sie abgemeldet sind, brauchen Sie zum Anmelden einen Wiederherstellungscode oder einen neuen Link von Ihrer Administration.
devices-added = Eingerichtet
devices-used = Zuletzt benutzt
devices-unused = Nie
devices-protection = Gesicht, Finger oder PIN
devices-protection-on = Ein
devices-protection-off = Aus
devices-rename = Umbenennen
devices-name = Neuer Name
devices-name-invalid = Geben Sie dem Gerät einen Namen mit 1 bis 80 Zeichen.
devices-rename-save = Namen speichern
devices-renamed = Das Gerät hat seinen neuen Namen.
devices-revoke = Entfernen
devices-revoke-label = { $device } entfernen
devices-revoke-title = { $device } entfernen?
devices-revoke-follows-approve = Es kann nichts mehr bestätigen. Eine offene Anmeldeanfrage endet.
devices-revoke-follows-sessions = Jeder Browser, den es angemeldet hat, wird abgemeldet – auch dieser hier, falls er damit bestätigt wurde.
devices-revoke-follows-final = Das lässt sich nicht rückgängig machen. Um das Gerät wieder zu benutzen, müssen Sie es neu einrichten.
devices-revoke-codes = Die Wiederherstellungscodes, die es erzeugt hat, gelten dann nicht mehr: Wer es hat, könnte sie erzeugt haben.
devices-revoke-codes-keep = Weiter gelten lassen: Ich habe diese Codes erzeugt, und niemand sonst hat sie
devices-revoke-last = Das ist Ihr letztes Gerät. Ohne es können Sie sich nicht mehr anmelden, bis Sie einen Wiederherstellungscode verwenden, der noch gilt, oder Ihre Administration Ihnen einen neuen Link gibt.
devices-revoke-yes = Gerät entfernen
devices-revoke-no = Behalten
devices-revoked = Das Gerät ist entfernt, und die Browser, die es angemeldet hat, sind abgemeldet.
devices-revoked-not-notified = Das Gerät ist entfernt, und die Browser, die es angemeldet hat, sind abgemeldet. Einigen Anwendungen dort lässt sich das von hier aus nicht mitteilen: Wer sie dort offen hat, ist bei diesen vielleicht noch angemeldet.
devices-add = Ein Gerät einrichten
devices-add-about = Öffnen Sie den Authenticator auf einem Smartphone, das schon eingerichtet ist, und richten Sie das neue von dort aus ein. Hier geht das nicht, damit niemand sonst in Ihrem offenen Browser ein eigenes Gerät einrichten kann.
sessions-heading = Wo Sie angemeldet sind
sessions-lead = Melden Sie ab, was Sie nicht kennen oder nicht mehr benutzen.
sessions-here = Dieser Browser
sessions-place = Ort
sessions-started = Angemeldet
sessions-used = Zuletzt benutzt
sessions-ends = Endet spätestens
sessions-end = Dort abmelden
sessions-end-here = Hier abmelden
sessions-all = Mehrere Browser abmelden
sessions-all-about = Damit werden Sie auch aus den Anwendungen abgemeldet, die in diesen Browsern geöffnet sind. Anwendungen mit Offline-Zugriff behalten ihn; widerrufen Sie ihn unter Berechtigungen.
sessions-end-others = Alle anderen abmelden
sessions-end-all = Überall abmelden
sessions-without-browser = Ohne Browser bestätigt
sessions-end-without-browser = Diese Sitzung beenden
sessions-ended = Der Browser ist abgemeldet.
sessions-ended-not-notified = Der Browser ist abgemeldet. Einigen Anwendungen dort lässt sich das von hier aus nicht mitteilen: Wer sie dort offen hat, ist bei diesen vielleicht noch angemeldet.
sessions-others-ended = Alle anderen Browser sind abgemeldet.
sessions-others-ended-not-notified = Alle anderen Browser sind abgemeldet. Einigen Anwendungen dort lässt sich das von hier aus nicht mitteilen: Wer sie dort offen hat, ist bei diesen vielleicht noch angemeldet.
requests-heading = Anfragen ohne Browser
requests-lead = Diese Anwendungen können Sie auf Ihrem Smartphone fragen, zum Beispiel während eines Telefonats. Stoppen Sie die, von denen Sie keine Anfragen erwarten.
requests-paused = Alle Anfragen pausieren
requests-paused-about = Nach Ablehnungen oder einer Meldung erreicht keine Anfrage Ihr Smartphone. Ende der Pause:
requests-resume = Pause jetzt beenden
requests-resumed = Die Pause ist beendet. Anfragen erreichen Ihr Smartphone wieder.
requests-none-may = Keine Anwendung kann Sie ohne Browser fragen.
requests-permitted = Ihre Anfragen erreichen Ihr Smartphone.
requests-stopped-since = Sie haben ihre Anfragen gestoppt:
requests-paused-until = Sie haben eine Anfrage abgelehnt oder gemeldet. Ende der Pause:
requests-paused-unanswered = Sie haben mehrere Anfragen nicht beantwortet. Ende der Pause:
requests-stop = Anfragen stoppen
requests-stop-label = Anfragen stoppen: { $application }
requests-stopped = Ihre Anfragen erreichen Ihr Smartphone nicht mehr. Für die Anwendung laufen sie ab.
requests-permit = Anfragen wieder zulassen
requests-permit-label = Anfragen wieder zulassen: { $application }
requests-permitted-again = Ihre Anfragen erreichen Ihr Smartphone wieder.
requests-asked = Was sie gefragt haben
requests-asked-about = Die Anfragen der letzten 30 Tage, die neueste zuerst.
requests-asked-none = Keine Anwendung hat Sie gefragt.
requests-requested = Gefragt
requests-decided = Beantwortet
requests-device = auf { $device }
requests-waiting = Wartet auf Sie
requests-approved = Sie haben bestätigt
requests-denied = Sie haben abgelehnt
requests-reported = Sie haben sie gemeldet
requests-expired = Ohne Antwort abgelaufen
requests-not-shown = Nicht auf Ihrem Smartphone gezeigt
requests-withdrawn = Ohne Ergebnis beendet
requests-number-mismatch = Nach falschen Zahlen beendet
consents-heading = Erteilte Berechtigungen
consents-lead = Wenn Sie eine Berechtigung widerrufen, verliert die Anwendung den Zugriff sofort und muss Sie neu fragen.
consents-none = Zurzeit hat keine Anwendung eine Berechtigung.
consents-title = { $application } darf
consents-since = Erlaubt am { $since }.
consents-until = Bis zum { $until } werden Sie nicht wieder gefragt.
consents-until-offline = Bis zum { $until } werden Sie nicht wieder gefragt, außer bei Anmeldungen, die dauerhaften Zugriff verlangen.
consents-withdraw = Widerrufen
consents-withdraw-label = Widerrufen, was { $application } darf
consents-withdrawn = { $application } hat keine Berechtigung mehr.
consents-withdrawn-asks = { $application } hat keine Berechtigung mehr und muss Sie wieder fragen.
activity-heading = Letzte Aktivitäten
activity-lead = Sie erkennen etwas nicht? Entfernen Sie unbekannte Geräte, melden Sie andere Browser ab, erzeugen Sie neue Wiederherstellungscodes, und wenden Sie sich an Ihre Administration.
activity-none = Noch keine Aktivitäten.
activity-none-of-kind = Hier ist nichts von dieser Art.
activity-kinds = Was angezeigt wird
activity-kind-all = Alles
activity-kind-sign-ins = Anmeldungen
activity-kind-devices = Geräte
activity-kind-changes = Änderungen
activity-newest = Zurück zum Neuesten
activity-older = Älteres
activity-not-me = Waren Sie das nicht?
activity-application = { $application }
activity-application-deleted-since = einer gelöschten Anwendung
activity-by-administrator = durch die Administration
activity-by-device = auf { $device }
activity-by-removed-device = auf einem inzwischen entfernten Gerät
activity-by-application = durch { $application }
activity-by-channel = über eine andere Bestätigungs-App
activity-by-other-user = durch eine andere Person, die sich dort angemeldet hat
activity-requested = Anmeldung bei { $application } angefragt
activity-request = Angefragt
activity-approved = Anmeldung bei { $application } bestätigt
activity-approved-by = bestätigt { $by }
activity-approved-by-passkey = mit einem Passkey
activity-approved-only = bestätigt
activity-denied = Anmeldung bei { $application } abgelehnt
activity-action-requested = Bestätigung angefragt: { $action }
activity-action-approved = Bestätigt: { $action }
activity-action-denied = Abgelehnt: { $action }
activity-action-reported = Als fremd gemeldet: { $action }
activity-action-number-mismatch = Falsche Zahl eingegeben für: { $action }
activity-rejected = Anmeldung bei { $application } nicht möglich. Referenz: { $reference }
activity-cancelled = Anmeldung bei { $application } im Browser abgebrochen
activity-expired = Anmeldung bei { $application } ohne Antwort abgelaufen
activity-reported = Anmeldung bei { $application } als fremd gemeldet
activity-number-mismatch = Falsche Zahl für eine Anmeldung bei { $application } eingegeben
activity-signed-in = Bei { $application } angemeldet
activity-signed-out = Abgemeldet
activity-session-ended = Andere Browser abgemeldet
activity-cooldown-started = Anmeldungen mit Ihrem Namen angehalten
activity-cooldown-lifted = Anmeldungen wieder zugelassen
activity-backchannel-stopped = Sie haben Anfragen ohne Browser von { $application } gestoppt
activity-backchannel-permitted = { $application } darf wieder ohne Browser fragen
activity-caller-check-requested = Der Helpdesk hat gefragt, ob Sie am Telefon sind
activity-caller-check-approved = Sie haben dem Helpdesk bestätigt, dass Sie am Telefon sind
activity-caller-check-denied = Sie haben dem Helpdesk gesagt, dass Sie nicht am Telefon sind
activity-caller-check-reported = Sie haben gemeldet, dass der Helpdesk nach einem fremden Anruf gefragt hat
activity-caller-check-number-mismatch = Falsche Zahl auf die Frage des Helpdesks, ob Sie am Telefon sind
activity-caller-check-ended = Der Helpdesk hat gefragt, ob Sie am Telefon sind, ohne Antwort
activity-enrolment-link = Link zum Einrichten eines Geräts für Sie erstellt
activity-device-enrolled = Gerät eingerichtet: { $device }
activity-device-renamed = Gerät umbenannt: { $device }
activity-device-revoked = Gerät entfernt: { $device }
activity-passkey-added = Bestätigungen durch Gesicht, Finger oder PIN geschützt: { $device }
activity-passkey-removed = Bestätigungen nicht mehr durch Gesicht, Finger oder PIN geschützt: { $device }
activity-passkey-clone-suspected = Anmeldung abgewiesen, da der Schutz vielleicht kopiert wurde: { $device }
activity-recovery-codes = Wiederherstellungscodes erzeugt
activity-recovery-used = Wiederherstellungscode verwendet
activity-recovery-failed = Wiederherstellung mit Ihrem Namen fehlgeschlagen: falscher oder schon verwendeter Code
activity-user-created = Ihr Konto wurde erstellt
activity-user-updated = Ihre Angaben wurden geändert
activity-user-active = Ihr Konto ist aktiv
activity-user-suspended = Ihr Konto wurde vorübergehend gesperrt
activity-user-terminated = Ihr Konto wurde stillgelegt
activity-user-erased = Ihre persönlichen Daten wurden gelöscht
activity-user-deleted = Ihr Konto wurde gelöscht
activity-users-exported = Eine Liste der Benutzer wurde exportiert
activity-users-imported = Eine Tabelle mit Benutzern wurde importiert
activity-account-created = Sie haben ein Konto bei { $application } erhalten
activity-account-updated = Ihr Konto bei { $application } wurde geändert
activity-account-active = Ihr Konto bei { $application } ist aktiv
activity-account-suspended = Ihr Konto bei { $application } wurde vorübergehend gesperrt
activity-account-terminated = Ihr Konto bei { $application } wurde stillgelegt
activity-account-deleted = Ihr Konto bei { $application } wurde entfernt
activity-access-exported = Eine Liste der Zugänge wurde exportiert
activity-report-settled = Die Administration hat Ihre Meldung erledigt
activity-accounts-exported = Eine Liste der Konten bei { $application } wurde exportiert
activity-accounts-imported = Eine Tabelle mit Konten bei { $application } wurde importiert
activity-group-created = Gruppe angelegt: „{ $group }“
activity-group-updated = Gruppe geändert: „{ $group }“
activity-group-deleted = Gruppe gelöscht: „{ $group }“
activity-group-member-added = Sie wurden Mitglied der Gruppe „{ $group }“
activity-group-member-removed = Sie sind kein Mitglied der Gruppe „{ $group }“ mehr
activity-group-members-exported = Eine Liste der Mitglieder der Gruppe „{ $group }“ wurde exportiert
activity-access-assigned = Mehr Benutzer haben Zugang zu { $application }
activity-access-removed = Weniger Benutzer haben Zugang zu { $application }
activity-external-authenticator-set = Eine andere Bestätigungs-App wurde für Sie eingerichtet
activity-external-authenticator-removed = Eine andere Bestätigungs-App wurde entfernt
activity-consent-granted = Berechtigung erteilt: { $application }
activity-consent-withdrawn = Berechtigung widerrufen: { $application }
activity-refresh-token-reused = Zugriff von { $application } beendet: Der Zugangsschlüssel wurde zweimal benutzt und ist vielleicht gestohlen
activity-backchannel-result-abandoned = { $application } konnte Ihre Antwort nicht mitgeteilt werden
activity-application-created = Anwendung angelegt: { $application }
activity-application-updated = Anwendung geändert: { $application }
activity-application-registered = Anwendung hat sich selbst registriert: { $application }
activity-application-deleted = Anwendung gelöscht: { $application }
activity-metadata-applied = Anwendung aus ihren Metadaten aktualisiert: { $application }
activity-secret-rotated = Neues Client Secret für eine Anwendung: { $application }
activity-secret-created = Weiteres Client Secret für eine Anwendung: { $application }
activity-secret-deleted = Client Secret einer Anwendung gelöscht: { $application }
activity-logo-set = Bild einer Anwendung gesetzt: { $application }
activity-logo-removed = Bild einer Anwendung entfernt: { $application }
activity-certificate-published = Nächstes Zertifikat veröffentlicht: { $application }
activity-certificate-activated = Nächstes Zertifikat in Gebrauch: { $application }
activity-certificate-withdrawn = Zertifikat zurückgezogen: { $application }
activity-key-published = Nächster Signaturschlüssel veröffentlicht
activity-key-activated = Nächster Signaturschlüssel in Gebrauch
activity-key-revoked = Signaturschlüssel widerrufen
activity-sealing-key-created = Versiegelungsschlüssel erstellt
activity-sealing-key-deleted = Ersetzte Versiegelungsschlüssel gelöscht
activity-tokens-revoked = Alle Zugriffs- und Refresh-Token widerrufen
activity-database-restored = Datensicherung wiederhergestellt
activity-plugins-reloaded = Plugins neu geladen
activity-plugins-rolled-back = Vorherige Plugins wiederhergestellt
activity-claims-compared = Ihre Administration hat ein Plugin mit Ihren Daten für { $application } getestet
activity-test-sign-in-started = Sie haben eine Testanmeldung bei einer Anwendung begonnen
activity-test-sign-in-ended = Ihre Testanmeldung bei einer Anwendung ist beendet
activity-admin-token-created = Zugangstoken für die Administration erstellt
activity-registration-token-created = Registrierungstoken für Anwendungen erstellt
activity-registration-token-deleted = Registrierungstoken für Anwendungen gelöscht
activity-details-type-registered = Typ von Autorisierungsdetails registriert
activity-details-type-deleted = Typ von Autorisierungsdetails gelöscht
profile-heading = Ihr Profil
profile-lead = Was { $operator } über Sie speichert. Wenn etwas nicht stimmt, bitten Sie Ihre Administration, es zu ändern.
profile-did-about = Die dezentrale Kennung ist ein fester Name, an dem Anwendungen Sie wiedererkennen können. Sie ist nicht geheim, und Sie brauchen sie sich nicht zu merken.
profile-login-name = Kontoname
profile-claims = Was Anwendungen sehen
profile-claims-about = Jede sieht ihren eigenen Teil, und manche erfahren nach den Regeln Ihrer Administration mehr.
profile-claims-of = Was { $application } sieht
claims-title = Was { $application } sieht
claims-now = Wenn Sie sich anmelden, erfährt { $application } dies über Sie:
claims-after-consent = { $application } muss Sie zuerst fragen. Wenn Sie alles erlauben, wonach gefragt werden kann, wird dies über Sie mitgeteilt:
claims-none = Nur, dass Sie sich angemeldet haben, und eine Kennung, an der die Anwendung Sie wiedererkennt.
claims-denied = Eine Regel verhindert Ihre Anmeldung bei { $application }, deshalb erfährt die Anwendung nichts. Grund: { $reason }
claims-failed = Was { $application } erfahren würde, lässt sich gerade nicht zusammenstellen; Sie können sich dort also auch nicht anmelden. Den Grund findet Ihre Administration im Protokoll.
claims-back = Zurück zu Ihrem Profil
claims-technical = Technische Angaben
claim-sub = Ihre Kennung dort
claim-name = Name
claim-given-name = Vorname
claim-family-name = Nachname
claim-middle-name = Weitere Vornamen
claim-nickname = Spitzname
claim-picture = Adresse eines Bildes
claim-profile = Adresse eines Profils
claim-website = Website
claim-gender = Geschlecht
claim-birthdate = Geburtsdatum
claim-zoneinfo = Zeitzone
claim-locale = Sprache
claim-preferred-username = Kontoname hier
claim-updated-at = Zuletzt geändert
claim-upn = Kontoname dort
claim-user-did = Dezentrale Kennung
claim-user-short-code = Kurzcode
claim-email = E-Mail-Adresse
claim-email-verified = E-Mail-Adresse geprüft
claim-phone-number = Telefonnummer
claim-phone-number-verified = Telefonnummer geprüft
claim-address = Postanschrift
claim-account = Ihr Konto dort
claim-groups = Gruppen
claim-other = { $name }
claim-value = { $value }
claim-member = { $name }: { $value }
claim-roles = Rollen
claim-nothing = Keine
claim-yes = Ja
claim-no = Nein

## Abmelden

sign-out-title = Abmelden?
sign-out-heading = Möchten Sie sich abmelden?
sign-out-lead = Sie sind als { $name } angemeldet.
sign-out-requested = { $application } möchte Sie abmelden.
sign-out-returns = Danach kehren Sie zu { $application } zurück.
sign-out-about = Damit endet die Anmeldung in diesem Browser, und die Anwendungen, die Sie damit genutzt haben, erfahren es.
sign-out-yes = Ja, abmelden
sign-out-no = Nein, angemeldet bleiben
signed-out-title = Abgemeldet
signed-out-heading = Sie sind abgemeldet
signed-out-lead = Sie sind in diesem Browser von { $operator } abgemeldet.
signed-out-confirmed = Diese Anwendungen haben die Abmeldung bestätigt:
signed-out-loaded = Dieser Browser hat die Abmeldeseiten dieser Anwendungen geöffnet. Ob Sie dort abgemeldet sind, ist nicht bekannt, denn Browser sperren oft die Cookies, die dazu nötig sind; bitte sehen Sie nach:
signed-out-unconfirmed = Diese Anwendungen haben die Abmeldung nicht bestätigt. Vielleicht sind Sie dort noch angemeldet; melden Sie sich auch dort ab:
signed-out-others = Einige Anwendungen ließen sich nicht benachrichtigen. Vielleicht sind Sie dort noch angemeldet.
signed-out-windows = Eine Anwendung lässt vielleicht ihr eigenes Fenster offen: Schließen Sie es, wenn auch andere diesen Computer benutzen.
signed-out-device = Das Gerät ist entfernt. Mit ihm war dieser Browser angemeldet, deshalb sind Sie auch hier abgemeldet.

test-sign-in-title = Testanmeldung
test-sign-in-done = Fertig: Die Anmeldung funktioniert
test-sign-in-failed = Die Anmeldung hat nicht funktioniert
test-sign-in-back = Gehen Sie zurück zum Tab der Konsole. Dort stehen jeder Schritt und das, was die Anwendung erfahren hätte.
test-sign-in-no-session = Sie sind dadurch nicht bei der Anwendung angemeldet und können diesen Tab schließen.
error-test-sign-in = Diese Testanmeldung ist beendet
error-test-sign-in-happened = In diesem Browser ist keine solche Testanmeldung offen. Sie wurde schon beantwortet, ihre Zeit ist abgelaufen, oder jemand anders hat sie begonnen.
error-test-sign-in-advice = Beginnen Sie in der Konsole eine neue Testanmeldung.
signing-out-title = Abmeldung
signing-out-heading = Sie werden abgemeldet
signing-out-lead = Bei { $operator } sind Sie abgemeldet. Jetzt wird { $application } benachrichtigt.
signing-out-position = { $turn } von { $of }. Das dauert ein paar Sekunden; bitte lassen Sie diese Seite offen.
signing-out-frame = Abmeldung bei { $application }
signing-out-frames-lead = Bei { $operator } sind Sie abgemeldet. Jetzt öffnet dieser Browser die Abmeldeseiten dieser Anwendungen. Das dauert ein paar Sekunden; bitte lassen Sie diese Seite offen.
signing-out-frame-loaded = – geöffnet
signing-out-frames-cookies = Wurde eine Abmeldeseite geöffnet, ist nicht bekannt, ob Sie bei der Anwendung abgemeldet sind, denn Browser sperren oft die Cookies, die dazu nötig sind. Wurde sie nicht geöffnet, sind Sie dort vielleicht noch angemeldet.
signing-out-answered = Die Anwendung hat geantwortet.
signing-out-continue = Weiter

## Fehlerseiten

error-reference = Referenz
error-request-id = Anfrage-ID
error-operator = Für die Betreiber der Anwendung
error-operator-application = Anwendung
error-operator-id = Anwendungs-ID
error-operator-client-id = Client ID
error-operator-address = Empfangene Adresse
error-operator-register = Gehört die Adresse zur Anwendung, registrieren Sie genau diese Adresse unter Anwendungen, Einstellungen.
error-operator-parameter = Parameter
error-support = Hilfe:
error-again = Noch einmal versuchen
error-sign-out = Abmelden
error-wait =
    { $seconds ->
        [one] Warten Sie { $seconds } Sekunde und versuchen Sie es dann noch einmal. Wenn die vielen Versuche nicht von Ihnen waren, sagen Sie Ihrer Administration Bescheid.
       *[other] Warten Sie { $seconds } Sekunden und versuchen Sie es dann noch einmal. Wenn die vielen Versuche nicht von Ihnen waren, sagen Sie Ihrer Administration Bescheid.
    }
error-internal = Da ist etwas schiefgegangen
error-internal-happened = Der Dienst konnte nicht antworten. Es wurde nichts geändert.
error-internal-advice = Versuchen Sie es gleich noch einmal. Wenn es nicht aufhört, nennen Sie Ihrer Administration die Referenz.
error-outage = Bitte versuchen Sie es noch einmal
error-outage-happened = Der Dienst ist gerade nicht erreichbar.
error-outage-advice = Versuchen Sie es in einigen Sekunden noch einmal.
error-form = Dieses Formular ist abgelaufen
error-form-happened = Das Formular stammt nicht von der Seite, die in diesem Browser offen ist. Deshalb wurde nichts getan.
error-form-advice = Gehen Sie zurück, laden Sie die Seite neu und wiederholen Sie Ihre Eingabe. Für diese Website müssen Cookies erlaubt sein.
error-other-user = Ein anderes Konto ist angemeldet
error-other-user-happened = Seit Sie die Seite geöffnet haben, wurde in diesem Browser ein anderes Konto angemeldet. Es wurde nichts geändert.
error-other-user-advice = Laden Sie die Seite neu, um mit dem Konto fortzufahren, das jetzt angemeldet ist.
error-other-user-again = Seite neu laden
error-not-found = Diese Seite gibt es nicht
error-not-found-happened = Die Adresse führt auf dieser Website nirgendwohin.
error-not-found-advice = Prüfen Sie die Adresse oder beginnen Sie auf der Startseite.
error-not-found-slash = Die Adresse enthält einen Schrägstrich zu viel. Verwenden Sie { $address }.
error-rejected = Diese Anfrage lässt sich nicht beantworten
error-rejected-body = Die Anfrage ist zu groß.
error-rejected-head = Die Anfrage hat zu viele Cookies oder andere Kopfzeilen.
error-rejected-address = Die Adresse der Anfrage ist zu lang.
error-rejected-method = Diese Adresse lässt sich so nicht verwenden.
error-rejected-timeout = Der Server ist überlastet, oder die Antwort hat zu lange gedauert.
error-rejected-unreadable = Die Anfrage lässt sich nicht lesen.
error-rejected-cookies = Löschen Sie die Cookies dieser Seite in Ihrem Browser, und versuchen Sie es noch einmal.
error-rejected-advice = Gehen Sie zurück und versuchen Sie es noch einmal. Hilft das nicht, melden Sie es den Betreibern der Anwendung.
error-too-many = Zu viele Anmeldungen
error-too-many-network = Aus Ihrem Netz kamen zu viele Anfragen.
error-too-many-name = Mit diesem Namen gab es zu viele Anmeldungen. Sie können zurückgehen und stattdessen den Code mit Ihrem Authenticator scannen: Daran kann Sie niemand hindern.
error-too-many-here = Von hier kamen zu viele Versuche.
error-login-unknown = Diese Anmeldung ist abgelaufen
error-login-unknown-happened = Sie wurde in einem anderen Browser oder vor zu langer Zeit begonnen, oder dieser Browser speichert keine Cookies.
error-login-unknown-advice = Gehen Sie zurück zur Anwendung und melden Sie sich noch einmal an, in nur einem Browser und mit erlaubten Cookies.
error-login-answered = Diese Anmeldung ist abgeschlossen
error-login-answered-happened = Sie sind zu einer Anmeldung zurückgekehrt, deren Ergebnis die Anwendung schon hat.
error-login-answered-advice = Gehen Sie zur Anwendung. Wenn Sie dort nicht angemeldet sind, melden Sie sich noch einmal an.
error-login-replayed = Diese Anmeldung wurde schon begonnen
error-login-replayed-happened = Jede Anfrage einer Anwendung gilt nur einmal, und diese wurde schon benutzt oder ist zu alt.
error-login-replayed-advice = Gehen Sie zurück zur Anwendung und melden Sie sich dort noch einmal an.
error-not-administrator = Diese Seite ist für die Administration
error-not-administrator-happened = Sie sind angemeldet, haben in der Konsole aber keine Rolle.
error-not-administrator-advice = Bitten Sie Ihre Administration um eine Rolle, oder melden Sie sich ab und mit einem Administratorkonto wieder an.
error-request = Diese Anmeldeanfrage ist nicht gültig
error-request-again = Gehen Sie zurück zur Anwendung und versuchen Sie es noch einmal. Wenn es wieder geschieht, nennen Sie den Betreibern der Anwendung die Referenz.
error-request-tell = Nennen Sie den Betreibern der Anwendung die Referenz: Die Anwendung muss anders eingerichtet werden.
error-request-application = Die Anwendung, die Sie hierher geschickt hat, ist diesem Dienst nicht bekannt.
error-application-disabled = Diese Anwendung ist abgeschaltet
error-application-disabled-happened = Diese Anwendung wurde von der Administration deaktiviert. Zurzeit kann sich niemand bei ihr anmelden.
error-application-disabled-advice = Fragen Sie Ihre Administration, wann die Anwendung wieder verfügbar ist.
error-request-no-address = Die Anwendung hat nicht gesagt, wohin es danach gehen soll.
error-request-address = Die Anwendung wollte Sie an eine Adresse schicken, die für sie nicht eingetragen ist.
error-request-unreadable = Die Anwendung hat eine Anfrage geschickt, die sich nicht lesen lässt.
error-request-relay-state = Die Anwendung hat mehr als 2.048 Byte RelayState mitgeschickt.
error-request-unsigned = Die Anfrage der Anwendung hat keine gültige Signatur.
error-request-clock = Die Anfrage ist zu alt oder zu neu: Vielleicht gehen die Uhren der Anwendung und dieses Dienstes verschieden.
error-request-wrong-recipient = Die Anfrage stammt von einer anderen Anwendung oder ist für eine andere Adresse bestimmt.
error-request-unknown = Die Anwendung hat Sie mit einer Anfrage hierher geschickt, die sie vorher nicht hinterlegt hat.
error-request-expired = Diese Anfrage ist abgelaufen. Sie gilt 90 Sekunden.
error-request-replay = Diese Anfrage wurde schon verwendet. Vielleicht wurde die Seite zweimal geladen.
error-request-object = Die Anwendung hat ihre Anfrage signiert, aber die Signatur oder ihr Inhalt ist nicht gültig.
error-request-link = Der Link führt an eine Stelle der Anwendung, die für sie nicht eingetragen ist.
error-request-link-advice = Fragen Sie die Person, die Ihnen den Link geschickt hat, oder öffnen Sie die Anwendung von der Startseite aus.
error-metadata = Diese Metadaten gibt es nicht
error-metadata-happened = Keine SAML-Anwendung hat die Kennung, die in der Adresse steht.
error-metadata-advice = Nehmen Sie die Adresse aus den Einstellungen der Anwendung.
error-start-there = Melden Sie sich bei der Anwendung an
error-start-there-happened = Die Anmeldung bei dieser Anwendung beginnt bei der Anwendung selbst.
error-start-there-advice = Öffnen Sie die Anwendung und melden Sie sich dort an.
error-sign-out-request = Diese Abmeldeanfrage ist nicht gültig
error-sign-out-advice = Sie können sich trotzdem hier abmelden. Wenn es wieder geschieht, nennen Sie den Betreibern der Anwendung die Referenz.
error-sign-out-unreadable = Die Anwendung hat eine Anfrage geschickt, die sich nicht lesen lässt. Sie sind nicht abgemeldet.
error-sign-out-expired = Die Frage, ob Sie sich abmelden möchten, war zu lange offen. Sie sind nicht abgemeldet.
error-sign-out-unproven = Die Anwendung konnte nicht nachweisen, dass Sie sich bei ihr angemeldet haben. Sie sind nicht abgemeldet.
error-sign-out-address = Die Anwendung wollte Sie an eine Adresse schicken, die für sie nicht eingetragen ist. Sie sind nicht abgemeldet.
error-logout-unreadable = Die Anwendung hat eine Anfrage geschickt, die sich nicht lesen lässt. Niemand wurde abgemeldet.
error-logout-unsigned = Die Anfrage der Anwendung hat keine gültige Signatur. Niemand wurde abgemeldet.
error-logout-wrong-recipient = Die Anfrage stammt von einer anderen Anwendung, ist für eine andere Adresse bestimmt oder nicht aktuell. Niemand wurde abgemeldet.
error-logout-no-session = Die Anfrage der Anwendung ist weder signiert, noch nennt sie Ihre Sitzung. Niemand wurde abgemeldet.
error-logout-principal = Die Anwendung möchte jemanden abmelden, den sie nicht richtig benennt. Niemand wurde abgemeldet.
error-logout-unexpected = Die Anwendung hat eine unerwartete Nachricht geschickt. Es wurde nichts getan.

## Ort und Browser einer Anfrage, wie das Smartphone sie zeigt

place-here = Dieser Computer
place-unknown = Unbekannter Ort
place-local = Lokales Netz ({ $address })
place-internet = Internetadresse { $address }
place-known = { $place } ({ $address })
browser-on = { $browser } auf { $system }
browser-only = { $browser }
browser-unknown = Unbekannter Browser
browser-unknown-on = Unbekannter Browser auf { $system }

## Die Seite des Authenticators

authenticator-title = Authenticator
authenticator-no-script = Hier wird JavaScript gebraucht
authenticator-no-script-about = Der Authenticator braucht JavaScript. Schalten Sie JavaScript für diese Website ein, und laden Sie die Seite neu.
authenticator-foot = Bestätigen Sie nur eine Anmeldung, die Sie selbst begonnen haben.
authenticator-keep = Abbrechen
authenticator-description = Anmeldungen auf diesem Smartphone bestätigen oder ablehnen.
authenticator-push = Anmeldeanfrage
authenticator-push-body = Öffnen Sie den Authenticator, um sie zu bestätigen oder abzulehnen.

## Die App des Authenticators: Diese Texte gehen an das Smartphone, das die Werte selbst einsetzt

app-requests = Anmeldeanfragen
app-accounts = Konten
app-request-arrived = Anmeldeanfrage: { $application }, { $account }.
app-requests-several = { $count } Anmeldeanfragen
app-requests-choose = Wählen Sie die Anfrage, die Sie begonnen haben. Wenn eine davon nicht von Ihnen ist, öffnen und melden Sie sie.
app-requests-started = begonnen um { $time }
app-requests-all = Alle { $count } Anfragen
app-nothing = Nichts zu bestätigen
app-nothing-about = Wenn Sie sich irgendwo anmelden, erscheint die Anfrage hier.
app-offline = Sie sind offline. Anfragen erscheinen, sobald Sie wieder verbunden sind.
app-unreachable = Der Server ist gerade nicht zu erreichen. Neuer Versuch läuft…
app-connected = Wieder verbunden.
app-your-accounts =
    { $count ->
        [one] Ihr Konto
       *[other] Ihre Konten
    }
app-welcome = Mit diesem Gerät anmelden
app-welcome-about = Für den Anfang brauchen Sie einen Einrichtungslink von { $operator }.
app-enrolled = Dieses Gerät ist eingerichtet
app-enrolled-about = Sie können damit jetzt Anmeldungen von { $name } bestätigen.
app-enrolled-status = Dieses Gerät ist eingerichtet.
app-done = Fertig
app-attention = Eine Anmeldung bei { $application } wartet auf Ihre Antwort.
app-attention-action = Eine Aktion in Ihrem Browser wartet auf Ihre Bestätigung.
app-attention-go = Anzeigen
app-attention-go-notifications = Anzeigen
app-cancel = Abbrechen
app-unsupported = Das geht hier nicht
app-unsupported-insecure = Der Authenticator braucht eine sichere Verbindung. Öffnen Sie seine Adresse mit https.
app-storage-impossible = Dieser Browser speichert nichts für diese Website. Private Fenster und der Blockierungsmodus verhindern es oft: Nehmen Sie ein gewöhnliches Fenster oder einen anderen Browser.
app-storage-full = Auf diesem Gerät ist kein Platz mehr für einen Schlüssel. Schaffen Sie Platz, und versuchen Sie es noch einmal.
app-storage-outdated = Eine neuere Version dieser App ist in einem anderen Tab geöffnet. Laden Sie diese Seite neu.
app-push-blocked = Benachrichtigungen sind für diese Website blockiert. Öffnen Sie deshalb diese App, wenn Sie sich anmelden. In den Website-Einstellungen des Browsers lassen sie sich wieder erlauben.
app-push-on = Benachrichtigungen sind eingeschaltet.
app-push-failed = Der Browser konnte sie nicht einschalten. Die App arbeitet auch ohne: Öffnen Sie sie, wenn Sie sich anmelden.
app-push-offer = Lassen Sie sich benachrichtigen, wenn Sie sich anmelden. Dann müssen Sie diese App nicht vorher öffnen.
app-push-turn-on = Benachrichtigungen einschalten
app-seconds =
    { $seconds ->
        [one] noch { $seconds } Sekunde
       *[other] noch { $seconds } Sekunden
    }
app-duration-hours =
    { $count ->
        [one] { $count } Stunde
       *[other] { $count } Stunden
    }
app-duration-minutes =
    { $count ->
        [one] { $count } Minute
       *[other] { $count } Minuten
    }
app-duration-while = eine Weile
app-minutes =
    { $minutes ->
        [one] noch { $minutes } Minute
       *[other] noch { $minutes } Minuten
    } { $seconds ->
        [one] { $seconds } Sekunde
       *[other] { $seconds } Sekunden
    }
app-minutes-whole =
    { $minutes ->
        [one] noch { $minutes } Minute
       *[other] noch { $minutes } Minuten
    }

app-account-suspended = Dieses Konto ist gesperrt: Seine Anmeldungen lassen sich nicht bestätigen. Wenden Sie sich an Ihre Administration.
app-account-terminated = Dieses Konto ist stillgelegt: Seine Anmeldungen lassen sich nicht bestätigen. Wenden Sie sich an Ihre Administration.
app-account-device = Dieses Gerät: { $device }
app-account-gone = Dieses Gerät wurde bei { $operator } entfernt. Um es wieder zu nutzen, richten Sie es neu ein: von einem anderen Gerät aus, mit einem Wiederherstellungscode oder mit einem neuen Einrichtungslink Ihrer Administration.
app-account-forget = Dieses Konto vergessen
app-account-remove = Dieses Gerät entfernen
app-account-remove-ask = Dieses Gerät entfernen?
app-account-remove-about = Es bestätigt dann keine Anmeldungen von { $name } bei { $operator } mehr, und Wiederherstellungscodes, die es erzeugt hat, gelten nicht mehr. Wenn es Ihr einziges Gerät ist, richten Sie zuerst ein anderes ein: Sonst kommen Sie nur mit einem neuen Einrichtungslink Ihrer Administration wieder hinein.
app-account-remove-yes = Entfernen
app-account-remove-failed = Es wurde nicht entfernt. { $reason }
app-account-removed = Dieses Gerät wurde entfernt.
app-add = Konto hinzufügen
app-add-about = Öffnen Sie den Einrichtungslink, den Sie von Ihrer Administration haben, scannen Sie seinen QR‑Code mit der Kamera oder fügen Sie ihn hier ein.
app-add-link = Einrichtungslink
app-add-invalid = Das ist kein Einrichtungslink. Ein solcher enthält „#enrol=“; kopieren Sie ihn ganz.
app-add-continue = Weiter

app-settings = Einstellungen dieses Geräts
app-settings-keypad = Ziffernfeld in Anfragen zeigen
app-settings-keypad-about = Geben Sie die Zahl darauf ein statt auf der Tastatur Ihres Systems.

app-scan = Code scannen
app-scan-about = Richten Sie die Kamera auf den Code der Anmeldeseite oder auf den Code eines Einrichtungslinks.
app-scan-stop = Beenden
app-scan-no-camera = Die Kamera lässt sich hier nicht verwenden. Erlauben Sie sie in den Einstellungen des Browsers für diese Website, oder nehmen Sie die Kamera-App Ihres Smartphones.
app-scan-foreign = Dieser Code ist für etwas anderes. Scannen Sie den Code einer Anmeldeseite oder eines Einrichtungslinks dieses Servers.
app-scan-which = Bei { $application } anmelden?
app-scan-which-about = Fahren Sie nur fort, wenn Sie diese Anmeldeseite gerade auf Ihrem eigenen Bildschirm sehen. Sonst versucht vielleicht jemand, sich als Sie anzumelden.
app-scan-as = Ja, als { $name } ({ $account })
app-scan-here-about = Die Anmeldung läuft in diesem Browser. Sie brauchen keine Zahl einzugeben.
app-scan-approve-as = Bestätigen als { $name } ({ $account })
app-scan-back = Zurück zur Anmeldung
app-scan-asking = Einen Moment …
app-scan-looking = Der Code wird geprüft …
app-scan-failed = Dieser Code hat nicht funktioniert
app-scan-not-enrolled = Dieses Gerät ist noch nicht eingerichtet
app-scan-not-enrolled-about = Um sich damit anzumelden, richten Sie es zuerst mit einem Link Ihrer Administration ein. Auf der Anmeldeseite können Sie stattdessen Ihren Namen eingeben.

app-enrol-title = Dieses Gerät für { $name } bei { $operator } einrichten?
app-enrol-lead = Sie können damit dann die Anmeldungen dieses Kontos bestätigen. Fahren Sie nur fort, wenn der Link für Sie bestimmt war.
app-enrol-account = Konto
app-enrol-server = Server
app-enrol-until = Gültig bis
app-enrol-again = Dieses Konto ist schon in diesem Browser. Wenn Sie fortfahren, kommt es ein zweites Mal hinzu, als weiteres Gerät.
app-enrol-name = Name dieses Geräts
app-enrol-name-missing = Geben Sie diesem Gerät einen Namen, damit Sie es später von anderen unterscheiden können.
app-enrol-confirm = Dieses Gerät einrichten
app-enrol-confirming = Wird eingerichtet…
app-enrol-not-now = Jetzt nicht
app-enrol-leave = Authenticator öffnen
app-enrol-no-key = Dieser Browser konnte keinen Schlüssel erzeugen. Nehmen Sie einen anderen.
app-enrol-unspent = Ihr Einrichtungslink wurde nicht benutzt: Sie können ihn anderswo öffnen.
app-enrol-checking = Der Link wird geprüft…
app-enrol-unchecked = Der Link ließ sich nicht prüfen
app-enrol-unusable = Dieser Link funktioniert nicht
app-enrol-unusable-about = Erzeugen Sie einen auf einem anderen Ihrer Geräte, verwenden Sie einen Wiederherstellungscode, oder bitten Sie Ihre Administration um einen neuen.
app-enrol-again-try = Noch einmal versuchen
app-enrol-scan-picture = QR-Code dieses Einrichtungslinks
app-enrol-scan = An einem Computer?
app-enrol-scan-about = Scannen Sie den Code mit der Kamera Ihres Smartphones, um es einzurichten, oder fahren Sie unten fort, um diesen Browser zu nutzen.
app-enrol-copy = Link kopieren
app-enrol-copied = Kopiert.
app-enrol-copy-yourself = Kopieren Sie den Link aus der Adresszeile.
app-enrol-home-screen = Für Benachrichtigungen auf iPhone und iPad kopieren Sie diesen Link. Legen Sie diese Seite auf den Home-Bildschirm (Teilen, Zum Home-Bildschirm). Öffnen Sie sie dann von dort und fügen Sie den Link ein.
app-device-android-phone = Android-Smartphone
app-device-android-tablet = Android-Tablet
app-device-windows = Windows-Computer
app-device-linux = Linux-Computer
app-device-other = Mein Gerät

app-request-title = Bei { $application } anmelden?
app-request-details = Das erlauben Sie außerdem:
app-request-place = Ort
app-request-browser = Browser
app-request-not-known = Nicht bekannt
app-request-for = für { $account }
app-request-browser-unknown = Unbekannter Browser
app-request-place-unknown = Unbekannter Ort
app-request-number = Geben Sie die Zahl von der Anmeldeseite ein
app-request-approve = Bestätigen
app-request-deny = Ablehnen
app-request-not-you = Waren Sie das nicht? Tippen Sie auf „Das war ich nicht“. Neue Anmeldeanfragen werden dann für { $duration } angehalten, und Ihre Administration sieht die Meldung.
app-request-report = Das war ich nicht
app-request-tries =
    { $count ->
        [one] Noch ein Versuch.
       *[other] Noch { $count } Versuche.
    }
app-keypad = Ziffernfeld
app-keypad-erase = Letzte Ziffer löschen
app-request-both-digits = Geben Sie beide Ziffern der Zahl ein.
app-request-number-mismatch = Falsche Zahl. Sehen Sie auf der Seite nach, auf der Sie sich anmelden.
app-request-approved = Bestätigt
app-request-approved-about = Gehen Sie zurück zu Ihrem Browser.
app-request-expired = Zu spät
app-request-expired-about = Diese Anfrage ist abgelaufen. Beginnen Sie von vorn, wo Sie sich anmelden wollten.
app-request-decided = Schon beantwortet
app-request-decided-about = Diese Anfrage wurde schon beantwortet, hier oder auf einem anderen Gerät.
app-request-closed = Anmeldung geschlossen
app-request-closed-about = Sie wurde abgebrochen oder auf einem anderen Gerät beantwortet. Sie müssen nichts weiter tun.
app-request-locked = Geschlossen
app-request-locked-about = Die Zahl war zu oft falsch, deshalb wurde niemand angemeldet. Beginnen Sie von vorn, wo Sie sich anmelden wollten.
app-request-denied = Abgelehnt
app-request-denied-about = Niemand wurde angemeldet. Aus Versehen abgelehnt? Beginnen Sie die Anmeldung neu. Lehnen Sie noch einmal ab, werden neue Anfragen vielleicht eine Zeit lang angehalten.
app-request-reported = Gemeldet
app-request-reported-about = Niemand wurde angemeldet. Neue Anmeldeanfragen sind vorerst angehalten, und Ihre Administration sieht die Meldung.
app-caller-check-title = Telefonieren Sie mit { $administrator } von { $application }?
app-caller-check-about = Bestätigen Sie nur, wenn Sie angerufen haben und gerade mit dieser Person sprechen. Mehr wird damit nicht erlaubt.
app-caller-check-number = Geben Sie die Zahl ein, die Sie am Telefon hören
app-caller-check-number-mismatch = Falsche Zahl. Fragen Sie noch einmal nach der Zahl.
app-caller-check-approved = Die Person am Telefon sieht, dass Sie es sind.
app-caller-check-denied = Wer gefragt hat, sieht, dass Sie nicht am Telefon sind.
app-caller-check-ended = Sie kann nicht mehr beantwortet werden. Die Person am Telefon kann noch einmal fragen.
app-caller-check-reported = Ihre Administration sieht die Meldung. Neue Anfragen sind vorerst angehalten.
app-caller-check-not-you = Nicht am Telefon? Tippen Sie auf „Das war ich nicht“. Neue Anfragen werden dann für { $duration } angehalten, und Ihre Administration sieht die Meldung.
app-backchannel-title = Anfrage von { $application } bestätigen?
app-backchannel-arrived = Anfrage von { $application } für { $account }.
app-backchannel-compare = Bestätigen Sie nur, wenn { $application } Ihnen denselben Text zeigt:
app-backchannel-no-message = { $application } hat keinen Text zum Vergleichen gesendet. Bestätigen Sie nur, wenn Sie diese Anfrage gerade erwarten.
app-backchannel-type = Bestätigen Sie nur, wenn { $application } Sie darum gebeten hat. Geben Sie die Zahl ein, die Ihnen dort gezeigt wird.
app-backchannel-number = Geben Sie die Zahl ein, die { $application } Ihnen zeigt
app-backchannel-digits = Geben Sie alle Ziffern der Zahl ein.
app-backchannel-number-mismatch = Falsche Zahl. Sehen Sie nach, was { $application } Ihnen zeigt.
app-backchannel-passkey = Diese Anfrage zählt nur, wenn Sie sie mit dem Passkey dieses Geräts bestätigen.
app-backchannel-scopes = { $application } darf dann:
app-backchannel-approved = Die Anwendung hat Ihre Bestätigung erhalten.
app-backchannel-denied = Die Anwendung hat nichts erhalten. Neue Anfragen von ihr sind eine Zeit lang angehalten.
app-backchannel-closed = Anfrage geschlossen
app-backchannel-ended = Sie kann nicht mehr beantwortet werden. Wenn Sie sie erwarten, beginnen Sie in der Anwendung von vorn.
app-backchannel-reported = Die Anwendung hat nichts erhalten. Neue Anfragen sind vorerst angehalten, und Ihre Administration sieht die Meldung.

app-second-title = { $application } fragt { $account } an. Bestätigen Sie ebenfalls?
app-second-arrived = Zweite Bestätigung für { $application }: { $account }.
app-second-own = Sie bestätigen als { $account }
app-second-about = Zwei Personen müssen diese Anfrage bestätigen. Wie die andere entschieden hat, sehen Sie nicht, bevor Sie entscheiden.
app-second-message = Der Text von { $application }:
app-second-no-message = { $application } hat keinen Text gesendet. Bestätigen Sie nur, wenn Sie von dieser Anfrage wissen.
app-second-scopes = { $application } darf dann für { $account }:
app-second-approved = Die Anfrage gilt, sobald beide Personen bestätigt haben.
app-second-denied = Die Anwendung hat nichts erhalten.
app-second-ended = Sie kann nicht mehr beantwortet werden. Vielleicht hat ein anderes Mitglied Ihrer Gruppe geantwortet.
app-code = Gerät anmelden
app-code-about = Geben Sie den Code ein, den Ihr Fernseher, Terminal oder anderes Gerät zeigt.
app-code-compare = Zeigt Ihr Gerät diesen Code? Fahren Sie nur fort, wenn beide gleich sind.
app-code-field = Code
app-code-field-about = Acht Buchstaben. Groß- und Kleinschreibung, Leerzeichen und Bindestriche sind egal.
app-code-warning = Verwenden Sie nur einen Code, den Sie gerade auf Ihrem eigenen Gerät sehen. Verwenden Sie nie einen Code, den Ihnen jemand geschickt hat.
app-code-continue = Weiter
app-code-continue-as = Weiter als { $name } ({ $account })
app-code-not-enrolled = Richten Sie es zuerst mit einem Link Ihrer Administration ein. Geben Sie dann hier den Code des anderen Geräts ein.
app-code-title = Auf einem anderen Gerät bei { $application } anmelden?
app-code-asked-now = gerade begonnen
app-code-asked =
    { $count ->
        [one] vor { $count } Minute begonnen
       *[other] vor { $count } Minuten begonnen
    }
app-code-check = Bestätigen Sie nur, wenn das Gerät vor Ihnen diesen Code zeigt:
app-code-approved = Gehen Sie zurück zu Ihrem Gerät. Es macht von selbst weiter.
app-code-denied = Niemand wurde angemeldet. Der Code ist verbraucht.
app-code-ended = Sie kann nicht mehr beantwortet werden. Beginnen Sie auf Ihrem Gerät von vorn, das dann einen neuen Code zeigt.
app-other-title = Falsche Zahl für diese Anfrage
app-other-about = Diese Zahl gehört zu einer anderen Anfrage: { $request } · begonnen um { $time }. Wenn Sie sie nicht begonnen haben, melden Sie sie.
app-other-pending = Wenn Sie sie begonnen haben, gehen Sie zurück und wählen Sie die andere Anfrage.
app-other-ended = Die andere Anfrage kann nicht mehr bestätigt werden.
app-other-back = Zurück
app-action-about = Eine Aktion in Ihrem Browser braucht Ihre Bestätigung. Bestätigen Sie sie nur, wenn Sie das gerade selbst tun.
app-action-for = als { $account } bei { $application }
app-action-not-you = Waren Sie das nicht? Tippen Sie auf „Das war ich nicht“. Dann endet die Sitzung, aus der die Anfrage kommt, neue Anmeldeanfragen werden für { $duration } angehalten, und Ihre Administration sieht die Meldung.
app-action-number = Geben Sie die Zahl ein, die im Browser steht
app-action-approved = Gehen Sie zurück zu Ihrem Browser.
app-action-denied = Nichts wurde geändert.
app-action-reported = Nichts wurde geändert. Die Sitzung ist beendet, neue Anmeldeanfragen sind vorerst angehalten, und Ihre Administration sieht die Meldung.
app-action-closed = Aktion geschlossen
app-action-ended = Das kann nicht mehr bestätigt werden: { $action }. War es Ihre Aktion, so beginnen Sie sie im Browser noch einmal.
app-action-number-mismatch = Falsche Zahl. Sehen Sie die Zahl im Fenster Ihres Browsers nach.
app-cooldown = Anmeldeanfragen sind bis { $time } angehalten.
app-cooldown-of = Anmeldeanfragen für { $name } sind bis { $time } angehalten.
app-cooldown-end = Jetzt fortsetzen
app-cooldown-ended = Anmeldeanfragen sind nicht mehr angehalten. Wenn hier keine erscheint, beginnen Sie die Anmeldung neu.

app-failure = Das hat nicht geklappt. Versuchen Sie es noch einmal.
app-failure-offline = Der Server war nicht zu erreichen. Prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.
app-failure-unreadable = Die App versteht die Antwort des Servers nicht. Laden Sie die App neu.
app-failure-server = Der Server konnte das nicht tun. Versuchen Sie es gleich noch einmal.
app-failure-link = Dieser Server kennt diesen Link nicht. Er gehört vielleicht zu einem anderen Server oder ist zu alt.
app-failure-link-damaged = Dieser Link ist beschädigt: Ein Teil fehlt oder wurde verändert. Öffnen Sie ihn noch einmal aus der ursprünglichen Nachricht, oder kopieren Sie ihn ganz.
app-failure-link-used = Dieser Link wurde schon benutzt. Wenn Sie ihn auf diesem Gerät benutzt haben, ist es eingerichtet.
app-failure-link-expired = Die Zeit dieses Links ist abgelaufen.
app-failure-link-withdrawn = Dieser Link wurde zurückgezogen oder durch einen neueren ersetzt.
app-failure-other-browser = Die Anmeldung läuft in einem anderen Browser. Geben Sie die Zahl ein, die dort steht.
app-failure-proof = Die App konnte nicht beweisen, dass sie ihren Schlüssel hat. Laden Sie die Seite neu und wiederholen Sie es.
app-failure-name = Geben Sie dem Gerät einen Namen von 1 bis 80 Zeichen.
app-failure-key-in-use = Dieser Schlüssel wird schon verwendet. Laden Sie die Seite neu und wiederholen Sie es.
app-failure-clock = Die Uhr dieses Geräts geht falsch. Schalten Sie „Datum und Uhrzeit automatisch“ ein, und versuchen Sie es noch einmal.
app-failure-device = Dieses Gerät ist nicht mehr eingerichtet. Richten Sie es neu ein: von einem anderen Gerät aus, mit einem Wiederherstellungscode oder mit einem neuen Link Ihrer Administration.
app-failure-request = Diese Anfrage gibt es nicht mehr. Beginnen Sie in Ihrem Browser von vorn.
app-failure-sign-in = Dieser Code wurde schon verwendet, oder seine Zeit ist abgelaufen. Laden Sie die Anmeldeseite neu.
app-failure-code = Dieser Code ist falsch oder abgelaufen. Vergleichen Sie ihn mit dem Code auf Ihrem Gerät.
app-failure-no-access = Sie haben keinen Zugang zu dieser Anwendung. Fragen Sie Ihre Administration.
app-failure-user-inactive = Ihr Konto kann nicht verwendet werden. Fragen Sie Ihre Administration.
app-failure-too-many-calls = Das waren zu viele Versuche. Warten Sie eine Minute und versuchen Sie es noch einmal.
app-failure-too-many-devices = Sie haben die Höchstzahl an Geräten erreicht. Entfernen Sie eines, das Sie nicht mehr verwenden, und versuchen Sie es noch einmal.
app-failure-too-many-sign-ins = Dieses Gerät hat zu viele Codes gescannt. Warten Sie eine Minute und scannen Sie den Code noch einmal.
app-failure-too-many = Aus Ihrem Netz kamen zu viele Fehlversuche. Warten Sie eine Minute und versuchen Sie es noch einmal.
app-failure-subscription = Benachrichtigungen ließen sich nicht einschalten, weil der Server das Abonnement dieses Browsers nicht annimmt. Versuchen Sie es mit einem anderen Browser.

app-passkey-offer-title = Bestätigungen schützen
app-passkey-offer = Bestätigen Sie jedes Mal auch mit Gesicht, Finger oder PIN. Dann kann niemand sonst mit diesem Gerät bestätigen, auch nicht, während es entsperrt ist.
app-passkey-add = Mit Gesicht, Finger oder PIN schützen
app-passkey-add-recommended = Schützen (empfohlen)
app-passkey-skip = Jetzt nicht
app-passkey-added = Bestätigungen sind ab jetzt geschützt.
app-passkey-set = Jede Bestätigung braucht Ihr Gesicht, Ihren Finger oder Ihre PIN.
app-passkey-remove = Diesen Schutz entfernen
app-passkey-remove-ask = Den Schutz entfernen?
app-passkey-remove-about = Sie bestätigen dann ohne Gesicht, Finger oder PIN. Um den Schutz zu entfernen, bestätigen Sie noch einmal damit.
app-passkey-remove-yes = Entfernen
app-passkey-removed = Bestätigungen sind nicht mehr geschützt.
app-passkey-no-lock = Bestätigungen lassen sich mit Gesicht, Finger oder PIN schützen, sobald dieses Gerät eine Bildschirmsperre hat, die der Browser abfragen kann.
app-passkey-impossible = Bestätigungen lassen sich hier nicht mit Gesicht, Finger oder PIN schützen: Dieser Server ist über eine IP-Adresse erreichbar, und Browser verlangen einen Hostnamen.
app-failure-passkey-unconfirmed = Ihr Gerät hat nicht bestätigt, dass Sie es sind. Versuchen Sie es noch einmal. Wurde seine Bildschirmsperre entfernt? Dann entfernen Sie dieses Gerät hier. Richten Sie es neu ein: von einem anderen Gerät aus, mit einem Wiederherstellungscode oder mit einem Link Ihrer Administration.
app-failure-passkey-missing = Diese Anwendung akzeptiert nur Bestätigungen mit einem Passkey. Fügen Sie diesem Gerät zuerst einen Passkey hinzu.
app-failure-passkey-rejected = Die Bestätigung Ihres Geräts ist ungültig. Versuchen Sie es noch einmal.
app-failure-has-passkey = Dieses Gerät ist schon geschützt. Laden Sie die App neu.

app-history = Letzte Anmeldungen
app-history-loading = Wird geladen …
app-history-empty = Bisher keine.
app-history-approved = Bestätigt
app-history-denied = Abgelehnt
app-history-reported = Gemeldet: Sie waren es nicht
app-history-number-mismatch = Zu oft die falsche Zahl
app-history-unanswered = Nicht beantwortet
app-history-without-browser = ohne Browser
app-history-caller-check = am Telefon mit einem Helpdesk
app-action-delete-user = Benutzer löschen
app-action-erase-user = Persönliche Daten eines Benutzers löschen
app-action-update-user = Benutzer anlegen oder ändern
app-action-import-table = Tabelle importieren
app-action-enrol-device = Ein weiteres Gerät für einen Benutzer zulassen
app-action-set-external-authenticator = Eine Bestätigungs-App für einen Benutzer zulassen
app-action-create-account = Konto anlegen
app-action-update-account = Konto ändern
app-action-delete-account = Konto löschen
app-action-update-group = Gruppe ändern
app-action-delete-group = Gruppe löschen
app-action-change-access = Ändern, wer Zugang zu einer Anwendung hat
app-action-revoke-device = Gerät entfernen
app-action-settle-report = Meldung erledigen
app-action-delete-application = Anwendung löschen
app-action-grant-admin-scopes = Anwendung anlegen, die diesen Server verwaltet
app-action-update-application = Anwendung ändern
app-action-apply-metadata = Metadaten einer Anwendung übernehmen
app-action-create-recovery-codes = Neue Wiederherstellungscodes erzeugen
app-action-rotate-client-secret = Neues Client Secret einer Anwendung erzeugen
app-action-delete-client-secret = Client Secret einer Anwendung löschen
app-action-rotate-key = Mit einem anderen Schlüssel oder Zertifikat signieren
app-action-revoke-key = Schlüssel oder Zertifikat widerrufen
app-action-reload-plugins = Plugins neu laden
app-action-roll-back-plugins = Plugins zurücksetzen
app-action-create-registration-token = Registrierungstoken für Anwendungen erstellen
app-action-register-details-type = Typ von Autorisierungsdetails registrieren
app-action-try-component = Neue Komponente eines Plugins ausprobieren
app-action-apply-manifest = Manifest anwenden
app-action-target = { $action }: { $target }
app-action-erased = { $action } (Daten inzwischen gelöscht)
app-notification-passkey-added = { $day }, { $time }: Das Gerät „{ $device }“ fragt ab jetzt nach Gesicht, Finger oder PIN.
app-notification-passkey-removed = { $day }, { $time }: Das Gerät „{ $device }“ fragt nicht mehr nach Gesicht, Finger oder PIN.
app-notification-passkey-clone-suspected = { $day }, { $time }: Der Schutz des Geräts „{ $device }“ wurde vielleicht kopiert, darum wurde eine Anmeldung abgewiesen.

app-install-offer = Installieren Sie diese App, um sie vom Startbildschirm aus zu öffnen.
app-install = Installieren
app-update-ready = Eine neue Version dieser App ist bereit.
app-update = Neu laden
app-welcome-recover = Wiederherstellungscode verwenden
app-welcome-elsewhere = Der Authenticator Ihres Kontos ist auf einem anderen Gerät. Öffnen Sie ihn dort.
app-welcome-lost = Falls dieses Gerät schon eingerichtet war, wurden seine Daten gelöscht. Richten Sie es neu ein: von einem anderen Gerät aus, mit einem Wiederherstellungscode oder mit einem neuen Link.
app-account-lost = Dieser Browser hat den Schlüssel dieses Kontos nicht mehr, und er lässt sich nicht zurückholen. Richten Sie dieses Gerät neu ein: von einem anderen Gerät aus, mit einem Wiederherstellungscode oder mit einem neuen Link von { $operator }. Danach können Sie dieses Konto hier aus der Liste nehmen.

app-account-devices = Geräte und Wiederherstellung
app-devices-title = Geräte von { $name }
app-devices-looking = Einen Moment …
app-devices-back = Zurück
app-devices-this = Dieses Gerät, eingerichtet am { $day }, { $time }
app-devices-since = Eingerichtet am { $day }, { $time }
app-devices-used = Zuletzt verwendet am { $day }, { $time }
app-devices-unused = Noch nie verwendet
app-devices-protected = Fragt nach Gesicht, Finger oder PIN
app-devices-remove = Entfernen
app-devices-remove-ask = { $device } entfernen?
app-devices-remove-about = Es kann keine Anmeldungen mehr bestätigen, und wo es Sie angemeldet hat, werden Sie abgemeldet. Wiederherstellungscodes, die es erzeugt hat, gelten nicht mehr. Um es wieder zu verwenden, müssen Sie es neu einrichten.
app-devices-removed = Das Gerät wurde entfernt.
app-devices-rename = Umbenennen
app-devices-name = Neuer Name
app-devices-rename-save = Namen speichern
app-devices-renamed = Das Gerät wurde umbenannt.
app-devices-add = Weiteres Gerät einrichten
app-devices-add-about = Scannen Sie diesen Code mit der Kamera des anderen Geräts, oder öffnen Sie dort den Link. Sie können dann auch damit Anmeldungen bestätigen.
app-devices-add-warning = Nur für ein eigenes Gerät. Wer den Link sonst bekommt, kann sich als Sie anmelden.
app-devices-added = „{ $device }“ wurde eingerichtet
app-devices-added-about = Sie können damit jetzt Anmeldungen bestätigen. Wenn es nicht Ihres ist, gehen Sie zurück und entfernen Sie es.
app-devices-copy = Link kopieren
app-copied = Kopiert.
app-copy-failed = Der Browser hat es nicht erlaubt. Markieren und kopieren Sie den Text selbst.
app-recovery = Wiederherstellungscodes
app-recovery-about = Wenn Sie alle Ihre Geräte verlieren, richten Sie mit einem dieser Codes ein neues ein. Jeder Code gilt einmal.
app-recovery-left = { $count ->
    [one] Sie haben noch einen Code.
   *[other] Sie haben noch { $count } Codes.
 }
app-recovery-left-none = Sie haben keine Codes.
app-recovery-create = Neue Codes erzeugen
app-recovery-ask = Neue Codes erzeugen?
app-recovery-ask-about = Ihre jetzigen Codes gelten, bis Sie die neuen bestätigen.
app-recovery-new = Ihre Wiederherstellungscodes
app-recovery-once = Schreiben Sie diese Codes auf, drucken Sie sie aus, oder bewahren Sie sie an einem sicheren Ort auf. Sie werden nur einmal gezeigt.
app-recovery-where = Verwenden Sie einen Code auf { $address }, zusammen mit Ihrem Kontonamen.
app-recovery-file = Wiederherstellungscodes von { $account } bei { $operator }
app-recovery-copy = Kopieren
app-recovery-save = Als Datei speichern
app-recovery-print = Drucken
app-recovery-kept = Ich habe sie gesichert
app-recovery-confirm-earlier = Bestätigen Sie, dass Sie sie gesichert haben: Ab dann gelten sie, und bis dahin gelten Ihre jetzigen Codes. Sie haben 30 Minuten Zeit.
app-recovery-confirm-none = Bestätigen Sie, dass Sie sie gesichert haben: Ab dann gelten sie. Sie haben 30 Minuten Zeit.
app-recovery-confirmed = Ihre neuen Wiederherstellungscodes gelten.
app-recovery-discard = Verwerfen
app-recovery-leave = Ohne Bestätigung verlassen?
app-recovery-leave-earlier = Diese Codes werden nicht gültig. Ihre jetzigen Codes gelten weiterhin.
app-recovery-leave-none = Diese Codes werden nicht gültig. Sie haben weiterhin keine Codes.
app-recovery-leave-yes = Verlassen
app-recovery-created = Ihre neuen Wiederherstellungscodes werden gezeigt.
app-notifications = Benachrichtigungen zum Konto { $name }
app-notification-link = { $day }, { $time }: Ein Link wurde erzeugt, der ein weiteres Gerät einrichtet.
app-notification-enrolled = { $day }, { $time }: Das Gerät „{ $device }“ wurde eingerichtet.
app-notification-revoked = { $day }, { $time }: Das Gerät „{ $device }“ wurde entfernt.
app-notification-codes = { $day }, { $time }: Neue Wiederherstellungscodes wurden erzeugt.
app-notification-external-authenticator = { $day }, { $time }: Eine andere Bestätigungs-App wurde für Sie eingerichtet.
app-notification-recovered = { $day }, { $time }: Ein Wiederherstellungscode wurde verwendet.
app-notifications-about = Waren Sie das nicht? Entfernen Sie unbekannte Geräte, erzeugen Sie neue Wiederherstellungscodes, und sagen Sie es Ihrer Administration.
app-notifications-read = Das war ich
app-notifications-not-me = Das war ich nicht
app-notifications-devices = Geräte prüfen
app-enrolled-codes = Codes erzeugen
app-enrolled-codes-about = Sorgen Sie jetzt vor, falls Sie dieses Gerät verlieren.
app-enrolled-recovered = Entfernen Sie jetzt das verlorene Gerät, damit niemand damit bestätigen kann. Erzeugen Sie danach neue Wiederherstellungscodes: Sie ersetzen die übrigen alten.
app-failure-codes = Diese Codes können nicht mehr bestätigt werden und sind ungültig. Erzeugen Sie neue.
app-failure-device-unknown = Dieses Gerät wurde schon entfernt.
device-title = Gerät anmelden
device-lead = Ihr Gerät zeigt einen Code aus acht Buchstaben. Geben Sie ihn im Authenticator auf Ihrem Smartphone ein.
device-compare = Zeigt Ihr Gerät diesen Code?
device-compare-about = Fahren Sie nur fort, wenn beide Codes gleich sind. Zeigt Ihr Gerät einen anderen oder keinen Code, schließen Sie diese Seite.
device-open = Öffnen Sie den Authenticator und wählen Sie „Gerät anmelden“. Dort sehen Sie, welche Anwendung von wo und seit wann fragt, bevor etwas geschieht.
device-scan = Oder scannen Sie dies mit Ihrem Smartphone.
device-scan-alt = Code, der den Authenticator öffnet
device-here = Authenticator in diesem Browser öffnen
device-warning = Verwenden Sie nie einen Code, den Ihnen jemand geschickt hat. Sonst wäre jenes Gerät als Sie angemeldet.
recover-title = Ohne Smartphone anmelden
recover-lead = Mit einem Wiederherstellungscode richten Sie einen neuen Authenticator ein.
recover-failed = Dieser Code passt nicht zu diesem Konto, oder er wurde schon verwendet. Versuchen Sie Ihren nächsten Code.
recover-code = Wiederherstellungscode
recover-code-about = 16 Buchstaben und Ziffern. Groß- und Kleinschreibung, Leerzeichen und Bindestriche spielen keine Rolle.
recover-continue = Weiter
recover-no-script = Der Authenticator braucht JavaScript, das in diesem Browser ausgeschaltet ist. Schalten Sie es ein oder nehmen Sie einen anderen Browser, bevor Sie einen Code verbrauchen.
recover-no-storage = Dieser Browser speichert nichts für diese Website, deshalb lässt er sich nicht als Authenticator einrichten. Öffnen Sie diese Seite in einem gewöhnlichen Fenster oder in einem anderen Browser. Ihr Code wurde nicht verbraucht.
recover-none = Kein Code mehr? Bitten Sie Ihre Administration um einen neuen Einrichtungslink.
recovered-title = Code angenommen
recovered-lead = Er ist damit verbraucht. Machen Sie gleich weiter, innerhalb von 15 Minuten: Die nächste Seite richtet dieses Gerät ein oder zeigt einen Code, den ein anderes scannt.
recovered-continue = Authenticator einrichten
recovered-about = Entfernen Sie danach das verlorene Gerät, im Authenticator unter „Geräte und Wiederherstellung“.
recovered-back = Wenn der Authenticator eingerichtet ist, kehren Sie zu Ihrer Anmeldung zurück.
recover-back = Zurück zur Anmeldung
login-lost = Smartphone verloren?
authenticator-push-notification = Es gibt eine Benachrichtigung zu Ihrem Konto. Öffnen Sie den Authenticator, um sie zu sehen.

## Zusammenfassungen geschützter Aktionen: Das Gerät der Administratorin oder des Administrators zeigt und signiert sie

action-sentences = { $first }. { $next }
action-comma = { $first }, { $next }
action-and = { $first } und { $next }
action-item = { $value }
action-quoted = „{ $value }“
action-nothing = nichts
action-create-user = Benutzer „{ $user }“ mit der Rolle { $role } in der Konsole anlegen
action-create-user-with-email = Benutzer „{ $user }“ mit der Rolle { $role } in der Konsole anlegen, mit der E-Mail-Adresse { $email }
action-create-user-without-role = Benutzer „{ $user }“ anlegen
action-create-user-without-role-with-email = Benutzer „{ $user }“ anlegen, mit der E-Mail-Adresse { $email }
action-named-by-other-address = Auch der Name ist eine Adresse, aber nicht die E-Mail-Adresse des Benutzers. Anwendungen können ihn für den Inhaber dieser Adresse halten
action-delete-user = Benutzer „{ $user }“ löschen
action-erase-user = Persönliche Daten des Benutzers „{ $user }“ löschen
action-terminate-user = Benutzer „{ $user }“ endgültig in allen Anwendungen stilllegen
action-rename-user = Anmeldenamen von „{ $user }“ in „{ $name }“ ändern
action-change-email = E-Mail-Adresse von „{ $user }“ in { $email } ändern
action-remove-email = E-Mail-Adresse { $email } von „{ $user }“ entfernen
action-confirm-email = Bestätigen, dass die E-Mail-Adresse { $email } „{ $user }“ gehört. Anwendungen erkennen den Benutzer daran
action-confirm-name = Bestätigen, dass auch der Name von „{ $user }“, der eine Adresse ist, dem Benutzer gehört. Anwendungen erkennen ihn daran
action-confirm-emails = Bestätigen, dass jede dieser E-Mail-Adressen ihrem Benutzer gehört, den Anwendungen daran erkennen: { $emails }
action-confirmed-email = „{ $user }“ ({ $email })
action-confirmed-email-and-name = „{ $user }“ ({ $email }; auch der Name ist eine Adresse des Benutzers)
action-remove-role = „{ $user }“ die Rolle in der Konsole entziehen
action-grant-role = „{ $user }“, Benutzer seit { $since }, in der Konsole die Rolle { $role } geben
action-role-owner = Owner
action-role-admin = Admin
action-role-support = Support
action-role-auditor = Auditor
action-approves-with = „{ $user }“ bestätigt mit { $devices ->
        [one] { $devices } Gerät
       *[other] { $devices } Geräten
    }
action-approves-with-external = „{ $user }“ bestätigt mit { $devices ->
        [one] { $devices } Gerät
       *[other] { $devices } Geräten
    } und { $external ->
        [one] { $external } Authenticator eines Herstellers
       *[other] { $external } Authenticatoren von Herstellern
    }
action-approves-with-nothing = Warnung: „{ $user }“ hat kein Gerät. Das erste Gerät, das für diesen Benutzer eingerichtet wird, bekommt diese Rolle
action-enrol-first-device = Einen Link erstellen. Wer ihn öffnet, wird zu „{ $user }“ (Benutzer seit { $since })
action-create-invitation-links = Einladungslinks erstellen. Wer einen öffnet, wird zu dessen Benutzer: { $users }
action-enrol-device = „{ $user }“ (Benutzer seit { $since }) darf mit einem weiteren Gerät bestätigen
action-revoke-device = Ein Gerät von „{ $user }“ entfernen, der eine Rolle in der Konsole hat: eingerichtet am { $day }, mit einer ID, die auf { $end } endet
action-settle-report = Meldung von „{ $user }“ vom { $time } (UTC) erledigen, sodass sie Administratoren nicht mehr angezeigt wird
action-settle-ends-pause = Die Pause der Anmeldeanfragen für „{ $user }“ endet
action-external-authenticator = Die Kennung „{ $identifier }“ im Kanal „{ $channel }“ darf für „{ $user }“ (Benutzer seit { $since }) bestätigen
action-external-authenticator-replaced = Die Kennung „{ $identifier }“ im Kanal „{ $channel }“ darf für „{ $user }“ (Benutzer seit { $since }) bestätigen, anstelle von „{ $replaced }“
action-create-account = Namen von „{ $user }“ in der Anwendung „{ $application }“ auf „{ $name }“ setzen
action-rename-account = Namen von „{ $user }“ in der Anwendung „{ $application }“ auf „{ $name }“ setzen, anstelle von „{ $account }“
action-terminate-account = Konto „{ $account }“ von „{ $user }“ in der Anwendung „{ $application }“ endgültig stilllegen
action-delete-account = Konto „{ $account }“ von „{ $user }“ in der Anwendung „{ $application }“ löschen
action-import-users = { $count ->
        [one] { $count } Benutzer
       *[other] { $count } Benutzer
    } importieren: { $created } neu, { $changed } geändert
action-import-accounts = { $count ->
        [one] { $count } Konto
       *[other] { $count } Konten
    } der Anwendung „{ $application }“ importieren: { $created } neu, { $changed } geändert
action-import-renamed = { $import }, { $count } mit einem anderen Namen
action-import-readdressed = { $import }, { $count } mit einer anderen E-Mail-Adresse
action-import-confirmed = { $import }, { $count } mit bestätigter E-Mail-Adresse
action-import-named-by-other-address = { $import }, { $count } mit einem Namen, der eine Adresse ist, aber nicht die E-Mail-Adresse des Benutzers
action-create-application = Anwendung „{ $application }“ anlegen
action-change-application = Anwendung „{ $application }“ ändern: { $members }
action-apply-metadata = Anwendung „{ $application }“ an ihre Metadaten anpassen: { $members }
action-delete-application = Anwendung „{ $application }“ löschen
action-create-recovery-codes = Neue Wiederherstellungscodes für „{ $user }“ erzeugen. Mit jedem lässt sich ein neues Smartphone einrichten. Die alten enden, sobald die neuen bestätigt sind
action-rotate-client-secret = Neues Client Secret für „{ $application }“ erzeugen
action-create-client-secret = Client Secret für „{ $application }“ erzeugen
action-create-registration-token = Registrierungstoken „{ $name }“ erstellen, mit dem sich bis { $until } (UTC) { $count ->
        [one] { $count } Anwendung selbst registriert
       *[other] { $count } Anwendungen selbst registrieren
    }, davon höchstens { $daily } am Tag
action-registration-scopes = Die Anwendungen dürfen die Scopes { $scopes } haben
action-registration-hosts = Ihre Redirect-URIs haben die Hosts { $hosts }
action-registration-any-host = Ihre Redirect-URIs haben beliebige Hosts
action-registration-types = Ihre Anwendungstypen sind { $types }
action-registration-profile = Ihr Sicherheitsprofil ist { $profile }
action-register-details-type = Typ von Autorisierungsdetails „{ $name }“ registrieren
action-replace-details-type = Typ von Autorisierungsdetails „{ $name }“ ersetzen
action-details-type-english = Der englische Text ist „{ $text }“
action-details-type-german = Der deutsche Text ist „{ $text }“
action-details-type-invalid = Das Schema ist nicht gültig
action-details-type-second = Ein Mitglied der Gruppe { $group } muss jede Anfrage damit ebenfalls bestätigen
action-details-text = „{ $member }“ ist ein Text aus { $least } bis { $most } Zeichen
action-details-choice = „{ $member }“ ist eines von { $choices }
action-details-integer = „{ $member }“ ist eine ganze Zahl
action-details-integer-from = „{ $member }“ ist eine ganze Zahl von mindestens { $least }
action-details-integer-to = „{ $member }“ ist eine ganze Zahl von höchstens { $most }
action-details-integer-between = „{ $member }“ ist eine ganze Zahl von { $least } bis { $most }
action-details-object = „{ $member }“ hat Mitglieder
action-details-list = { $values }, in einer Liste von { $least } bis { $most }
action-details-optional = { $values }, und darf fehlen
action-create-second-client-secret = Zweites Client Secret für „{ $application }“ erzeugen. Das erste bleibt gültig.
action-delete-client-secret = Client Secret von „{ $application }“ vom { $day } löschen (UTC; Ende der ID: { $end })
action-issue-certificate = Nächstes Zertifikat von „{ $application }“ veröffentlichen
action-activate-certificate = Zertifikat mit dem SHA-256-Wert { $digest } für „{ $application }“ aktivieren
action-withdraw-certificate = Zertifikat mit dem SHA-256-Wert { $digest } von „{ $application }“ zurückziehen
action-member = { $member }
action-member-name = Name
action-member-redirect-uris = Redirect-URIs
action-member-post-logout-redirect-uris = Redirect-URIs nach der Abmeldung
action-member-scopes = Scopes
action-member-admin-scopes = Admin-Scopes
action-member-consent = Einwilligung
action-member-certificates = Zertifikate
action-member-custom-attributes = eigene Attribute
action-member-single-logout = gemeinsame Abmeldung
action-member-initiate-login-uri = Startadresse
action-member-backchannel-logout-uri = Back-Channel-Logout-URI
action-member-frontchannel-logout-uri = Front-Channel-Logout-URI
action-member-removed = { $member } entfernt
action-member-text = { $member } „{ $value }“
action-member-list = { $member } ({ $values })
action-member-value = { $member } { $value }
action-its-name = Sie heißt „{ $name }“
action-its-client-id = Ihre Client ID ist { $id }
action-its-entity-id = Ihre Entity ID ist „{ $id }“
action-enable-application = Die Anwendung „{ $application }“ aktivieren: Ihre Benutzer können sich bei ihr anmelden
action-disable-application = Die Anwendung „{ $application }“ deaktivieren: Niemand kann sich bei ihr anmelden, und ihre Tokens gelten nicht mehr
action-no-admin-scopes = Sie hat keine Admin-Scopes
action-admin-scopes = Sie hat die Admin-Scopes { $scopes }
action-lenient-audience = Ihre Client Assertions dürfen an den Token-Endpunkt gerichtet sein, was andere Server missbrauchen können
action-starts-at = Benutzer öffnen sie von ihrer Startseite aus bei { $address }
action-starts-nowhere = Benutzer können sie nicht von ihrer Startseite aus öffnen
action-answers-nowhere = Keine Adresse empfängt ihre Antworten
action-answers-kept = Adressen für Antworten, unverändert: { $kept }
action-answers-new = Adressen für Antworten, neu: { $new }
action-answers-both = Adressen für Antworten, neu: { $new }; unverändert: { $kept }
action-returns-nowhere = Keine Rückkehradresse nach der Abmeldung
action-returns-kept = Rückkehradressen nach der Abmeldung, unverändert: { $kept }
action-returns-new = Rückkehradressen nach der Abmeldung, neu: { $new }
action-returns-both = Rückkehradressen nach der Abmeldung, neu: { $new }; unverändert: { $kept }
action-notified-at = Sie erfährt vom Ende von Sitzungen bei { $address }
action-notified-with-name = Sie erfährt vom Ende von Sitzungen, mit dem Namen des Benutzers, bei { $addresses } per { $binding }
action-logout-page = Browser öffnen am Ende von Sitzungen ihre Abmeldeseite bei { $address }
action-no-logout-page = Browser öffnen am Ende von Sitzungen ihre Abmeldeseite nicht mehr
action-not-notified = Sie erfährt nicht mehr vom Ende von Sitzungen
action-receives = Sie erhält { $values } als „{ $name }“
action-receives-no-more = Sie erhält „{ $name }“ nicht mehr wie bisher
action-metadata-at = Ihre Metadaten werden von { $address } gelesen
action-metadata-nowhere = Sie hat keine Metadaten-Adresse
action-key-none = Sie authentifiziert sich mit keinem Schlüssel
action-key-known = Sie authentifiziert sich wie bisher mit dem Schlüssel mit dem Fingerabdruck { $known }
action-key-new = Sie authentifiziert sich mit dem Schlüssel mit dem Fingerabdruck { $new }
action-key-both = Sie authentifiziert sich mit dem Schlüssel mit dem Fingerabdruck { $new }; wie bisher mit dem Schlüssel mit dem Fingerabdruck { $known }
action-keys-at = Sie authentifiziert sich mit den Schlüsseln bei { $address }
action-request-keys = Ihre signierten Anfragen werden mit dem Schlüssel mit dem Fingerabdruck { $keys } geprüft
action-request-keys-at = Ihre signierten Anfragen werden mit den Schlüsseln bei { $address } geprüft
action-request-keys-none = Sie hat keine Schlüssel für signierte Anfragen
action-certificate-none = Sie authentifiziert sich mit keinem Zertifikat
action-certificate-known = Sie authentifiziert sich wie bisher mit dem Zertifikat mit dem SHA-256-Wert { $known }
action-certificate-new = Sie authentifiziert sich mit dem Zertifikat mit dem SHA-256-Wert { $new }
action-certificate-both = Sie authentifiziert sich mit dem Zertifikat mit dem SHA-256-Wert { $new }; wie bisher mit dem Zertifikat mit dem SHA-256-Wert { $known }
action-certificate-name = Sie authentifiziert sich mit jedem Zertifikat der Zertifizierungsstellen dieses Servers, das als { $kind } „{ $name }“ hat
action-new-client-secret = Sie authentifiziert sich mit einem neuen Client Secret
action-rotate-key = ID-Tokens mit einem neuen { $algorithm }-Schlüssel signieren
action-rotate-key-now = ID-Tokens mit einem neuen { $algorithm }-Schlüssel signieren, in wenigen Minuten
action-rotate-keys = ID-Tokens mit einem neuen Schlüssel je Algorithmus signieren
action-rotate-keys-now = ID-Tokens mit einem neuen Schlüssel je Algorithmus signieren, in wenigen Minuten
action-revoke-key = Signaturschlüssel { $key } widerrufen
action-rotate-receipt-key = Belege mit einem neuen Schlüssel signieren
action-rotate-receipt-key-now = Belege mit einem neuen Schlüssel signieren, in wenigen Minuten
action-revoke-receipt-key = Belegschlüssel { $key } widerrufen: seine Belege gelten nicht mehr für sich allein
action-reload-plugins = Plugins neu laden
action-roll-back-plugins = Vorherige Plugins wiederherstellen: { $plugins }
action-try-component = Neue Komponente als Plugin „{ $plugin }“ ausführen, mit dem SHA-256-Wert { $digest }
action-apply-manifest = Manifest von { $owner } anwenden: { $created } neu, { $updated } geändert, { $deleted } gelöscht. Änderungen: { $objects }. Plan { $digest }

action-adopt-application = Das Manifest von { $owner } verwaltet ab jetzt die Anwendung „{ $application }“, mit dem Schlüssel { $key }
action-adopt-group = Das Manifest von { $owner } verwaltet ab jetzt die Gruppe „{ $group }“, mit dem Schlüssel { $key }
action-create-group = Die Gruppe „{ $group }“ anlegen
action-describe-group = Die Beschreibung der Gruppe „{ $group }“ ändern
action-group-receives = In die Gruppe „{ $group }“ aufnehmen: { $users }
action-group-loses = Aus der Gruppe „{ $group }“ entfernen: { $users }
action-change-logo = Das Logo der Anwendung mit dem Schlüssel { $key } ändern
action-give-account = „{ $user }“ Zugriff auf die Anwendung „{ $application }“ geben
action-remove-account = Das Konto von „{ $user }“ in der Anwendung „{ $application }“ entfernen
action-its-id = Ihre ID ist { $id }
action-id-of-application = Die ID der Anwendung ist { $id }
action-application-is-new = Dasselbe Manifest legt die Anwendung an
action-consumer = { $address } (Index { $index })
action-unchanged-count = { $count } Adressen
action-manifest-more = { $count } weitere Änderungen geben keinen Zugriff: neue Anwendungen, leere Gruppen, Logos und Beschreibungen
action-answers-default = Die Standardadresse für Antworten ist { $address }
action-rename-group = Gruppe „{ $group }“ in „{ $name }“ umbenennen, was Anwendungen erfahren
action-delete-group = Gruppe „{ $group }“ löschen; ihre Mitglieder verlieren den Zugang, den sie gibt
action-replace-members = Mitglieder der Gruppe „{ $group }“ ändern: { $added } neu, { $removed } entfernt
action-assign-group = Den Mitgliedern der Gruppe „{ $group }“ Zugang zur Anwendung „{ $application }“ geben
action-assign-everyone = Allen Benutzern Zugang zur Anwendung „{ $application }“ geben
action-assign-roles = Sie haben dort die Rollen: { $roles }
action-assign-without-roles = Sie haben dort keine Rollen
action-assign-before-roles = Bisher hatten sie: { $roles }
action-assign-before-without-roles = Bisher hatten sie keine Rollen
action-unassign-group = Der Gruppe „{ $group }“ den Zugang zur Anwendung „{ $application }“ nehmen
action-unassign-everyone = Zugang zur Anwendung „{ $application }“ entfernen, den Benutzer weder durch ein Konto noch durch eine Gruppe haben

## Sicherheitskarte und Wiederherstellungscodes im Portal

security = Ihre Sicherheit
on-phone-add = Öffnen Sie den Authenticator auf einem Smartphone, das schon eingerichtet ist, und wählen Sie dort „Weiteres Gerät einrichten“.
on-phone-protection = Öffnen Sie den Authenticator auf Ihrem Smartphone, und wählen Sie dort „Mit Gesicht, Finger oder PIN schützen“.
on-phone-code = Ein Code, der den Authenticator auf Ihrem Smartphone öffnet
on-phone-scan = Öffnen Sie den Authenticator auf Ihrem Smartphone
on-phone-scan-about = Scannen Sie diesen Code mit der Kamera Ihres Smartphones. Er führt genau an diese Stelle.
on-phone-here = In diesem Browser öffnen
on-phone-here-about = Haben Sie den Authenticator in diesem Browser eingerichtet? Dann öffnen Sie ihn hier.
security-devices = Geräte
security-devices-none = Kein Gerät kann für Sie bestätigen.
security-devices-one = Ein Gerät. Wenn Sie es verlieren, brauchen Sie einen Wiederherstellungscode.
security-devices-several = { $count } Geräte können für Sie bestätigen.
security-devices-add = Weiteres Gerät einrichten
security-devices-manage = Geräte anzeigen
security-codes = Wiederherstellungscodes
security-codes-none = Keine Wiederherstellungscodes. Wenn Sie Ihre Geräte verlieren, kann nur Ihre Administration helfen.
security-codes-left = { $count ->
        [one] Ein gültiger Wiederherstellungscode
       *[other] { $count } gültige Wiederherstellungscodes
    }
security-codes-create = Codes erzeugen
security-codes-renew = Neue Codes erzeugen
security-lock = Gesicht, Finger oder PIN
security-lock-on = Jede Bestätigung braucht Gesicht, Finger oder PIN.
security-lock-off = Aus. Wer Ihr Smartphone entsperren kann, kann für Sie bestätigen.
security-lock-partly = { $count ->
        [one] Auf einem Gerät aus
       *[other] Auf { $count } Geräten aus
    }
security-lock-turn-on = Einschalten
security-lock-manage = Authenticator öffnen
portal-codes = Wiederherstellungscodes
portal-codes-lead = Mit einem Wiederherstellungscode richten Sie ein neues Smartphone ein, wenn Sie Ihres verlieren. Jeder Code gilt einmal.
portal-codes-manage = Codes verwalten
portal-codes-approval = Ihr Smartphone fragt, ob Sie neue Codes bestätigen.
portal-codes-approval-earlier = Ihre alten Codes gelten, bis Sie bestätigen, dass Sie die neuen gesichert haben.
portal-codes-create = Neue Codes erzeugen
portal-codes-back = Zurück
portal-codes-cannot-ask = Ihr Smartphone kann gerade nicht gefragt werden. Warten Sie eine Minute, oder melden Sie sich mit dem Smartphone neu an, und versuchen Sie es noch einmal. Sie können die Codes auch im Authenticator erzeugen.
portal-codes-approve = Auf dem Smartphone bestätigen
portal-codes-number = Um neue Wiederherstellungscodes zu erzeugen, öffnen Sie den Authenticator, und geben Sie diese Zahl ein.
portal-codes-cancel = Abbrechen
portal-codes-approved = Bestätigt
portal-codes-approved-lead = Die neuen Codes werden einmal angezeigt. Halten Sie etwas bereit, um sie aufzuschreiben oder zu drucken.
portal-codes-show = Meine neuen Codes anzeigen
portal-codes-denied = Sie haben neue Wiederherstellungscodes abgelehnt. Nichts wurde geändert.
portal-codes-ended = Diese Anfrage ist abgelaufen, oder ihre Codes wurden schon angezeigt.
portal-codes-new = Ihre neuen Wiederherstellungscodes
portal-codes-once = Sie werden nur jetzt angezeigt. Drucken Sie sie, oder schreiben Sie sie auf, und bewahren Sie sie getrennt vom Smartphone auf.
portal-codes-where = Wenn Sie Ihr Smartphone verlieren, öffnen Sie { $address } und geben einen davon ein.
portal-codes-confirm-about = Ihre alten Codes gelten, bis Sie bestätigen, dass Sie diese gesichert haben. Ohne Bestätigung binnen 30 Minuten werden diese nie gültig.
portal-codes-confirm-first = Sie gelten, sobald Sie bestätigen, dass Sie sie gesichert haben. Ohne Bestätigung binnen 30 Minuten werden sie nie gültig.
portal-codes-confirm = Ich habe sie gesichert
portal-codes-discard = Verwerfen
portal-codes-confirmed = Ihre neuen Wiederherstellungscodes gelten. Ältere Codes gelten nicht mehr.
portal-codes-unconfirmed = Diese Codes können nicht mehr bestätigt werden.

## E-Mail

mail-invitation-subject = Ihre Einladung zur Anmeldung bei { $operator }
mail-greeting = Guten Tag { $name },
mail-invitation-lead = { $operator } lädt Sie ein, sich ohne Passwort anzumelden. Stattdessen bestätigt Ihr Smartphone jede Anmeldung.
mail-invitation-steps = Öffnen Sie diesen Link auf Ihrem Smartphone. Auf einem Computer zeigt er einen Code, den Sie mit dem Smartphone scannen.
mail-invitation-link = Mein Smartphone einrichten
mail-invitation-expires = Der Link gilt einmal, bis zum { $date } um { $time } (UTC).
mail-invitation-private = Leiten Sie ihn nicht weiter. Wer ihn zuerst öffnet, kann sich als Sie anmelden.
mail-support = Fragen? Wenden Sie sich an { $support }.
mail-foot = { $operator } hat diese E-Mail automatisch von { $address } gesendet. Darin wird nie nach einem Passwort gefragt.
mail-test-subject = Test-E-Mail von { $operator }
mail-test-text = Dies ist ein Test. Der Server kann mit den aktuellen Einstellungen E-Mails senden.

## Was geschah: Einladungen

activity-invitation-sent = Ihre Einladung wurde per E-Mail gesendet
activity-invitation-failed = Ihre Einladung konnte nicht per E-Mail gesendet werden
activity-invitation-resent = Der Link Ihrer Einladung wurde ersetzt, der frühere Link gilt nicht mehr
activity-invitation-withdrawn = Ihr Einrichtungslink wurde zurückgezogen
activity-mail-tested = Eine Test-E-Mail wurde gesendet

## Passkeys, mit denen man sich auf der Anmeldeseite anmeldet

login-passkey = Mit einem Passkey anmelden
login-passkey-failed = Mit diesem Passkey können Sie sich hier nicht anmelden. Wählen Sie einen anderen Weg, oder schalten Sie ihn zuerst frei: Öffnen Sie auf dem Gerät mit dem Passkey den Authenticator und wählen Sie „Passkey-Anmeldung einschalten“.
devices-passkey = Anmeldung mit seinem Passkey
devices-passkey-on = Erlaubt, wo eine Anwendung sie zulässt
devices-passkey-stop = Passkey-Anmeldung ausschalten
devices-passkey-stop-label = Passkey-Anmeldung ausschalten: { $device }
devices-passkey-stopped = Der Passkey dieses Geräts meldet Sie nicht mehr an.
activity-passkey-approved = Sie haben sich bei { $application } mit einem Passkey angemeldet
activity-passkey-sign-in-allowed = Anmeldung mit einem Passkey erlaubt: { $device }
activity-passkey-sign-in-stopped = Anmeldung mit einem Passkey nicht mehr erlaubt: { $device }
app-passkey-sign-in-offer = Bei manchen Anwendungen können Sie sich allein mit dem Passkey dieses Geräts anmelden, ohne eine Anfrage zu bestätigen.
app-passkey-sign-in-allow = Passkey-Anmeldung einschalten
app-passkey-sign-in-set = Der Passkey dieses Geräts meldet Sie auch an, wo eine Anwendung das zulässt.
app-passkey-sign-in-stop = Passkey-Anmeldung ausschalten
app-passkey-sign-in-allowed = Sie können sich ab jetzt mit dem Passkey dieses Geräts anmelden.
app-passkey-sign-in-stopped = Der Passkey dieses Geräts meldet Sie nicht mehr an.
app-devices-passkey-sign-in = Sein Passkey meldet Sie an
app-notification-passkey-sign-in-allowed = { $day }, { $time }: Der Passkey des Geräts „{ $device }“ kann Sie ab jetzt anmelden.
app-notification-passkey-sign-in-stopped = { $day }, { $time }: Der Passkey des Geräts „{ $device }“ meldet Sie nicht mehr an.
action-passkeys-permitted = Benutzer, die dem zugestimmt haben, melden sich mit einem Passkey an, ohne eine Anfrage auf einem Gerät
action-unconfirmed-email-permitted = Sie erhält auch unbestätigte E-Mail-Adressen, so dass ein Benutzer als eine andere Person erscheinen kann
action-unconfirmed-email-refused = Sie erhält nur bestätigte E-Mail-Adressen
action-pkce-required = Sie muss PKCE verwenden
action-pkce-optional = Sie darf PKCE weglassen, so dass ein gestohlener Code in eine Anmeldung eingeschleust werden kann
action-passkeys-refused = Niemand meldet sich dort nur mit einem Passkey an
