// The cards of requests without a browser in Chromium, with a simulated server: digits to type, a passkey, and
// authorization details.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { enrolled, focusIn, list, request, server } from './authenticator_server.mjs';
import { inspect } from './browser.mjs';

/** A request of a call centre. */
function asked(id, backchannel, more = {}) {
  return request(id, {
    application: { id: 'did:key:x', name: 'Call centre', logo: null },
    account: 'ada',
    place: '',
    browser: '',
    backchannel: { message: null, scopes: ['Confirm your identity'], binding: 'shown', ...backchannel },
    ...more,
  });
}

/** The error beside the decision. */
const fault = (page, hasText) => page.locator('.field-error', { hasText });

/** The field for the digits, in each language. */
const number = (page) => page.locator('[data-part="number"]');

/** The faults of the page, without the decisions that the server rejects here. */
const others = (faults) => faults.filter((fault) => !/status of (403|422)/.test(fault));

test('digits of the application are typed, up to four, and wrong ones are explained', async () => {
  for (const [language, label, short, wrongNumber] of [
    ['en', 'Type the number that Call centre shows you', 'Type all digits of the number.', /^Wrong number/],
    ['de', 'Geben Sie die Zahl ein, die Call centre Ihnen zeigt', 'Geben Sie alle Ziffern', /^Falsche Zahl/],
  ]) {
    const { page, wrong } = await enrolled(undefined, { language });
    await page.setViewportSize({ width: 360, height: 740 });
    list(asked('a1', { binding: 'typed' }));
    await focusIn(page, '#request-a1-number');
    await page.getByText(label).waitFor();
    await number(page).fill('4');
    await number(page).press('Enter');
    await fault(page, short).waitFor();
    assert.equal(server.decided.length, 0, 'one digit is not sent');
    await number(page).fill('047119');
    assert.equal(await number(page).inputValue(), '0471');
    server.decisions.push([422, { error: 'number_mismatch', message: 'no', attempts_left: 2 }]);
    await number(page).press('Enter');
    await fault(page, wrongNumber).waitFor();
    assert.equal(server.decided.at(-1).number, '0471');
    assert.deepEqual(await inspect(page, `app-backchannel-typed-${language}`), []);
    server.decisions.push([200, { outcome: 'approved' }]);
    await number(page).fill('417');
    await number(page).press('Enter');
    await page.locator('.outcome').waitFor();
    assert.equal(server.decided.at(-1).number, '417');
    assert.deepEqual(others(wrong()), []);
    await page.context().close();
    server.decided.length = 0;
  }
});

test('a request that needs a passkey says so, and why the server rejects it without one', async () => {
  const { page, wrong } = await enrolled();
  await page.setViewportSize({ width: 360, height: 740 });
  list(asked('b1', { binding: 'none' }));
  await page.getByText(/only if you confirm it with the passkey/).waitFor();
  assert.equal(await page.locator('[data-part="number"]').count(), 0);
  server.decisions.push([403, { error: 'passkey_missing', message: 'no' }]);
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await fault(page, /accepts only approvals with a passkey/).waitFor();
  assert.deepEqual(await inspect(page, 'app-backchannel-passkey'), []);
  assert.deepEqual(others(wrong()), []);
  await page.context().close();
});

test('the card shows each authorization detail beside the message', async () => {
  const { page, wrong } = await enrolled();
  await page.setViewportSize({ width: 360, height: 740 });
  const details = [
    'Pay “\u206812.50\u2069” EUR to “\u2068Bob & Co\u2069”',
    'Pay “\u20687.00\u2069” EUR to “\u2068Eve\u2069”',
  ];
  list(asked('c1', { message: 'Order 42' }, { details }));
  await page.locator('.binding-message').waitFor();
  assert.deepEqual(await page.locator('.request-details li').allTextContents(), details);
  assert.deepEqual(await inspect(page, 'app-backchannel-details'), []);
  assert.deepEqual(others(wrong()), []);
  await page.context().close();
});
