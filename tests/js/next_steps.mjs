// The pages of a sign-in show the next steps: the login page fits a laptop, the waiting page offers help after a while,
// and a failed sign-in keeps the name. The test checks each page at both widths, light and dark, with axe-core.
//
// Environment: BASE_URL, ENROL_URL (of `ada`), AUTHORIZE_URL (a request of an application with a logo), FOREIGN_URL (a
// request of an application in which ada has no account); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import {
  approve,
  beginSignIn,
  complaints,
  confirmApproved,
  desktop,
  enrolDevice,
  inspect,
  launch,
  phone,
  shot,
  submitName,
} from './browser.mjs';

const { BASE_URL, ENROL_URL, AUTHORIZE_URL, FOREIGN_URL } = process.env;
assert.ok(
  BASE_URL && ENROL_URL && AUTHORIZE_URL && FOREIGN_URL,
  'BASE_URL, ENROL_URL, AUTHORIZE_URL or FOREIGN_URL is missing',
);

const PHONE_WIDTH = { width: 360, height: 740 };
const LAPTOP = { width: 1280, height: 800 };

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));
const nameField = (page) => page.getByRole('textbox', { name: /name/i });
const help = (page) => page.getByRole('region', { name: 'Nothing on your phone?' });

/** The whole login page is visible on a laptop, with the name beside the code. */
async function loginPage(page) {
  await page.goto(AUTHORIZE_URL);
  await nameField(page).waitFor();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height <= LAPTOP.height, `the login page is ${height} px high`);
  const [name, code] = [await nameField(page).boundingBox(), await page.locator('.scan img').boundingBox()];
  assert.ok(code.x > name.x + name.width, 'the code is at the right of the name');
  const logo = page.locator('img.app-logo');
  assert.ok(await logo.evaluate((image) => image.naturalWidth > 0), 'the logo of the application is shown');
  await look(page, 'login-with-logo');
  const step = page.getByText('Enter your account name here.');
  assert.equal(await step.isVisible(), false, 'the steps are folded');
  await page.getByText('How does this work?').click();
  await step.waitFor();
  await look(page, 'login-guide');
}

/** After 15 seconds, the waiting page offers help. `goOn` advances the page's time. */
async function helpAppears(page, goOn) {
  await submitName(page, 'nobody');
  // The page's script uses its own start as the start of the wait.
  await page.waitForLoadState('load');
  assert.equal(await help(page).isVisible(), false, 'not at once');
  await goOn(14_000);
  assert.equal(await help(page).isVisible(), false, 'not before 15 seconds');
  await goOn(1_000);
  await help(page).waitFor();
}

async function waitingPage(browser) {
  const page = await (await desktop(browser)).newPage();
  await page.clock.install();
  await page.goto(AUTHORIZE_URL);
  await page.clock.pauseAt(Date.now() + 3_600_000);
  await helpAppears(page, (time) => page.clock.runFor(time));
  // The stylesheet may have shown the help before the script's next timer.
  await page.clock.runFor(1_000);
  assert.equal(await page.getByRole('status').textContent(), 'Nothing on your phone?', 'a screen reader announces it');
  const code = page.getByRole('img', { name: 'A code for the authenticator on your phone' });
  await code.waitFor();
  await page.setViewportSize(PHONE_WIDTH);
  assert.equal(await code.isVisible(), false, 'a phone does not scan its own screen');
  await page.setViewportSize(LAPTOP);
  // axe-core waits for timers.
  await page.clock.resume();
  await look(page, 'waiting-help');
  await help(page).getByRole('link', { name: 'Lost your phone?' }).click();
  await page.getByRole('heading', { name: 'Sign in without your phone' }).waitFor();
  assert.equal(await nameField(page).inputValue(), 'nobody');
  await look(page, 'recover-from-sign-in');
  await page.getByRole('link', { name: 'Back to the sign-in' }).click();
  await help(page).getByRole('button', { name: 'Start again' }).click();
  await page.waitForURL(/\/login\/[^/]+\?again$/);
  assert.equal(await nameField(page).inputValue(), 'nobody');
  await page.context().close();
}

/** The stylesheet shows the help by itself if the script did not load. */
async function waitingPageWithoutItsScript(browser) {
  const page = await (await desktop(browser)).newPage();
  await page.route('**/waiting*.js', (route) => route.abort());
  await page.goto(AUTHORIZE_URL);
  let elapsed = 0;
  await helpAppears(page, (time) => {
    elapsed += time;
    return page.locator('#nothing').evaluate((element, at) => {
      const [animation] = element.getAnimations();
      animation.pause();
      animation.currentTime = at;
    }, elapsed);
  });
  await page.context().close();
}

