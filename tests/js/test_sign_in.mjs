// A test sign-in of an OpenID Connect and of a SAML application: the page of the console starts it, and another tab
// completes the sign-in. The page of the console, which keeps its session, shows each step and the result.
//
// Environment: BASE_URL, ENROL_URL of an owner called ada, and CLIENT_ID and PROVIDER_ID of two applications where she
// has an account; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { complaints, inspect, launch, matchingNumber, shot } from './browser.mjs';
import { Administrator } from './console.mjs';

const { BASE_URL, ENROL_URL, CLIENT_ID, PROVIDER_ID } = process.env;
assert.ok(BASE_URL && ENROL_URL && CLIENT_ID && PROVIDER_ID, 'an environment variable is missing');

const findings = [];

/** Reads the token of the console's page once, so that later calls show whether its session continues. */
const remember = (desk) =>
  desk.evaluate(async () => {
    const me = await (await fetch('/admin/api/v1/me')).json();
    globalThis.proofs = { 'X-Assent-CSRF': me.csrf_token, 'X-Assent-User': me.id };
  });
const call = (desk, method, path) =>
  desk.evaluate(
    async ([method, path]) => {
      const answer = await fetch(`/admin/api/v1${path}`, { method, headers: globalThis.proofs });
      return { status: answer.status, body: await answer.json() };
    },
    [method, path],
  );

async function tried(admin, application) {
  const { desk, mobile } = admin;
  const begun = await call(desk, 'POST', `/applications/${encodeURIComponent(application)}/test-sign-ins`);
  assert.equal(begun.status, 201, JSON.stringify(begun.body));
  const tab = await desk.context().newPage();
  const collected = complaints(tab);
  await tab.goto(begun.body.url);
  assert.equal(await tab.getByRole('textbox', { name: /name/i }).inputValue(), 'ada');
  await tab.getByRole('textbox', { name: /name/i }).fill('ada');
  await tab.getByRole('button', { name: /continue/i }).click();
  await mobile.getByText('(test sign-in)').first().waitFor();
  await admin.approve(await matchingNumber(tab));
  const done = tab.getByRole('heading', { name: 'Done: the sign-in works' });
  const allow = tab.getByRole('button', { name: /^allow/i });
  await done.or(allow).first().waitFor();
  if (await allow.isVisible()) await allow.click();
  await done.waitFor();
  findings.push(...(await inspect(tab, `test-sign-in-${application === CLIENT_ID ? 'oidc' : 'saml'}`)));
  assert.deepEqual(collected, []);
  await tab.close();
  const { body } = await call(desk, 'GET', `/test-sign-ins/${begun.body.id}?wait=5`);
  assert.equal(body.state, 'completed', JSON.stringify(body));
  assert.ok(
    body.steps.every((step) => step.succeeded),
    JSON.stringify(body.steps),
  );
  return body.result;
}

const browser = await launch();
try {
  const admin = await Administrator.signIn(browser, { base: BASE_URL, link: ENROL_URL, name: 'ada', findings });
  const { desk, mobile } = admin;
  try {
    await remember(desk);
    const oidc = await tried(admin, CLIENT_ID);
    assert.equal(oidc.id_token.claims.aud, CLIENT_ID);
    assert.equal(oidc.userinfo.sub, oidc.id_token.claims.sub);
    const saml = await tried(admin, PROVIDER_ID);
    assert.ok(saml.response.includes('<saml:Assertion') && saml.name_id.value);
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    await shot(desk, 'failed-desktop');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
}
