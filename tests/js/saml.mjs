// SAML in Chromium: service providers of another site post their requests, receive the responses that pages post by
// themselves, and receive logout requests in frames, one of which never answers. The test checks each page at both
// widths, light and dark, with axe-core.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME, USER_ID, ADMIN_TOKEN, CONTROL_URL (`/advance` advances the server's
// clock by this number of seconds); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

import { approve, complaints, desktop, inspect, launch, matchingNumber, PATIENCE, phone } from './browser.mjs';

const { BASE_URL, ENROL_URL, LOGIN_NAME, USER_ID, ADMIN_TOKEN, CONTROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL && LOGIN_NAME && USER_ID && ADMIN_TOKEN && CONTROL_URL, 'a variable is missing');

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

async function admin(method, path, body) {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
  const answer = await fetch(`${BASE_URL}/admin/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

const now = () => new Date().toISOString();
const id = () => `_${randomBytes(16).toString('hex')}`;
const namespaces =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"';
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

const authnRequest = ({ entityId }) =>
  `<samlp:AuthnRequest ${namespaces} ID="${id()}" Version="2.0" IssueInstant="${now()}">` +
  `<saml:Issuer>${entityId}</saml:Issuer></samlp:AuthnRequest>`;

/** Returns a page that posts a form by itself. */
const posting = (action, fields) =>
  `<!doctype html><title>Posting</title><form method="post" action="${escaped(action)}">` +
  Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join('') +
  '<button>Go</button></form><script>document.forms[0].submit()</script>';

// Service providers, at an address of a site other than the identity provider's.
const providers = {};
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const url = new URL(request.url, 'http://127.0.0.1');
  const [, name, action] = url.pathname.split('/');
  const provider = providers[name];
  const html = (text) => response.writeHead(200, { 'content-type': 'text/html' }).end(text);
  if (!provider) return response.writeHead(404).end();
  const form = new URLSearchParams(body);
  if (action === 'start') {
    return html(
      posting(provider.signOn, { SAMLRequest: btoa(authnRequest(provider)), RelayState: `for "${name}" & <others>` }),
    );
  }
  if (action === 'acs') {
    const xml = atob(form.get('SAMLResponse'));
    provider.responses.push({ xml, relayState: form.get('RelayState') });
    return html(`<!doctype html><title>${name}</title><h1>Service ${name}</h1>`);
  }
  assert.equal(action, 'slo');
  const byPost = request.method === 'POST';
  const encoded = byPost ? form.get('SAMLRequest') : url.searchParams.get('SAMLRequest');
  const bytes = Buffer.from(encoded, 'base64');
  const xml = (byPost ? bytes : inflateRawSync(bytes)).toString();
  provider.logouts.push({
    xml,
    byPost,
    signed: byPost ? xml.includes('<ds:Signature') : url.searchParams.has('Signature'),
  });
  if (provider.silent) return html('<!doctype html><title>Silence</title>');
  const requestId = /LogoutRequest[^>]* ID="([^"]+)"/.exec(xml)[1];
  const attributes = `ID="${id()}" Version="2.0" IssueInstant="${now()}" InResponseTo="${requestId}"`;
  const status = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>';
  const content = `<saml:Issuer>${provider.entityId}</saml:Issuer><samlp:Status>${status}</samlp:Status>`;
  const answer = `<samlp:LogoutResponse ${namespaces} ${attributes}>${content}</samlp:LogoutResponse>`;
  if (byPost) return html(posting(provider.singleLogout, { SAMLResponse: btoa(answer) }));
  const query = new URLSearchParams({ SAMLResponse: deflateRawSync(answer).toString('base64') });
  return response.writeHead(302, { location: `${provider.singleLogout}?${query}` }).end();
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const base = `http://127.0.0.1:${server.address().port}`;

async function provide(name, binding, silent = false) {
  const entityId = `${base}/${name}`;
  const application = await admin('POST', '/applications', {
    protocol: 'saml',
    name: `Service ${name}`,
    entity_id: entityId,
    acs: [{ url: `${entityId}/acs` }],
    single_logout: { url: `${entityId}/slo`, binding },
  });
  await admin('POST', `/applications/${application.id}/accounts`, { user_id: USER_ID });
  const address = (service) => `${BASE_URL}/sso/${service}/${application.id}`;
  providers[name] = {
    id: application.id,
    entityId,
    silent,
    responses: [],
    logouts: [],
    signOn: address('SingleSignOnService'),
    singleLogout: address('SingleLogoutService'),
  };
}

const welcome = (page, name) => page.getByRole('heading', { name: `Service ${name}`, exact: true }).waitFor();

/** The page that posts by itself, held back: its policy permits no script. */
async function postingPage(page) {
  const body = new URLSearchParams({ SAMLRequest: btoa(authnRequest(providers.alpha)) });
  const kept = await fetch(providers.alpha.signOn, { method: 'POST', body, redirect: 'manual' });
  const held = async (route) => {
    const answer = await route.fetch();
    const policy = answer.headers()['content-security-policy'];
    assert.match(policy, /script-src 'nonce-[0-9a-f]{32}'/);
    const strict = policy.replace(/'nonce-[^']+'/, "'none'");
    await route.fulfill({ response: answer, headers: { ...answer.headers(), 'content-security-policy': strict } });
  };
  await page.route('**/sso/sign-on/*', held);
  await page.goto(new URL(kept.headers.get('location'), BASE_URL).href);
  await page.getByRole('button', { name: 'Continue' }).waitFor();
  await look(page, 'saml-post');
  await page.getByRole('button', { name: 'Continue' }).click();
  await welcome(page, 'alpha');
  await page.unroute('**/sso/sign-on/*', held);
}

/** Without scripts, the user presses the button. */
async function withoutScripts(signedIn) {
  const plain = await browser.newContext({ locale: 'en-GB', javaScriptEnabled: false });
  plain.setDefaultTimeout(PATIENCE);
  await plain.addCookies(await signedIn.cookies());
  const page = await plain.newPage();
  await page.goto(`${base}/alpha/start`);
  await page.getByRole('button', { name: 'Go' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await welcome(page, 'alpha');
  await plain.close();
}

async function idpInitiated(page) {
  await admin('PATCH', `/applications/${providers.alpha.id}`, { idp_initiated: true });
  await page.goto(BASE_URL);
  await look(page, 'home-applications');
  await page.getByRole('button', { name: 'Open Service alpha' }).click();
  await welcome(page, 'alpha');
  const { xml } = providers.alpha.responses.at(-1);
  assert.ok(!xml.includes('InResponseTo'));
  await page.goto(providers.alpha.signOn);
  await page.getByRole('heading', { name: /Sign in to Service alpha/ }).waitFor();
  await look(page, 'saml-start');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await welcome(page, 'alpha');
}

const browser = await launch();
try {
  await provide('alpha', 'redirect');
  await provide('beta', 'post');
  await provide('gamma', 'redirect', true);
  const page = await (await desktop(browser)).newPage();
  const wrong = complaints(page);
  const mobile = await (await phone(browser)).newPage();
  await mobile.goto(ENROL_URL);
  await mobile.getByRole('button', { name: /set up this/i }).click();
  await mobile.getByRole('heading', { name: /is set up/i }).waitFor();
  await mobile.getByRole('button', { name: /done/i }).click();

  // Another site posts, so the browser sends no cookie. The server still finds the session.
  await page.goto(`${base}/alpha/start`);
  await page.getByRole('textbox', { name: /name|email/i }).fill(LOGIN_NAME);
  await page.getByRole('button', { name: /continue/i }).click();
  await page.locator('#number').waitFor();
  await approve(mobile, await matchingNumber(page));
  await welcome(page, 'alpha');
  for (const name of ['beta', 'gamma']) {
    await page.goto(`${base}/${name}/start`);
    await welcome(page, name);
  }
  for (const [name, { responses }] of Object.entries(providers)) {
    assert.equal(responses.length, 1);
    assert.equal(responses[0].relayState, `for "${name}" & <others>`);
    assert.match(responses[0].xml, /status:Success/);
  }
  const ours = wrong.filter((complaint) => complaint.startsWith(BASE_URL));
  assert.deepEqual(ours, [], 'the pages log no errors');
  await postingPage(page);
  await withoutScripts(page.context());
  await idpInitiated(page);
  await page.goto(`${providers.alpha.signOn}?SAMLRequest=nonsense`);
  assert.match(await page.getByRole('main').innerText(), /[0-9A-F]{8}/, 'an error page has a reference number');
  await look(page, 'error-saml');

  // Logout: two service providers answer in their frames, and the third times out.
  await page.goto(BASE_URL);
  await page.getByRole('button', { name: /sign out/i }).click();
  await page.getByText(/Service gamma is notified/).waitFor();
  await look(page, 'saml-logout');
  // The page's check may take any real time, because only this step advances the server's clock past the timeout.
  await fetch(`${CONTROL_URL}/advance`, { method: 'POST', body: '61' });
  await page.getByRole('heading', { name: /signed out/i }).waitFor();
  assert.match(await page.getByRole('main').innerText(), /have not confirmed[\s\S]*Service gamma/);
  await look(page, 'signed-out-unconfirmed');
  for (const name of ['alpha', 'beta']) {
    assert.equal(providers[name].logouts.length, 1, `${name} receives one request`);
    assert.ok(providers[name].logouts[0].signed);
    assert.equal(providers[name].logouts[0].byPost, name === 'beta');
  }
  await page.goto(`${base}/alpha/start`);
  await page.getByRole('textbox', { name: /name|email/i }).waitFor();
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
