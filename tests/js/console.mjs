// The common parts of the console's tests: an administrator at a desk, with the authenticator on a phone.

import assert from 'node:assert/strict';

import {
  approve,
  complaints,
  desktop,
  enrolDevice,
  inspect,
  launch,
  numberField,
  phone,
  shot,
  submitName,
} from './browser.mjs';

/** An administrator: `desk` shows the console, `mobile` is the phone. */
export class Administrator {
  constructor(base, desk, mobile, findings) {
    Object.assign(this, { base, desk, mobile, findings });
  }

  /** Enrols the phone, and signs in to the console as `name`. */
  static async signIn(browser, { base, link, name, findings }) {
    const mobile = await (await phone(browser)).newPage();
    const context = await desktop(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
    const desk = await context.newPage();
    await enrolDevice(mobile, link);
    const self = new Administrator(base, desk, mobile, findings);
    await desk.goto(`${base}/admin`);
    await self.identify(desk, name);
    await desk.locator('#console:not([aria-busy]) h1').waitFor();
    return self;
  }

  /** Completes the sign-in that a page shows. */
  async identify(page, name) {
    await this.approve(await submitName(page, name));
  }

  /** Types a number into the phone, and approves. */
  async approve(number) {
    await approve(this.mobile, number);
    await this.mobile.getByRole('heading', { name: 'Approved' }).waitFor();
    // Notices of cancelled or denied requests may still be below.
    await this.mobile.getByLabel('Approved').getByRole('button', { name: 'Done' }).click();
  }

  /** Approves the protected action that is pending in the console. Returns the summary on the phone. */
  async approveAction() {
    const number = (await this.desk.locator('#approval-number').textContent()).trim();
    await numberField(this.mobile).waitFor();
    const words = await this.mobile.getByRole('heading', { level: 2 }).first().textContent();
    await this.approve(number);
    await this.desk.locator('#approval-number').waitFor({ state: 'detached' });
    return words;
  }

  /** Opens a page of the console by its address, and waits for its heading. */
  async open(path, heading) {
    await this.desk.goto(`${this.base}${path}`);
    await this.heading(heading);
  }

  heading(name) {
    return this.desk.locator('#console:not([aria-busy])').getByRole('heading', { level: 1, name }).waitFor();
  }

  press(name) {
    return this.desk.getByRole('button', { name, exact: true }).click();
  }

  /** Follows a link of the page, but not of the navigation beside it. */
  async follow(name) {
    await this.desk.locator('#console').getByRole('link', { name }).first().click();
    await this.desk.locator('#console:not([aria-busy])').waitFor();
  }

  /** Opens one of the tabs of the page. */
  async part(name) {
    await this.desk.locator('#console .tabs').getByRole('link', { name, exact: true }).click();
    await this.desk.locator('#console:not([aria-busy]) .tabs a[aria-current="page"]', { hasText: name }).waitFor();
  }

  /** Waits until the console shows this message. */
  said(text) {
    return this.desk.locator('#said', { hasText: text }).waitFor();
  }

  field(name) {
    return this.desk.locator('#console, dialog').getByLabel(name, { exact: true });
  }

  /** Searches in a long list by typing, and selects an option. */
  async choose(label, text, option) {
    await this.field(label).and(this.desk.getByRole('combobox')).fill(text);
    await this.desk.locator('.found').getByRole('option', { name: option }).click();
  }

  /** Checks the page in four ways. */
  async look(name) {
    // A list that is loading is faint.
    await this.desk.locator('[aria-busy]').waitFor({ state: 'detached' });
    this.findings.push(...(await inspect(this.desk, `console-${name}`)));
  }
}

/** Runs a test of the console with its own browser. `expected` are the browser's complaints that belong to the test. */
export async function run(test, { expected = [] } = {}) {
  const browser = await launch();
  const findings = [];
  let administrator;
  let collected = [];
  const { BASE_URL: base, ENROL_URL: link, LOGIN_NAME: name } = process.env;
  assert.ok(base && link && name, 'an environment variable is missing');
  try {
    administrator = await Administrator.signIn(browser, { base, link, name, findings });
    collected = complaints(administrator.desk);
    await test(administrator, browser);
    const unexpected = collected.filter((one) => !expected.some((pattern) => pattern.test(one)));
    assert.deepEqual(unexpected, [], 'the browser logs no errors');
    assert.deepEqual(findings, [], 'no page has an accessibility finding');
  } catch (failure) {
    if (administrator) {
      await shot(administrator.desk, 'failed-console');
      await shot(administrator.mobile, 'failed-phone');
      for (const page of [administrator.desk, administrator.mobile])
        console.error(`${page.url()} showed:\n${await page.locator('body').innerText()}`);
      console.error('The browser logged:', collected);
    }
    throw failure;
  } finally {
    await browser.close();
  }
}

/** The browser's complaint about a rejection that requires an approval by phone. */
export const ASKED = /the server responded with a status of 403/;
