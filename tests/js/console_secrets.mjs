// Two client secrets in the console: the administrator creates a second one, the console shows the last use of each,
// and the administrator deletes one.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (owner), APPLICATION (the id of a web application), CLIENT_SECRET (its
// secret); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { ASKED, run } from './console.mjs';

const { BASE_URL, APPLICATION, CLIENT_SECRET } = process.env;

/** Uses a secret at the token endpoint, and returns the status. */
async function use(secret) {
  const credentials = Buffer.from(`${APPLICATION}:${secret}`).toString('base64');
  const { status } = await fetch(`${BASE_URL}/oidc/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return status;
}

await run(
  async (admin) => {
    const rows = admin.desk.getByRole('table', { name: 'Client secrets' }).getByRole('rowheader');
    await admin.open(`/admin/applications/${encodeURIComponent(APPLICATION)}/credentials`, /Books/);
    assert.equal(await rows.count(), 1);
    await admin.press('Create a second secret');
    await admin.desk.locator('#approval-number').waitFor();
    assert.match(await admin.approveAction(), /Create a second client secret for “Books/);
    const shown = admin.desk.getByRole('dialog', { name: 'The client secret' });
    const second = await shown.locator('code').first().textContent();
    await admin.press('I have stored it');
    await admin.desk.getByText('Both secrets are valid.').waitFor();
    assert.equal(await rows.count(), 2);
    assert.equal(await admin.desk.getByRole('button', { name: 'Create a second secret' }).count(), 0);
    assert.deepEqual([await use(CLIENT_SECRET), await use(second)], [200, 200]);
    await admin.desk.reload();
    await admin.desk.getByText('Both secrets are valid.').waitFor();
    const cells = await admin.desk.getByRole('table', { name: 'Client secrets' }).getByRole('cell').allTextContents();
    assert.ok(!cells.includes('Never'), cells.join());
    await admin.look('two-secrets');

    await admin.desk.getByRole('button', { name: 'Delete', exact: true }).first().click();
    await admin.desk.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await admin.desk.locator('#approval-number').waitFor();
    assert.match(await admin.approveAction(), /Delete the client secret of “Books/);
    await admin.said('The secret was deleted.');
    assert.equal(await rows.count(), 1);
    assert.deepEqual([await use(CLIENT_SECRET), await use(second)], [401, 200]);
  },
  { expected: [ASKED] },
);
