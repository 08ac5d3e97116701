// Everything that the user can do, by name. A view calls these; each changes the state and so renders the page.

import { accountActions } from './accounts.js';
import { requestActions } from './answer.js';
import { deviceActions } from './devices.js';
import { enrolmentActions } from './enrol.js';
import { historyActions } from './history.js';
import { lifeActions } from './life.js';
import { goHome, mayLeave } from './navigation.js';
import { passkeyActions } from './passkey.js';
import { pushActions } from './push.js';
import { openRequests } from './requests.js';
import { scanActions } from './scan.js';
import { state, zone } from './state.js';

export const actions = {
  ...accountActions,
  ...deviceActions,
  ...enrolmentActions,
  ...historyActions,
  ...lifeActions,
  ...passkeyActions,
  ...pushActions,
  ...requestActions,
  ...scanActions,

  /** From another screen to what waits on the home screen. */
  async attend() {
    if (await mayLeave()) goHome(zone(openRequests(state).length > 0 ? 'requests' : 'notifications'));
  },
};
