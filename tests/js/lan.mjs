// A trial with a phone: the page that explains the certificate, a browser that starts to trust it, and the
// authenticator at an address without a public certificate authority.
//
// Environment: PAGE_URL (the page), ORIGIN (Assent), ENROL_URL; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { desktop, inspect, launch, phone } from './browser.mjs';

const { PAGE_URL, ORIGIN, ENROL_URL } = process.env;
assert.ok(PAGE_URL && ORIGIN && ENROL_URL, 'PAGE_URL, ORIGIN or ENROL_URL is missing');

/** A home folder in which Chromium finds the certificate authorities that its user trusts. */
const home = mkdtempSync(path.join(tmpdir(), 'home-'));
const authorities = path.join(home, '.pki', 'nssdb');
mkdirSync(authorities, { recursive: true });
execFileSync('certutil', ['-N', '-d', `sql:${authorities}`, '--empty-password']);

const findings = [];

async function beforeItIsTrusted() {
  const browser = await launch({ HOME: home });
  const page = await (await phone(browser)).newPage();
  await page.goto(PAGE_URL);
  await page.getByText('does not trust the trial yet').waitFor();
  findings.push(...(await inspect(page, 'lan-trust')));
  const other = await page.context().newPage();
  await assert.rejects(other.goto(`${ORIGIN}/authenticator`), /ERR_CERT_AUTHORITY_INVALID/);
  const shown = (await page.locator('code', { hasText: /^([0-9A-F]{4} ){15}[0-9A-F]{4}$/ }).textContent()).trim();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download the certificate' }).click(),
  ]);
  const file = path.join(home, download.suggestedFilename());
  await download.saveAs(file);
  const fingerprint = createHash('sha256').update(readFileSync(file)).digest('hex').toUpperCase();
  assert.equal(shown.replaceAll(' ', ''), fingerprint, 'the fingerprint on the page is the certificate’s');
  await browser.close();
  return file;
}

async function onceItIsTrusted(file) {
  execFileSync('certutil', ['-A', '-d', `sql:${authorities}`, '-n', 'trial', '-t', 'C,,', '-i', file]);
  const browser = await launch({ HOME: home });
  const page = await (await desktop(browser)).newPage();
  await page.goto(PAGE_URL);
  await page.getByText('This device trusts the trial').waitFor();
  await page.getByRole('link', { name: 'Open the authenticator' }).click();
  await page.getByRole('heading', { name: 'Use this device to sign in' }).waitFor();
  assert.ok(await page.evaluate(() => isSecureContext), 'the page is a secure context');
  await page.goto(ENROL_URL);
  await page.getByRole('button', { name: /set up this/i }).click();
  await page.getByRole('heading', { name: /is set up/i }).waitFor();
  await browser.close();
}

try {
  await onceItIsTrusted(await beforeItIsTrusted());
  assert.deepEqual(findings, []);
} finally {
  rmSync(home, { recursive: true, force: true });
}
