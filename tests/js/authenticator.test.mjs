// The authenticator in Chromium with a simulated server: the state that survives a new rendering.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  ANOTHER,
  assertAbove,
  CODE,
  enrolled,
  enrolling,
  field,
  focusIn,
  isFocused,
  LONG,
  list,
  request,
  server,
} from './authenticator_server.mjs';
import { axe, inspect } from './browser.mjs';

test('the number, its caret and the focus stay while the page is rendered again', async () => {
  const { page, wrong } = await enrolled();
  list(request('a1'));
  await field(page).waitFor();
  await field(page).click();
  await page.keyboard.type('x4');
  await page.keyboard.press('ArrowLeft');
  await page.evaluate(() => {
    window.typedIn = document.activeElement;
  });
  const before = await page.locator('progress').evaluate((progress) => progress.value);
  await page.waitForFunction((value) => document.querySelector('progress').value !== value, before);
  // Another request must not replace the request that the user is answering.
  list(request('a1'), request('b2'));
  await page.getByRole('button', { name: /requests/ }).waitFor();
  const kept = await page.evaluate(() => {
    const { activeElement: focused } = document;
    return { same: focused === window.typedIn, value: focused.value, caret: focused.selectionStart };
  });
  assert.deepEqual(kept, { same: true, value: '4', caret: 0 });
  // The caret is still at the same place.
  await page.keyboard.type('2');
  assert.equal(await field(page).inputValue(), '24');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  assert.equal(server.decided[0].path, '/requests/a1');
  assert.equal(server.decided[0].number, '24');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'request-b2-number', 'the other one is next');
  assert.match(await page.locator('#say').textContent(), /^Approved\. /);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('text in another field stays when a request arrives', async () => {
  const { page, wrong } = await enrolled();
  await page.locator('summary', { hasText: /another|add/i }).click();
  await page.locator('#link').pressSequentially('https://');
  list(request('c3'));
  await field(page).waitFor();
  assert.equal(await page.locator('#link').inputValue(), 'https://');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'link');
  assert.equal(
    await page.locator('details.card', { has: page.locator('#link') }).evaluate((details) => details.open),
    true,
  );
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a wrong number empties the field and keeps the focus; that of another request says which', async () => {
  const { page, wrong } = await enrolled();
  list(request('d4'));
  await field(page).fill('11');
  server.decisions.push([422, { error: 'number_mismatch', attempts_left: 2 }]);
  await page.keyboard.press('Enter');
  await page.locator('#loud', { hasText: /./ }).waitFor();
  await page.waitForFunction(() => document.activeElement.id === 'request-d4-number');
  assert.equal(await field(page).inputValue(), '');
  assert.equal(await field(page).getAttribute('aria-invalid'), 'true');
  const other = { ...request('e5'), state: 'pending' };
  server.decisions.push([422, { error: 'number_mismatch', attempts_left: 1, other_request: other }]);
  await field(page).fill('22');
  assert.equal(await field(page).getAttribute('aria-invalid'), null);
  await page.keyboard.press('Enter');
  const heading = page.getByRole('heading', { name: 'Wrong number for this request' });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement));
  // The request vanishes behind this screen. The app shows its end only after the user has gone back.
  list();
  await page.getByRole('button', { name: 'Back', exact: true }).waitFor();
  server.decisions.push([200, { outcome: 'reported' }]);
  await page.getByRole('button', { name: 'This wasn’t me' }).click();
  await page.getByRole('heading', { name: 'Reported' }).waitFor();
  assert.deepEqual(
    server.decided.map(({ path, decision }) => [path, decision]),
    [
      ['/requests/d4', 'approve'],
      ['/requests/d4', 'approve'],
      ['/requests/e5', 'report'],
    ],
  );
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the user leaves codes that are shown once only after a confirmation', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const code = page.getByText('AAAA-BBBB');
  await code.waitFor();
  const dialog = page.getByRole('dialog');
  const keep = dialog.getByRole('button', { name: 'Keep' });
  list(request('f6'));
  await page.getByRole('button', { name: 'Show it' }).click();
  await keep.click();
  await page.evaluate((token) => {
    location.hash = `#enrol=${token}`;
  }, ANOTHER);
  await keep.click();
  await page.waitForFunction(() => location.hash === '');
  await code.waitFor();
  assert.equal(server.codesMade, 1);
  await page.getByRole('button', { name: 'Show it' }).click();
  await dialog.getByRole('button').first().click();
  await field(page).waitFor();
  assert.equal(await code.count(), 0);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('new codes replace the current ones when the user confirms that they are saved, and not before', async () => {
  const { page, wrong } = await enrolled();
  server.codesLeft = 5;
  await page.getByRole('button', { name: /devices/i }).click();
  const create = page.getByRole('button', { name: 'Create new codes' });
  await create.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Your current codes stay valid until you confirm the new ones.').waitFor();
  await dialog.getByRole('button', { name: 'Create new codes' }).click();
  const code = page.getByText('AAAA-BBBB');
  await code.waitFor();
  await page.getByText('your current codes stay valid until then').waitFor();

  // A user who leaves keeps the current codes.
  await page.getByRole('button', { name: 'Discard them' }).click();
  await dialog.getByText('Your current codes stay valid.').waitFor();
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('You have 5 codes left.', { exact: true }).waitFor();
  assert.deepEqual(server.confirmed, []);

  // If the answer does not arrive, the codes stay, so that the user can confirm them again.
  await create.click();
  await dialog.getByRole('button', { name: 'Create new codes' }).click();
  await code.waitFor();
  server.confirmations.push([503, { error: 'temporarily_unavailable' }]);
  const confirm = page.getByRole('button', { name: 'I have saved them' });
  await confirm.click();
  await page.locator('#loud', { hasText: /./ }).waitFor();
  assert.ok(await code.isVisible());
  assert.ok(await confirm.evaluate((button) => button === document.activeElement));
  await confirm.click();
  await page.getByRole('heading', { name: 'Devices of Ada Lovelace' }).waitFor();
  assert.deepEqual(server.confirmed, ['batch2']);
  assert.equal(await page.locator('#say').textContent(), 'Your new recovery codes are valid.');
  assert.deepEqual(
    wrong().filter((line) => !line.includes('503')),
    [],
  );
  await page.context().close();
});

