-- What the browser told about itself when a login began: whoever scans the code on its page is shown this.
-- A login under way when this is added has none, and its code is not scanned.
ALTER TABLE logins ADD COLUMN context TEXT NOT NULL DEFAULT '{"place":"","browser":""}';
