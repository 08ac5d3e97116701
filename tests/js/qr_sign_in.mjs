// Sign-in without typing: the phone's camera reads the code of the login page, or the user opens the page on the phone
// itself.
//
// Environment: BASE_URL, ENROL_URL and SECOND_ENROL_URL (of two administrators); CHROMIUM and SCREENSHOTS as in
// browser.mjs.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import {
  approve,
  complaints,
  confirmApproved,
  desktop,
  enrolDevice,
  inspect,
  launch,
  matchingNumber,
  phone,
  shot,
} from './browser.mjs';
import { tokenOf } from './tokens.mjs';

const { BASE_URL, ENROL_URL, SECOND_ENROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL && SECOND_ENROL_URL, 'BASE_URL, ENROL_URL or SECOND_ENROL_URL is missing');

const folder = mkdtempSync(path.join(tmpdir(), 'camera-'));
const film = path.join(folder, 'camera.y4m');
const SIZE = 480;

/** Writes a film of these shades of grey, SIZE by SIZE, for Chromium's camera. */
function show(greys) {
  const colours = Buffer.alloc((SIZE * SIZE) / 2, 128);
  const frame = Buffer.concat([Buffer.from('FRAME\n'), Buffer.from(greys), colours]);
  writeFileSync(film, Buffer.concat([Buffer.from(`YUV4MPEG2 W${SIZE} H${SIZE} F10:1 Ip A1:1 C420\n`), frame, frame]));
}

/** Returns the image of a camera in front of a page's picture: the picture with a grey border, in shades of grey. */
function seen(page, picture) {
  return page.locator(picture).evaluate(async (image, size) => {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = size;
    const context = canvas.getContext('2d');
    context.fillStyle = '#999';
    context.fillRect(0, 0, size, size);
    context.drawImage(image, size / 6, size / 6, (size * 2) / 3, (size * 2) / 3);
    const { data } = context.getImageData(0, 0, size, size);
    return Array.from({ length: size * size }, (_, at) => data[at * 4]);
  }, SIZE);
}

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

async function approveSignIn(desk, mobile) {
  await approve(mobile, await matchingNumber(desk));
  await confirmApproved(mobile);
}

/** The browser names the account before it is signed in, because any viewer of its page could have scanned the code. */
async function confirm(desk, name) {
  await desk.getByText(`(${name})`).waitFor();
  await look(desk, 'scan-confirm');
  await desk.getByRole('button', { name: 'Continue' }).click();
  await desk.waitForURL(`${BASE_URL}/admin`);
}

async function byCamera(desk, mobile) {
  await desk.goto(`${BASE_URL}/admin`);
  await look(desk, 'login-with-code');
  show(await seen(desk, '.scan img'));
  await mobile.getByRole('button', { name: 'Scan a code' }).click();
  // The page learns no account before the user chooses one, although there is only one.
  await mobile.getByRole('heading', { name: /Sign in to .+\?/ }).waitFor();
  assert.match(await mobile.locator('.facts').textContent(), /This computer.*Chrome/);
  await look(mobile, 'scan-alone');
  assert.equal(await desk.locator('#number').count(), 0);
  await mobile.getByRole('button', { name: /\(ada\)/ }).click();
  await approveSignIn(desk, mobile);
  await confirm(desk, 'ada');
}

async function byAnotherCode(mobile) {
  // A code of another browser. The user cancels.
  show(new Array(SIZE * SIZE).fill(200));
  await mobile.getByRole('button', { name: 'Scan a code' }).click();
  await mobile.locator('video').waitFor();
  await look(mobile, 'scan');
  await mobile.getByRole('button', { name: 'Stop' }).click();
  await mobile.getByRole('button', { name: 'Scan a code' }).waitFor();
}

/** On the phone only, in one tab: the login page's first button leads to the authenticator, and one tap signs in. */
async function onThePhone(mobile) {
  await enrolDevice(mobile, SECOND_ENROL_URL);
  const page = await mobile.context().newPage();
  await page.goto(`${BASE_URL}/admin`);
  const here = page.getByRole('link', { name: 'Approve on this device' });
  await here.waitFor();
  assert.ok(await here.evaluate((link) => link === document.activeElement));
  assert.equal(await page.locator('.primary:visible').count(), 1, 'the page has one primary button');
  assert.equal(await page.getByRole('link', { name: /authenticator on this phone/i }).isVisible(), false);
  await page.getByText('Or sign in as someone else:', { exact: true }).waitFor();
  await look(page, 'login-here');
  await here.click();
  await page.getByRole('heading', { name: /Sign in to .+\?/ }).waitFor();
  await look(page, 'scan-which');
  await page.getByRole('button', { name: /Approve as .*\(bob\)/ }).click();
  await page.waitForURL(`${BASE_URL}/admin`);
  await page.close();
}

/** After the user typed the name, the waiting page shows the button before the number, which is not needed here. */
async function afterTheName(mobile) {
  const context = mobile.context();
  await context.clearCookies({ name: /session/ });
  const page = await context.newPage();
  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('textbox', { name: /name/i }).fill('bob');
  await page.getByRole('button', { name: 'Continue', exact: true }).click();
  const number = page.locator('#number');
  await number.waitFor();
  const here = page.getByRole('link', { name: 'Approve on this device' });
  assert.ok(await here.evaluate((link) => link === document.activeElement));
  assert.equal(await page.locator('.primary:visible').count(), 1, 'the page has one primary button');
  assert.ok((await here.boundingBox()).y < (await number.boundingBox()).y, 'the button is above the number');
  await page.getByRole('heading', { name: 'Approve this sign-in' }).waitFor();
  await page.getByText('On another phone: enter this number', { exact: true }).waitFor();
  await look(page, 'waiting-here');
  const tabs = context.pages().length;
  await here.click();
  await page.getByRole('button', { name: /Approve as .*\(bob\)/ }).click();
  await page.waitForURL(`${BASE_URL}/admin`);
  assert.equal(context.pages().length, tabs, 'no other tab was opened');
  await page.close();
}

