// Chromium for the tests: a phone and a desktop, screenshots, and the accessibility checks.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

import { chromium } from 'playwright-core';

const PHONE = { width: 360, height: 740 };
const DESKTOP = { width: 1280, height: 800 };

/**
 * The time that a test waits for an expected event, in milliseconds. It is long enough for a slow machine, because the
 * event ends the wait.
 */
export const PATIENCE = 180_000;

// Screenshots take about as long as the checks. So a test takes them only for failures unless ALL_SCREENSHOTS is set.
const takesAll = Boolean(process.env.ALL_SCREENSHOTS);
const screenshots = process.env.SCREENSHOTS ?? new URL('../../target/screenshots', import.meta.url).pathname;

/** Debian's Chromium, for features that the headless shell lacks: notifications, and mocked answers to redirects. */
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

const LAUNCH = {
  // Debian's Chromium without the window system, which needs half of the CPU time.
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
  ],
};

/**
 * Starts Debian's Chromium, or the browser in CHROMIUM, with these environment variables and switches. The browser
 * connects to no server by itself.
 */
export function launch(variables = {}, switches = [], executablePath = LAUNCH.executablePath) {
  const args = [...LAUNCH.args, ...switches];
  return chromium.launch({ ...LAUNCH, executablePath, env: { ...process.env, ...variables }, args });
}

async function context(browser, options) {
  const made = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options });
  made.setDefaultTimeout(PATIENCE);
  return made;
}

/** Creates a phone's browser with its own storage and cookies. */
export function phone(browser, options = {}) {
  return context(browser, { viewport: PHONE, isMobile: true, hasTouch: true, deviceScaleFactor: 2, ...options });
}

/** Creates a desktop's browser with its own storage and cookies. */
export function desktop(browser, options = {}) {
  return context(browser, { viewport: DESKTOP, ...options });
}

/** Collects the problems that a page has by itself: script errors, and violations of its content security policy. */
export function complaints(page) {
  const collected = [];
  page.on('pageerror', (error) => collected.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') collected.push(`${page.url()}: ${message.text()}`);
  });
  return collected;
}

/** Saves a picture of the whole page as NAME.png below SCREENSHOTS. */
export function shot(page, name) {
  return page.screenshot({ path: path.join(screenshots, `${name}.png`), fullPage: true });
}

/** Enrols a phone with a link of an administrator or of another device. */
export async function enrolDevice(page, link) {
  await page.goto(link);
  await page.getByRole('button', { name: /set up this/i }).click();
  await page.getByRole('heading', { name: /is set up/i }).waitFor();
  await page.getByRole('button', { name: /done/i }).click();
}

/** Starts a sign-in at an address in a new desktop browser. Returns the waiting page and its number. */
export async function beginSignIn(browser, address, name, options = {}) {
  const page = await (await desktop(browser, options)).newPage();
  await page.goto(address);
  return { page, number: await submitName(page, name) };
}

/** Submits the user's name on a login page. Returns the number of the waiting page. */
export async function submitName(page, name) {
  await page.getByRole('textbox', { name: /name/i }).fill(name);
  await page.getByRole('button', { name: /continue/i }).click();
  return matchingNumber(page);
}

/** Returns the number of a waiting page. */
export async function matchingNumber(page) {
  await page.locator('#number').waitFor();
  return (await page.locator('#number').textContent()).trim();
}

/** Returns the authenticator's field for the number. */
export const numberField = (mobile) => mobile.getByRole('textbox', { name: /number/i });

/** Approves the request with this number. */
export async function approve(mobile, number) {
  await numberField(mobile).fill(number);
  await mobile.getByRole('button', { name: 'Approve', exact: true }).click();
}

/** Waits until the phone shows the approval, and closes the confirmation. */
export async function confirmApproved(mobile) {
  await mobile.getByRole('heading', { name: 'Approved' }).waitFor();
  await mobile.getByRole('button', { name: /done/i }).click();
}

const axeSource = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of axe-core that depend on colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** The colour schemes, with the rules to check in each. The schemes differ only by colours. */
const SCHEMES = [
  ['light', undefined],
  ['dark', COLOUR_RULES],
];

/** Returns the findings of axe-core about the present page, one line each. */
export async function axe(page, rules = undefined) {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(await axeSource);
  // Preloading is only for audio rules and an experimental rule, and would load files again before each run.
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) };
  const { violations } = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id} (${help}): ${node.target.join(' ')}`));
}

/**
 * Checks the page at both widths, light and dark. Returns the findings, and takes pictures on demand. A page that is
 * wider than the window is also a finding. Restores the window afterwards.
 */
export async function inspect(page, name) {
  const [before, findings] = [page.viewportSize(), []];
  for (const size of [PHONE, DESKTOP]) {
    await page.setViewportSize(size);
    for (const [colorScheme, rules] of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const look = `${name}-${size.width}-${colorScheme}`;
      if (takesAll) await shot(page, look);
      findings.push(...(await axe(page, rules)).map((finding) => `${look}: ${finding}`));
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) findings.push(`${name} at ${size.width} px: the page is ${wide} px too wide`);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: 'reduce' });
  await page.setViewportSize(before);
  return findings;
}

/**
 * Creates a phone's browser with a profile in a folder, which a restart preserves. It is not a private window, so it
 * can install apps and show notifications.
 */
export async function keptPhone(folder, options = {}) {
  const made = await chromium.launchPersistentContext(folder, {
    ...LAUNCH,
    executablePath: CHROMIUM,
    locale: 'en-GB',
    reducedMotion: 'reduce',
    viewport: PHONE,
    isMobile: true,
    hasTouch: true,
    deviceScaleFactor: 2,
    ...options,
  });
  made.setDefaultTimeout(PATIENCE);
  return made;
}

/** Prints the recovery codes of a page: the codes without the buttons around them. */
export async function printCodes(page) {
  await page.evaluate(() => {
    window.print = () => {
      window.isPrinted = true;
    };
  });
  await page.getByRole('button', { name: 'Print' }).click();
  assert.ok(await page.evaluate(() => window.isPrinted));
  await page.emulateMedia({ media: 'print' });
  assert.ok(await page.locator('.codes').isVisible());
  assert.equal(await page.getByRole('button').count(), 0);
  await page.emulateMedia({ media: null });
}
