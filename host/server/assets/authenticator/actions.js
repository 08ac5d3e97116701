// All actions of the user, by name. Views call these; each changes the state and so renders the page.

import { accountActions } from './accounts.js';
import { requestActions } from './answer.js';
import { entryActions } from './code_entry.js';
import { deviceActions } from './devices.js';
import { enrolmentActions } from './enrol.js';
import { historyActions } from './history.js';
import { lifeActions } from './life.js';
import { passkeyActions } from './passkey.js';
import { pushActions } from './push.js';
import { scanActions } from './scan.js';
import { settingsActions } from './settings.js';

export const actions = {
  ...accountActions,
  ...deviceActions,
  ...enrolmentActions,
  ...entryActions,
  ...historyActions,
  ...lifeActions,
  ...passkeyActions,
  ...pushActions,
  ...requestActions,
  ...scanActions,
  ...settingsActions,
};