/** The link of a login page in another browser: it has the key, but not the cookie of that page. The number decides. */
async function withoutTheCookie(desk, mobile) {
  await desk.context().clearCookies();
  await desk.goto(`${BASE_URL}/admin`);
  assert.equal(await desk.getByRole('link', { name: 'Approve on this device' }).isVisible(), false);
  assert.equal(await desk.getByText('Or sign in as someone else:').isVisible(), false);
  const link = await desk.locator('.scan-here a').getAttribute('href');
  await mobile.goto('about:blank');
  await mobile.goto(new URL(link, BASE_URL).href);
  await mobile.getByRole('button', { name: /Yes, as .*\(ada\)/ }).click();
  await approveSignIn(desk, mobile);
  await confirm(desk, 'ada');
}

const used = `${BASE_URL}/authenticator#login=${tokenOf('lc', 1)}`;

async function usedCode(mobile) {
  await mobile.goto('about:blank');
  await mobile.goto(used);
  await mobile.getByRole('heading', { name: 'This code didn’t work' }).waitFor();
  await look(mobile, 'scan-used');
  await mobile.getByRole('button', { name: 'Open the authenticator' }).click();
  await mobile.getByRole('heading', { name: 'Nothing to approve' }).waitFor();
}

/** A user can also report a request after a denial. */
async function notMeAgain(browser, mobile) {
  const stranger = await (await desktop(browser)).newPage();
  await stranger.goto(`${BASE_URL}/admin`);
  await stranger.getByRole('textbox', { name: /name/i }).fill('ada');
  await stranger.getByRole('button', { name: /continue/i }).click();
  await mobile.getByRole('button', { name: 'Deny' }).click();
  await mobile.getByRole('heading', { name: 'Denied' }).waitFor();
  await look(mobile, 'denied-not-me');
  await mobile.getByRole('button', { name: 'This wasn’t me' }).click();
  await mobile.getByRole('heading', { name: 'Reported' }).waitFor();
  await mobile.getByRole('button', { name: 'Done' }).click();
}

async function lifted(mobile) {
  await mobile.getByRole('button', { name: 'Resume now' }).click();
  await mobile.getByText(/are paused until/).waitFor({ state: 'detached' });
  await mobile.getByText('Sign-in requests are no longer paused.').first().waitFor();
}

/** Another browser uses the user's name. The user reports it, and ends the cooldown. */
async function notMe(browser, mobile) {
  const stranger = await (await desktop(browser)).newPage();
  await stranger.goto(`${BASE_URL}/admin`);
  await stranger.getByRole('textbox', { name: /name/i }).fill('ada');
  await stranger.getByRole('button', { name: /continue/i }).click();
  await mobile.getByRole('button', { name: 'This wasn’t me' }).click();
  await mobile.getByRole('heading', { name: 'Reported' }).waitFor();
  await mobile.getByText(/are paused until/).waitFor();
  await stranger.locator('#number').waitFor();
  // Without a key in the browser, the page shows the number first.
  assert.equal(await stranger.getByRole('link', { name: 'Approve on this device' }).isVisible(), false);
  await stranger.getByText('Open the authenticator on your phone and enter this number:').waitFor();
  await look(mobile, 'not-me');
  await mobile.getByRole('button', { name: 'Done' }).click();

  // During the cooldown, only requests that the phone itself started reach the phone.
  await stranger.goto(`${BASE_URL}/admin`);
  const code = await stranger.locator('.scan-here a').getAttribute('href');
  await mobile.goto('about:blank');
  await mobile.goto(`${BASE_URL}${code}`);
  await mobile.getByRole('button', { name: /\(ada\)/ }).click();
  await mobile.getByText(/are paused until/).waitFor();
  await mobile.getByRole('textbox', { name: /number/i }).fill((await stranger.locator('#number').textContent()).trim());
  await mobile.getByRole('button', { name: /approve/i }).click();
  await mobile.getByRole('heading', { name: /approved/i }).waitFor();
  await mobile.getByRole('button', { name: /done/i }).click();
  await confirm(stranger, 'ada');
  // The approval did not end the cooldown. Only the user does.
  await lifted(mobile);
  await mobile.getByRole('button', { name: 'Done' }).click();
  await notMeAgain(browser, mobile);
  await lifted(mobile);
  await look(mobile, 'pause-lifted');
  await mobile.getByRole('button', { name: 'Done' }).click();
}

async function notEnrolled(browser) {
  const page = await (await phone(browser)).newPage();
  await page.goto(used);
  await page.getByRole('heading', { name: 'This device is not set up yet' }).waitFor();
  await look(page, 'scan-not-enrolled');
}

const browser = await launch({}, [
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  `--use-file-for-fake-video-capture=${film}`,
]);
try {
  const mobile = await (await phone(browser)).newPage();
  const desk = await (await desktop(browser)).newPage();
  const collected = [mobile, desk].map(complaints);
  try {
    await enrolDevice(mobile, ENROL_URL);
    await byCamera(desk, mobile);
    await byAnotherCode(mobile);
    assert.deepEqual(collected.flat(), [], 'no page logs an error');
    await onThePhone(mobile);
    await afterTheName(mobile);
    await withoutTheCookie(desk, mobile);
    await usedCode(mobile);
    await notMe(browser, mobile);
    await notEnrolled(browser);
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    await shot(desk, 'failed-desktop');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