/** Waits for the end of a sign-in, and keeps its page from returning to the application. */
async function ended(page, title) {
  await page.getByRole('heading', { name: title }).waitFor();
  await page.getByRole('link', { name: /stay on this page/i }).click();
  await page.getByRole('link', { name: /stay on this page/i }).waitFor({ state: 'detached' });
}

async function wrongNumber(browser, mobile) {
  const { page, number } = await beginSignIn(browser, AUTHORIZE_URL, 'ada');
  const wrong = ['11', '12', '13', '14'].filter((one) => one !== number);
  await approve(mobile, wrong[0]);
  await mobile.getByText('2 tries left.').waitFor();
  await approve(mobile, wrong[1]);
  await mobile.getByText('One try left.').waitFor();
  await approve(mobile, wrong[2]);
  await mobile.getByRole('heading', { name: 'Closed' }).waitFor();
  await ended(page, 'Wrong number');
  await look(page, 'ended-wrong-number');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.waitForURL(/\/login\/[^/]+\?again$/);
  assert.equal(await nameField(page).inputValue(), 'ada');
  await page.context().close();
  await mobile.getByRole('button', { name: /done/i }).click();
}

/** The button copies the reference, and the page does not return to the application then. */
async function copiesReference(page) {
  const copy = page.getByRole('button', { name: 'Copy the reference' });
  const result = page.locator('#copied');
  const reference = (await page.locator('#reference').innerText()).trim();
  assert.match(reference, /^[0-9A-F]{8}$/);
  await copy.click();
  await page.getByRole('link', { name: /stay on this page/i }).waitFor({ state: 'detached' });
  await result.getByText('Copied. This page stays open.', { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), reference);
  assert.equal((await page.locator('#reference').innerText()).trim(), reference, 'the reference stays the same');
  assert.equal(new URL(page.url()).hash, '', 'the result is not shown again after a reload');
  await look(page, 'ended-copied');
  // The user copies it again, and the browser does not allow it.
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'));
  });
  await copy.click();
  await result.getByText('The browser did not allow it. Select the reference and copy it.', { exact: true }).waitFor();
  await page.reload();
  assert.equal(await result.textContent(), '');
}

/** The user approved and has no account there. The page names the user, and offers the way back first. */
async function noAccount(browser, mobile) {
  const permissions = ['clipboard-read', 'clipboard-write'];
  const { page, number } = await beginSignIn(browser, FOREIGN_URL, 'ada', { permissions });
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.getByRole('heading', { name: 'Sign-in not possible' }).waitFor();
  await copiesReference(page);
  const main = await page.getByRole('main').innerText();
  assert.match(main, /You have no account with Elsewhere/);
  assert.match(main, /Account\s+ada/i);
  assert.match(main, /Reference\s+[0-9A-F]{8}/);
  const buttons = await page.getByRole('main').getByRole('button').allTextContents();
  assert.deepEqual(
    buttons.map((text) => text.trim()),
    ['Copy the reference', 'Back to Elsewhere', 'Use a different account'],
  );
  await look(page, 'ended-no-account');
  await page.context().close();
}

async function errorForTheOperator(page) {
  const request = new URL(AUTHORIZE_URL);
  request.searchParams.set('redirect_uri', `https://wrong.example/${'long/'.repeat(60)}<b>`);
  await page.goto(request.href);
  const details = page.getByRole('group').filter({ hasText: 'For the application’s operator' });
  await page.getByText('For the application’s operator').click();
  const text = await details.innerText();
  assert.match(text, /Address received\s+"https:\/\/wrong\.example/);
  assert.match(text, /Parameter\s+redirect_uri/);
  assert.match(text, /Reference\s+[0-9A-F]{8}/);
  await look(page, 'error-operator');
  await page.getByRole('link', { name: 'Start page' }).click();
  await page.waitForURL(`${BASE_URL}/`);
}

const browser = await launch();
try {
  const mobile = await (await phone(browser)).newPage();
  const desk = await (await desktop(browser)).newPage();
  const collected = complaints(desk);
  try {
    await enrolDevice(mobile, ENROL_URL);
    await loginPage(desk);
    await waitingPage(browser);
    await waitingPageWithoutItsScript(browser);
    await noAccount(browser, mobile);
    await wrongNumber(browser, mobile);
    await errorForTheOperator(desk);
  } catch (failure) {
    const pages = browser.contexts().flatMap((context) => context.pages());
    await Promise.all(pages.map((page, at) => shot(page, `failed-${at}`)));
    throw failure;
  }
  // Chromium itself logs the rejected request.
  assert.deepEqual(
    collected.filter((line) => !/\b400\b/.test(line)),
    [],
    'no page logs an error',
  );
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
}
