// The security of applications in the console: an administrator sees which settings a profile lacks, uses it, sees a
// rejected request with its rule, and creates and deletes an initial access token, with which an application registers
// itself.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (owner), APPLICATION (the id of a web application with private_key_jwt),
// CLIENT_KEY (its private JSON Web Key), PLAIN_APPLICATION (the id of a web application with a secret); CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { createPrivateKey, randomUUID, sign } from 'node:crypto';

import { ASKED, run } from './console.mjs';

const { BASE_URL, APPLICATION, CLIENT_KEY, PLAIN_APPLICATION } = process.env;
const address = (id) => `/admin/applications/${encodeURIComponent(id)}`;
const TOKENS = '/admin/applications/registration-tokens';

/** Returns an assertion of the application. */
function assertion() {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: APPLICATION, sub: APPLICATION, aud: `${BASE_URL}/oidc`, iat: now, exp: now + 60 };
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const message = `${part({ alg: 'ES256' })}.${part({ ...claims, jti: randomUUID() })}`;
  const key = createPrivateKey({ key: JSON.parse(CLIENT_KEY), format: 'jwk' });
  const signature = sign('sha256', Buffer.from(message), { key, dsaEncoding: 'ieee-p1363' });
  return `${message}.${signature.toString('base64url')}`;
}

/** Pushes a request without PKCE, which the profile rejects. */
async function pushWithoutPkce() {
  const answer = await fetch(`${BASE_URL}/oidc/par`, {
    method: 'POST',
    body: new URLSearchParams({
      response_type: 'code',
      redirect_uri: 'https://rp.example/cb',
      scope: 'openid',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion(),
    }),
  });
  const { error } = await answer.json();
  assert.deepEqual([answer.status, error], [400, 'invalid_request']);
}

/** Returns the panel of a profile. */
const panel = (admin, name) =>
  admin.desk.locator('.panel').filter({ has: admin.desk.getByRole('heading', { level: 3, name }) });

/** An application without keys learns what it lacks, and can set a part of it. */
async function unmetRules(admin) {
  await admin.open(`${address(PLAIN_APPLICATION)}/security`, /Books/);
  const profile = panel(admin, /^FAPI 2\.0( In use)?$/);
  const missing = profile.getByRole('table', { name: 'Missing settings' });
  for (const member of ['token_endpoint_auth_method', 'require_pushed_authorization_requests'])
    await missing.getByRole('row', { name: new RegExp(member) }).waitFor();
  await missing
    .getByText(/FAPI 2\.0 Security Profile section 5\.3\.2\.1/)
    .first()
    .waitFor();
  assert.equal(await profile.getByRole('button', { name: 'Use this profile' }).count(), 0);
  await admin.look('security-unmet');
}

/** The administrator uses the profile, with the settings that it needs. */
async function useProfile(admin) {
  await admin.open(`${address(APPLICATION)}/security`, /Payments/);
  const profile = panel(admin, /^FAPI 2\.0( In use)?$/);
  await profile.getByRole('button', { name: 'Use this profile' }).click();
  const question = admin.desk.getByRole('dialog', { name: 'Use FAPI 2.0?' });
  await question.getByText(/require_pushed_authorization_requests = true/).waitFor();
  await question.getByRole('button', { name: 'Use it' }).click();
  await admin.desk.locator('#approval-number').waitFor();
  assert.match(await admin.approveAction(), /Payments/);
  await admin.said('The profile was set.');
  await profile.getByText('In use').waitFor();
  await profile.getByText('The settings fulfil its rules.').waitFor();
  await profile.getByRole('button', { name: 'End the profile' }).waitFor();
  await admin.desk.getByText('To a key of the application (DPoP)').waitFor();
  const signed = panel(admin, 'FAPI 2.0 with signed requests');
  await signed.getByRole('row', { name: /require_signed_request_object.*Message Signing section 5\.3\.1/ }).waitFor();
}

/** The page shows the request that the server rejected, its parts and the rule. */
async function rejectedRequest(admin) {
  await admin.desk.getByText('None in the last hour.').waitFor();
  await pushWithoutPkce();
  const request = admin.desk.locator('details').filter({ hasText: 'Rejected' });
  // The server stores the requests in the background.
  for (let tries = 0; tries < 60 && (await request.count()) === 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    await admin.open(`${address(APPLICATION)}/security`, /Payments/);
  }
  await request.locator('summary').click();
  await request.getByText('It was rejected:').waitFor();
  const words = await request.innerText();
  assert.match(words, /invalid_request/);
  assert.match(words, /code_challenge/, 'the rule is named');
  for (const part of ['Parameters', 'Client assertion'])
    await request.getByRole('heading', { level: 4, name: part }).waitFor();
  assert.match(words, /https:\/\/rp\.example\/cb/);
  await admin.look('security-rejected');
}

/** Creates an initial access token, and returns it. */
async function createToken(admin) {
  await admin.open(TOKENS, 'Initial access tokens');
  await admin.desk.getByText('There are no initial access tokens.').waitFor();
  await admin.look('registration-tokens-none');
  await admin.follow('Create an initial access token');
  await admin.heading('Create an initial access token');
  await admin.look('registration-token-new');
  await admin.field('Name').fill('Partners');
  const day = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10);
  await admin.field('Valid until').fill(day);
  await admin.press('Create');
  await admin.desk.locator('#approval-number').waitFor();
  assert.match(await admin.approveAction(), /Create the initial access token “Partners/);
  const shown = admin.desk.getByRole('dialog', { name: 'The initial access token' });
  const token = await shown.locator('code').first().textContent();
  await admin.press('I have stored it');
  await admin.heading('Initial access tokens');
  await admin.desk.getByRole('row', { name: /Partners .*0 of 10/ }).waitFor();
  return token.trim();
}

/** An application registers itself. The console names its source. */
async function registers(admin, token) {
  const answer = await fetch(`${BASE_URL}/oidc/register`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: 'Newcomer', redirect_uris: ['https://new.example/cb'] }),
  });
  assert.equal(answer.status, 201);
  await admin.open(TOKENS, 'Initial access tokens');
  await admin.desk.getByRole('row', { name: /Partners .*1 of 10/ }).waitFor();
  await admin.look('registration-tokens');
  await admin.open('/admin/applications', 'Applications');
  const row = admin.desk.getByRole('row', { name: /Newcomer/ });
  await row.getByText('Registered by itself: Partners').waitFor();
  await admin.look('applications-registered');
  await admin.follow('Newcomer');
  await admin.heading(/Newcomer/);
  await admin.desk.getByText(/^Registered by itself, with the initial access token Partners/).waitFor();
}

/** The administrator deletes the token, after which no application registers with it. */
async function deleteToken(admin, token) {
  await admin.open(TOKENS, 'Initial access tokens');
  await admin.press('Delete');
  const question = admin.desk.getByRole('dialog', { name: 'Delete the initial access token Partners?' });
  await question.getByRole('button', { name: 'Delete', exact: true }).click();
  await admin.said('The initial access token was deleted.');
  await admin.desk.getByText('There are no initial access tokens.').waitFor();
  const { status } = await fetch(`${BASE_URL}/oidc/register`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['https://late.example/cb'] }),
  });
  assert.equal(status, 401);
  await admin.open('/admin/applications', 'Applications');
  await admin.desk.getByRole('row', { name: /Newcomer/ }).waitFor();
}

await run(
  async (admin) => {
    await unmetRules(admin);
    await useProfile(admin);
    await rejectedRequest(admin);
    const token = await createToken(admin);
    await registers(admin, token);
    await deleteToken(admin, token);
  },
  { expected: [ASKED] },
);