test('codes that can no longer be confirmed are not shown any more', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  await page.getByText('AAAA-BBBB').waitFor();
  server.confirmations.push([410, { error: 'recovery_codes_not_found' }]);
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByText('These codes can’t be confirmed any more').waitFor();
  assert.equal(await page.getByText('AAAA-BBBB').count(), 0);
  assert.deepEqual(await inspect(page, 'app-codes-expired'), []);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('AAAA-BBBB').waitFor();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByRole('heading', { name: 'Devices of Ada Lovelace' }).waitFor();
  assert.deepEqual(server.confirmed, ['batch2']);
  assert.deepEqual(
    wrong().filter((line) => !line.includes('410')),
    [],
  );
  await page.context().close();
});

test('a button is replaced and not reused for another action', async () => {
  const { page, wrong } = await enrolled();
  list(request('g7'));
  await field(page).waitFor();
  await page.getByRole('button', { name: 'Deny' }).evaluate((button) => {
    window.denied = button;
  });
  server.decisions.push([200, { outcome: 'denied' }]);
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('heading', { name: 'Denied' }).waitFor();
  assert.equal(await page.evaluate(() => window.denied.isConnected), false);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a device is renamed in its row, which keeps an invalid name', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  const name = page.getByRole('textbox', { name: 'New name' });
  assert.equal(await page.evaluate(() => getSelection().toString() || document.activeElement.value), 'Phone');
  await page.keyboard.press('Delete');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText(/./).first().waitFor();
  assert.ok(await name.evaluate((input) => input === document.activeElement));
  await name.fill('My <b>own</b>');
  await page.keyboard.press('Enter');
  await page.locator('.devices').getByText('My <b>own</b>').waitFor();
  assert.deepEqual(await axe(page), []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the screen of a link says which device it enrolled, and the home screen has the notifications', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Set up another device' }).click();
  await page.getByRole('button', { name: 'Copy the link' }).waitFor();
  server.notifications = [{ id: 'n1', event: 'device.enrolled', name: 'Tablet', at: Math.ceil(Date.now() / 1000) }];
  list();
  await page.getByText(/“Tablet” was set up/).waitFor();
  await page.getByRole('button', { name: 'Show them' }).click();
  await page.getByText(/the device “Tablet” was set up/).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zone), 'notifications');
  assert.equal(await page.getByText('Nothing to approve').count(), 0, 'a notification counts as content');
  await page.getByRole('button', { name: 'It wasn’t me' }).waitFor();
  assert.equal(await page.locator('[data-zone="notifications"] .primary').count(), 0, 'neither answer stands out');
  await page.getByRole('button', { name: 'It was me' }).click();
  await page.getByRole('heading', { name: /Account notifications for/ }).waitFor({ state: 'detached' });
  await page.getByText('Nothing to approve').waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a scanned code shows a preview, and the cooldown of its account is ended beside the request', async () => {
  const { page, wrong } = await enrolled();
  server.cooldownUntil = Math.floor(Date.now() / 1000) + 600;
  await page.evaluate((token) => {
    location.hash = `#login=${token}`;
  }, CODE);
  const heading = page.getByRole('heading', { name: /Sign in to .*Shop/ });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement));
  assert.deepEqual(await axe(page), []);
  await page.getByRole('button', { name: /\(ada\)/ }).click();
  await field(page).fill('1');
  await page.getByRole('button', { name: 'Resume now' }).click();
  await page.getByText(/are paused until/).waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zone), 'cooldowns');
  assert.equal(await field(page).inputValue(), '1');
  assert.deepEqual(await axe(page), []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the history is requested when it is opened', async () => {
  const { page, wrong } = await enrolled();
  await page.getByText('Last sign-ins').click();
  await page.locator('.past', { hasText: 'Approved' }).waitFor();
  assert.equal(await page.locator('.past').count(), 1, 'an outcome without words is left out');
  assert.match(await page.locator('.past h4').innerText(), / · Approved$/);
  assert.equal(await page.locator('.past .sign').count(), 1, 'the outcome has a mark');
  assert.equal(await page.locator('.past p').count(), 1, 'browser, place and time are one line');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a device with a screen lock is offered a passkey after the enrolment', async () => {
  const page = await enrolling({ passkey: 'none' }, async (made) => {
    const session = await made.context().newCDPSession(made);
    await session.send('WebAuthn.enable');
    await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
  });
  // First the app reports the enrolment, then it makes the offer.
  const heading = page.getByRole('heading', { name: 'This device is set up' });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement));
  const headings = await page.locator('.card.outcome').getByRole('heading').allTextContents();
  assert.deepEqual(headings, ['This device is set up', 'Protect approvals']);
  assert.equal(await page.getByRole('button', { name: 'Done' }).count(), 0);
  assert.deepEqual(await inspect(page, 'app-enrolled-offer'), []);
  await page.getByRole('button', { name: /protect \(recommended\)/i }).click();
  await page.getByText('Set up a backup now, in case you lose this device.').waitFor();
  assert.deepEqual(await inspect(page, 'app-enrolled-backup'), []);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('Each approval needs your face, finger or PIN.').waitFor();
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

test('the only request has two lines of facts and the focus in its field', async () => {
  const { page, wrong } = await enrolled();
  list(request('i1'));
  await field(page).waitFor();
  assert.ok(await isFocused(field(page)));
  const lines = await page.locator('.request-facts p').allTextContents();
  assert.equal(lines[0], 'for ada');
  assert.match(lines[1], /^Firefox on Linux ·\u00a0Zürich ·\u00a0\d\d:\d\d$/);
  assert.equal(lines.length, 2);
  assert.match(await field(page).getAttribute('aria-describedby'), /request-i1-facts/);
  await page.getByText(/^Not you\? Tap “This wasn’t me”\./).waitFor();
  assert.deepEqual(await inspect(page, 'app-request'), []);
  // Focus that the user did not request does not keep a request open: the newest one replaces it.
  list(request('i1'), request('j2'));
  await focusIn(page, '#request-j2-number');
  assert.equal(await page.locator('.card.request').count(), 1);
  list(request('i1'));
  await focusIn(page, '#request-i1-number');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('after an approval the phone sends the user back and does not claim a sign-in', async () => {
  const { page, wrong } = await enrolled();
  list(request('k1'));
  await field(page).fill('42');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  const card = page.getByRole('article', { name: 'Approved' });
  await card.getByText('Return to your browser.', { exact: true }).waitFor();
  assert.equal(await card.getByText(/signed in/i).count(), 0);
  assert.deepEqual(await inspect(page, 'app-request-approved'), []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the whole card of a request is visible when it gets the focus below an earlier result', async () => {
  const { page, wrong } = await enrolled();
  await page.setViewportSize({ width: 390, height: 680 });
  list(request('k1'));
  await focusIn(page, '#request-k1-number');
  server.decisions.push([200, { outcome: 'approved' }]);
  await field(page).fill('42');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  list(request('k2', { action: 'Create a client secret of “Expenses”' }));
  await focusIn(page, '#request-k2-number');
  const { y, height } = await page.locator('[data-request="k2"]').boundingBox();
  assert.ok(y >= 0 && y + height <= 680, `from ${y} to ${y + height}`);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the buttons of a request are visible above a keyboard that shrinks the window', async () => {
  const { page, wrong } = await enrolled();
  await page.setViewportSize({ width: 360, height: 450 });
  for (const [id, action] of [
    ['l1', null],
    ['m2', LONG],
  ]) {
    list(
      request(id, { action, application: { id: 'x', name: 'A name of an application with many words', logo: null } }),
    );
    await focusIn(page, `#request-${id}-number`);
    await assertAbove(page, 450, id);
    list();
    await page.getByRole('button', { name: 'Done' }).click();
  }
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the buttons of a request are visible above a keyboard that covers the window', async () => {
  const page = await enrolling({}, (made) =>
    // The values of a browser that does not resize the window, such as Safari.
    made.addInitScript(() => {
      const view = Object.assign(new EventTarget(), { height: 740, offsetTop: 0, scale: 1 });
      Object.defineProperty(window, 'visualViewport', { value: view });
      window.cover = (height) => {
        view.height = height;
        view.dispatchEvent(new Event('resize'));
      };
    }),
  );
  await page.getByRole('button', { name: 'Done' }).click();
  server.cooldownUntil = Math.floor(Date.now() / 1000) + 600;
  list(request('n1', { action: LONG }));
  await focusIn(page, '#request-n1-number');
  await page.evaluate(() => window.scrollTo(0, 0));
  const { y, height } = await page.getByRole('button', { name: 'Approve', exact: true }).boundingBox();
  assert.ok(y + height > 450, 'without scrolling the keyboard would cover it');
  await page.evaluate(() => window.cover(450));
  await assertAbove(page, 450, 'covered');
  await page.context().close();
});

test('the card has a keypad in browsers with that setting', async () => {
  const { page, wrong } = await enrolled();
  const keypad = page.getByRole('group', { name: 'Keypad' });
  const press = (name) => keypad.getByRole('button', { name, exact: true }).click();
  list(request('o1'));
  await field(page).waitFor();
  assert.equal(await keypad.count(), 0);
  assert.equal(await field(page).getAttribute('inputmode'), 'numeric');
  await page.getByText('Settings of this device').click();
  await page.getByRole('checkbox', { name: 'Show a keypad in requests' }).check();
  await keypad.waitFor();
  assert.equal(await field(page).getAttribute('inputmode'), 'none', 'the system shows no keyboard');
  for (const key of await keypad.getByRole('button').all()) {
    const { width, height } = await key.boundingBox();
    assert.ok(width >= 44 && height >= 44, `${width} x ${height}`);
  }
  assert.deepEqual(await inspect(page, 'app-request-keypad'), []);
  await page.reload();
  await keypad.waitFor();
  assert.ok(await isFocused(field(page)));
  for (const digit of ['4', '0', '9']) await press(digit);
  assert.equal(await field(page).inputValue(), '40', 'a third digit is ignored');
  await press('Delete the last digit');
  await press('7');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  assert.equal(server.decided[0].number, '47');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a later result replaces an earlier one, but a denial only after an answer', async () => {
  const { page, wrong } = await enrolled();
  const results = page.locator(':is(.outcome, .ended) h2');
  const deny = async (id) => {
    list(request(id));
    await page.locator(`#request-${id}-number`).waitFor();
    server.decisions.push([200, { outcome: 'denied' }]);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.locator(`[data-request="${id}"].outcome`).waitFor();
  };
  await deny('p1');
  await deny('q2');
  assert.deepEqual(await results.allTextContents(), ['Denied']);
  list(request('r3'));
  await page.locator('#request-r3-number').waitFor();
  list();
  await page.locator('[data-request="r3"].outcome').waitFor();
  assert.deepEqual(await results.allTextContents(), ['Sign-in closed', 'Denied'], 'the denial can still be reported');
  list(request('s4'));
  await page.locator('#request-s4-number').fill('42');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  assert.deepEqual(await results.allTextContents(), ['Approved']);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('Back goes to the previous screen, and asks before it leaves new codes', async () => {
  const { page, wrong } = await enrolled();
  const back = () => page.evaluate(() => history.back());
  const home = page.getByRole('heading', { name: 'Nothing to approve' });
  const devices = page.getByRole('heading', { name: 'Devices of Ada Lovelace' });
  await page.getByRole('button', { name: /devices/i }).click();
  await devices.waitFor();
  await back();
  await home.waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zone), 'accounts');

  await page.evaluate(() => history.forward());
  await devices.waitFor();
  await page.reload();
  await devices.waitFor();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const code = page.getByText('AAAA-BBBB');
  await code.waitFor();
  await back();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Leave without confirming?' }).waitFor();
  assert.deepEqual(await inspect(page, 'app-codes-leave'), []);
  await dialog.getByRole('button', { name: 'Keep' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(await code.isVisible());
  // The dialog is hidden before the app processes its answer. Until then, Back belongs to the dialog.
  await page.waitForFunction(() => history.state.name === 'codes');
  await back();
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await devices.waitFor();
  assert.equal(await code.count(), 0);
  assert.equal(server.codesMade, 1);
  assert.deepEqual(server.confirmed, []);

  // The buttons of the app leave no entries in the history that Back would have to pass.
  await page.getByRole('button', { name: 'Set up another device' }).click();
  await page.getByRole('button', { name: 'Copy the link' }).waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await devices.waitFor();
  await back();
  await home.waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('Back goes from the list to a request, and from a link to where it was opened', async () => {
  const { page, wrong } = await enrolled();
  list(request('t1'), request('u2'));
  await page.getByRole('button', { name: 'All 2 requests' }).click();
  await focusIn(page, '#requests-title');
  await page.evaluate(() => history.back());
  await page.locator('#request-u2-number').waitFor();
  await page.getByRole('button', { name: 'All 2 requests' }).click();
  await page.locator('.pick').last().click();
  await page.locator('#request-t1-number').waitFor();
  await page.waitForFunction(() => history.state.name === 'home');
  list();
  await page.evaluate((token) => {
    location.hash = `#enrol=${token}`;
  }, ANOTHER);
  await page.getByRole('button', { name: 'Set up this device' }).waitFor();
  await page.evaluate(() => history.back());
  await page.getByRole('button', { name: 'Set up this device' }).waitFor({ state: 'detached' });
  await page.waitForFunction(() => location.hash === '');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a link is opened during a change of the screen', async () => {
  const { page, wrong } = await enrolled();
  await page.evaluate((token) => {
    location.hash = `#enrol=${token}`;
    // The screen is rendered before the event of the link.
    window.dispatchEvent(new Event('offline'));
  }, ANOTHER);
  await page.getByRole('button', { name: 'Set up this device' }).waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a device that was renamed elsewhere shows its new name', async () => {
  const { page, wrong } = await enrolled();
  server.deviceName = 'Pixel 8';
  list();
  const line = page.locator('.account-head').getByText('This device: Pixel 8');
  await line.waitFor();
  server.deviceName = 'Pixel 9';
  server.devices[0].name = 'Pixel 9';
  await page.getByRole('button', { name: /devices/i }).click();
  await page.locator('.devices').getByText('Pixel 9').waitFor();
  await page.getByRole('button', { name: 'Back' }).click();
  await page.locator('.account-head').getByText('This device: Pixel 9').waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a protected action has its own texts', async () => {
  const { page, wrong } = await enrolled();
  const action = (id) => request(id, { action: 'Delete the user “bob”' });
  list(action('v1'));
  await page.getByRole('article', { name: 'Delete the user “bob”' }).waitFor();
  await page.getByText(/^An action in your browser needs your approval\./).waitFor();
  await page.getByText('as ada at Application v1').waitFor();
  await page.getByText(/That session then ends/).waitFor();
  assert.deepEqual(await inspect(page, 'app-action'), []);
  await page.getByRole('textbox', { name: 'Type the number shown in your browser' }).fill('42');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  await page.getByText('Return to your browser.', { exact: true }).waitFor();
  await page.getByRole('button', { name: /devices/i }).click();
  list(action('w2'));
  await page.getByText('An action in your browser is waiting for your approval.').waitFor();
  await page.getByRole('button', { name: 'Show it' }).click();
  await focusIn(page, '#request-w2-number');
  server.decisions.push([200, { outcome: 'reported' }]);
  await page.getByRole('button', { name: 'This wasn’t me' }).click();
  await page
    .getByRole('article', { name: 'Reported' })
    .getByText(/The session ended/)
    .waitFor();
  assert.deepEqual([...server.languages], ['en'], 'the server writes in the language of the page');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
