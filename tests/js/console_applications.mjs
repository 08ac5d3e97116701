// An administrator who has never seen the console connects a web application, or a single-page app, a native app and a
// SAML service provider. Each uses a real client library, and only the values that the console shows.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; CONNECTS, which is "web" or "others"; CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import './webcrypto.mjs';

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';

import { SAML } from '@node-saml/node-saml';
import * as client from 'openid-client';

import { matchingNumber, PATIENCE } from './browser.mjs';
import { ASKED, run } from './console.mjs';

const { LOGIN_NAME, CONNECTS } = process.env;
const MARKUP = '<img src=x onerror="window.hacked=1">';

/** Starts the server of an application on its own port. */
async function serve(answer) {
  const server = createServer((request, response) => {
    answer(request, response).catch((failure) => response.writeHead(500).end(`failed: ${failure.message}`));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, close: () => server.close() };
}

/** Returns the value beside a label in the guide. */
const pasted = (admin, label) =>
  admin.desk
    .locator('.pasted div', { has: admin.desk.locator('dt', { hasText: new RegExp(`^${label}$`) }) })
    .locator('code')
    .first()
    .textContent();

/** Returns the titles of the numbered steps of the guide. A step that replaces another one has no number. */
const steps = (admin) => admin.desk.locator('.guide > li > h2').allTextContents();

async function begin(admin, kind) {
  await admin.open('/admin/applications', 'Applications');
  await admin.follow('Connect an application');
  await admin.heading('Connect an application');
  await admin.follow(kind);
}

/** Creates an account for the administrator in the application of the page. */
async function giveAccess(admin) {
  await admin.part('Access');
  await admin.desk.getByText('Give a user access').click();
  await admin.choose('User', LOGIN_NAME, new RegExp(LOGIN_NAME));
  await admin.field('Roles').fill('approver');
  await admin.field('Roles').press('Enter');
  await admin.field('Roles').fill(MARKUP);
  await admin.press('Give access');
  await admin.said('The account was created.');
}

/** Allows the requested scopes. */
async function consent(page) {
  await page.getByRole('button', { name: /^allow$/i }).click();
}

async function webApplication(admin) {
  // The settings of openid-client are read from the page below.
  let config;
  let checks;
  const server = await serve(async (request, response) => {
    const url = new URL(request.url, redirectUri);
    if (url.pathname === '/') {
      const verifier = client.randomPKCECodeVerifier();
      checks = { pkceCodeVerifier: verifier, expectedState: client.randomState(), expectedNonce: client.randomNonce() };
      const to = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid profile email',
        state: checks.expectedState,
        nonce: checks.expectedNonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return response.writeHead(303, { location: to.href }).end();
    }
    const tokens = await client.authorizationCodeGrant(config, url, { ...checks, idTokenExpected: true });
    return response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(`Hello, ${tokens.claims().name}; ${tokens.claims().account}`);
  });
  const redirectUri = `http://localhost:${server.port}/callback`;

  await admin.heading('Overview');
  await admin.desk.getByText('0 of 6 done').waitFor();
  await admin.look('first');
  await admin.follow('Connect an application');
  await admin.look('kinds');
  await admin.follow(/^Web application/);
  await admin.heading('New web application');
  await admin.press('Connect it');
  await admin.desk.locator('.field-error', { hasText: 'Enter a name.' }).first().waitFor();
  await admin.field('Name').fill(`Expenses ${MARKUP}`);
  await admin.field('Redirect URIs').fill('com.example.app://callback');
  await admin.desk.locator('.field-error', { hasText: 'starts with https://' }).waitFor();
  await admin.field('Redirect URIs').fill(`com.example.app://callback\n${redirectUri}\nhttps://*.example.org/callback`);
  await admin.desk.locator('.field-error', { hasText: /Line 1: .*\s+Line 3: / }).waitFor();
  const errors = admin.desk.locator('.field-error', { hasText: 'Line 1: ' });
  assert.match(await errors.innerText(), /^Line 1: A redirect URI [^\n]*\.\nLine 3: [A-Z*][^\n]*\.$/);
  // An address on the machine of the user is valid, with a warning.
  await admin.desk.locator('.field-warning', { hasText: /^Line 2: This address is on the machine/ }).waitFor();
  await admin.look('unfit-redirect-uri');
  await admin.field('Redirect URIs').fill(redirectUri);
  await admin.desk.locator('.field-error', { hasText: 'starts with https://' }).waitFor({ state: 'hidden' });
  await admin.press('Connect it');
  await admin.heading(`Expenses ${MARKUP}`);
  await admin.look('guide-web');
  assert.deepEqual(await steps(admin), [
    'Paste this into the application',
    'Create its secret',
    'Give users access',
    'Try it',
  ]);
  await admin.desk.getByText(/^It must use exactly this redirect URI: /).waitFor();

  const [issuer, id] = [await pasted(admin, 'Issuer'), await pasted(admin, 'Client ID')];
  await admin.press('Create the secret');
  await admin.desk.locator('#approval-number').waitFor();
  await admin.look('action-secret');
  assert.match(await admin.desk.getByRole('timer').innerText(), /^(\d+ minutes? ?)?(\d+ seconds? )?left$/);
  assert.ok((await admin.desk.locator('dialog progress').evaluate((bar) => bar.value / bar.max)) > 0.5);
  assert.match(await admin.approveAction(), /^Create a client secret for “Expenses/);
  const shown = admin.desk.getByRole('dialog', { name: 'The client secret' });
  await shown.waitFor();
  await admin.look('secret-once');
  const secret = await shown.locator('code').first().textContent();
  await shown.getByRole('button', { name: 'Copy' }).click();
  assert.equal(await admin.desk.evaluate(() => navigator.clipboard.readText()), secret);
  await admin.press('I have stored it');
  await admin.desk.getByText('It has a secret.').waitFor();
  assert.ok(!(await admin.desk.content()).includes(secret), 'the secret is gone from the page');
  await giveAccess(admin);
  await admin.look('accounts');

  config = await client.discovery(new URL(issuer), id, undefined, client.ClientSecretBasic(secret), {
    execute: [client.allowInsecureRequests],
  });
  const tab = await admin.desk.context().newPage();
  await tab.goto(`http://localhost:${server.port}/`);
  await consent(tab);
  await tab.getByText(/^Hello, .*approver/).waitFor();
  await tab.close();
  server.close();
  return id;
}

async function singlePageApp(admin) {
  const library = await readFile(
    createRequire(import.meta.url)
      .resolve('oidc-client-ts')
      .replace(/dist\/.*$/, 'dist/browser/oidc-client-ts.min.js'),
    'utf8',
  );
  let settings = {};
  const server = await serve(async (request, response) => {
    const files = {
      '/oidc.js': ['text/javascript', library],
      '/app.js': [
        'text/javascript',
        `
        const manager = new oidc.UserManager(${JSON.stringify(settings)});
        const show = (user) => { document.title = 'in'; document.body.textContent = 'Hello, ' + user.profile.name; };
        const fail = (failure) => { document.body.textContent = failure.message; };
        if (new URLSearchParams(location.search).has('code')) manager.signinRedirectCallback().then(show, fail);
        else manager.signinRedirect();`,
      ],
    };
    const [type, body] = files[new URL(request.url, 'http://x').pathname] ?? [
      'text/html',
      '<!doctype html><body><script src="/oidc.js"></script><script src="/app.js"></script>',
    ];
    response.writeHead(200, { 'content-type': type }).end(body);
  });
  const uri = `http://localhost:${server.port}/callback`;
  await begin(admin, /^Single-page app/);
  await admin.field('Name').fill('Photos');
  await admin.field('Redirect URIs').fill(uri);
  await admin.press('Connect it');
  await admin.heading('Photos');
  await admin.look('guide-spa');
  // The example on the page has every setting of the library.
  const example = await admin.desk.locator('.guide pre').last().textContent();
  const said = (name) => new RegExp(`${name}: ["']([^"']*)["']`).exec(example)[1];
  settings = Object.fromEntries(['authority', 'client_id', 'redirect_uri', 'scope'].map((name) => [name, said(name)]));
  await giveAccess(admin);
  const tab = await admin.desk.context().newPage();
  await tab.goto(`http://localhost:${server.port}/`);
  await consent(tab);
  await tab.getByText(/^Hello, /).waitFor();
  await tab.close();
  server.close();
}

async function nativeApp(admin) {
  await begin(admin, /^Native app/);
  await admin.field('Name').fill('Field app');
  await admin.field('Redirect URIs').fill('http://127.0.0.1/callback\ncom.example.field://callback');
  await admin.press('Connect it');
  await admin.heading('Field app');
  await admin.look('guide-native');
  const [issuer, id] = [await pasted(admin, 'Issuer'), await pasted(admin, 'Client ID')];
  await admin.desk.locator('.guide').getByText('No one has access yet.').waitFor();
  await admin.part('Test sign-in');
  await admin.desk.getByText('You have no access to this application, so the test sign-in will fail.').waitFor();
  await admin.look('test-sign-in-without-account');
  await admin.press('Create an account for me');
  await admin.said('You have an account, without roles.');
  await admin.desk.getByText(/You have no access/).waitFor({ state: 'hidden' });

  const config = await client.discovery(new URL(issuer), id, undefined, client.None(), {
    execute: [client.allowInsecureRequests],
  });
  const [verifier, state] = [client.randomPKCECodeVerifier(), client.randomState()];
  const answered =
    Promise.withResolvers?.() ??
    (() => {
      const made = {};
      made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
      return made;
    })();
  // Like a command line: a temporary port on the loopback address.
  const server = await serve(async (request, response) => {
    const tokens = await client.authorizationCodeGrant(config, new URL(request.url, redirectUri), {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    answered.resolve(tokens);
    response.writeHead(200, { 'content-type': 'text/plain' }).end('Go back to the app.');
  });
  const redirectUri = `http://127.0.0.1:${server.port}/callback`;
  const to = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid profile',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const tab = await admin.desk.context().newPage();
  await tab.goto(to.href);
  await consent(tab);
  await tab.getByText('Go back to the app.').waitFor();
  assert.equal((await answered.promise).claims().aud, id);
  await tab.close();
  server.close();
}

async function serviceProvider(admin) {
  let saml;
  const server = await serve(async (request, response) => {
    if (request.method !== 'POST')
      return response.writeHead(303, { location: await saml.getAuthorizeUrlAsync('', undefined, {}) }).end();
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    const { profile } = await saml.validatePostResponseAsync(form);
    return response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(`Hello, ${profile.nameID}; groups ${profile.groups}`);
  });
  const base = `http://localhost:${server.port}`;
  const options = { issuer: `${base}/metadata`, callbackUrl: `${base}/acs`, identifierFormat: null };
  const metadata = new SAML({ ...options, idpCert: 'not known yet', entryPoint: base }).generateServiceProviderMetadata(
    null,
    null,
  );

  await begin(admin, /^SAML service provider/);
  await admin.heading('New SAML service provider');
  await admin.look('new-saml');
  await admin.field('Name').fill('Wiki');
  await admin.follow('By hand');
  await admin.field('SP entity ID').waitFor();
  await admin.follow('Metadata as a file');
  await admin.desk.getByLabel('Metadata file').waitFor();
  assert.equal(await admin.field('Name').inputValue(), 'Wiki', 'the name is entered once');
  await admin.desk
    .getByLabel('Metadata file')
    .setInputFiles({ name: 'metadata.xml', mimeType: 'text/xml', buffer: Buffer.from(metadata.slice(0, -30)) });
  await admin.press('Connect it');
  await admin.desk
    .locator('.field-error, .notice.bad', { hasText: /cannot be read/ })
    .first()
    .waitFor();
  await admin.desk
    .getByLabel('Metadata file')
    .setInputFiles({ name: 'metadata.xml', mimeType: 'text/xml', buffer: Buffer.from(metadata) });
  await admin.press('Connect it');
  await admin.heading('Wiki');
  await admin.look('guide-saml');
  assert.deepEqual(await steps(admin), [
    'Give the service provider Assent’s metadata',
    'Check its settings',
    'Give users access',
    'Try it',
  ]);
  const document = await (await fetch(await pasted(admin, 'Metadata address'))).text();
  const [entity, entry] = [
    await pasted(admin, 'Entity ID of the identity provider'),
    await pasted(admin, 'Sign-on address \\(SSO\\)'),
  ];
  await admin.part('Settings');
  await admin.press('Add an attribute');
  await admin.desk.locator('.row').last().getByLabel('Name').fill('groups');
  await admin.desk.locator('.row').last().getByLabel('Values').fill('wiki-{roles}');
  // No user has an email address here.
  await admin.field('Source').selectOption({ label: 'The account’s name' });
  await admin.look('settings-saml');
  await foldedFields(admin);
  await giveAccess(admin);
  await admin.part('Claims');
  await admin.choose('Account', LOGIN_NAME, new RegExp(LOGIN_NAME));
  await admin.press('Preview');
  await admin.desk.getByRole('row', { name: new RegExp(`NameID ${LOGIN_NAME} Assent, as emailAddress`) }).waitFor();
  await admin.look('claims-saml');
  assert.equal(await admin.desk.locator('td .badge code').count(), 0, 'an assertion has no scopes');
  await admin.part('Certificates');
  await admin.look('certificates');
  await testSignIn(admin, 'wiki-approver');
  await admin.look('test-sign-in-saml');

  const certificates = [...document.matchAll(/<(?:\w+:)?X509Certificate>([^<]+)</g)].map(([, certificate]) =>
    certificate.trim(),
  );
  saml = new SAML({
    ...options,
    idpCert: certificates,
    idpIssuer: entity,
    entryPoint: entry,
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: true,
    audience: options.issuer,
  });
  const tab = await admin.desk.context().newPage();
  await tab.goto(base);
  await tab.getByText(`Hello, ${LOGIN_NAME}; groups wiki-approver`).waitFor();
  await tab.close();
  server.close();
}

/** Rarely needed fields are folded, except with a value or an error. Saves the settings. */
async function foldedFields(admin) {
  const advanced = admin.desk.locator('details', { has: admin.desk.getByLabel('Entity ID override') });
  const isOpen = () => advanced.evaluate(({ open }) => open);
  const title = advanced.locator('summary');
  assert.equal(await isOpen(), false, 'no field in it has a value');
  await title.click();
  await admin.field('Address of its metadata').fill('ftp://wiki.example.org/metadata');
  await title.click();
  assert.equal(await isOpen(), false, 'a second press folds it');
  await admin.press('Save');
  await advanced.locator('.field-error', { hasText: 'https://' }).waitFor();
  assert.ok(await isOpen(), 'the error is in view');
  await admin.field('Address of its metadata').fill('https://wiki.example.org/metadata');
  await admin.press('Save');
  await admin.approveAction();
  await admin.said('Saved.');
  await admin.desk.reload();
  await admin.field('Address of its metadata').waitFor();
  assert.ok(await isOpen(), 'a field in it has a value');
  await admin.field('Address of its metadata').fill('');
  await admin.press('Save');
  await admin.approveAction();
  await admin.said('Saved.');
}

/** Runs a real sign-in of the administrator. Its answer returns to the console. */
async function testSignIn(admin, shown) {
  await admin.part('Test sign-in');
  const [tab] = await Promise.all([admin.desk.context().waitForEvent('page'), admin.press('Test sign-in')]);
  tab.setDefaultTimeout(PATIENCE);
  // A request without a name asks for the name.
  const name = tab.getByRole('textbox', { name: /name/i });
  await name.or(tab.locator('#number')).first().waitFor();
  // Pages of other servers may follow. They must have no access to the console's window.
  assert.equal(await tab.evaluate(() => window.opener), null);
  if (await name.isVisible()) {
    await name.fill(LOGIN_NAME);
    await tab.getByRole('button', { name: /continue/i }).click();
    await tab.locator('#number').waitFor();
  }
  await admin.approve(await matchingNumber(tab));
  const allow = tab.getByRole('button', { name: /^allow$/i });
  const done = tab.getByText(/console/i).first();
  await allow.or(done).first().waitFor();
  if (await allow.isVisible()) await allow.click();
  await admin.desk.getByText('It worked: the application would have signed you in.').waitFor();
  await admin.desk.locator('#console section', { hasText: shown }).first().waitFor();
  await tab.close();
  // It remains when the page is loaded again.
  await admin.desk.reload();
  await admin.desk.getByText('It worked: the application would have signed you in.').waitFor();
  await admin.desk.locator('#console section', { hasText: shown }).first().waitFor();
}

/**
 * A sign-in of the administrator after two denials: the server sends no request to the phone, and the console shows
 * this.
 */
async function pausedTestSignIn(admin) {
  await admin.part('Test sign-in');
  const [tab] = await Promise.all([admin.desk.context().waitForEvent('page'), admin.press('Test sign-in')]);
  tab.setDefaultTimeout(PATIENCE);
  const name = tab.getByRole('textbox', { name: /name/i });
  const identify = async () => {
    await name.fill(LOGIN_NAME);
    await tab.getByRole('button', { name: /continue/i }).click();
    await tab.locator('#number').waitFor();
  };
  // The second denial starts a cooldown.
  for (let denials = 0; denials < 2; denials += 1) {
    await identify();
    await admin.desk.getByText('Approval request', { exact: true }).waitFor();
    await admin.mobile.getByRole('button', { name: 'Deny', exact: true }).click();
    await admin.mobile.getByRole('heading', { name: 'Denied' }).waitFor();
    await admin.mobile.getByRole('button', { name: 'Done' }).click();
    await tab.getByRole('button', { name: /again/i }).click();
  }
  await identify();
  await admin.desk.getByText('No request went to your phone.').waitFor();
  const paused = admin.desk.locator('.test-sign-in > li', {
    hasText: /Your devices received no request yet: requests/,
  });
  await paused.getByText('waiting', { exact: true }).waitFor();
  await paused.getByText(/while the sign-in page waits\.$/).waitFor();
  assert.doesNotMatch(
    await tab.locator('main').textContent(),
    /no request|cooldown/i,
    'the login page does not show it',
  );
  await admin.look('test-sign-in-paused');
  // A cancelled test sign-in has ended, with the same reason.
  await tab.getByRole('button', { name: /cancel this sign-in/i }).click();
  await tab.getByRole('button', { name: /back to/i }).click();
  await admin.desk.getByText('It did not work. The first step that failed says why.').waitFor();
  await admin.desk.locator('#console .facts', { hasText: 'requests are paused until' }).waitFor();
  await paused.getByText('failed', { exact: true }).waitFor();
  await tab.close();
}

/** Each page of a disabled application shows its state, and so does the list. Then the application is enabled again. */
async function disabled(admin) {
  await admin.part('Settings');
  await admin.press('Disable this application');
  const question = admin.desk.getByRole('dialog', { name: 'Disable Expenses?' });
  await question.waitFor();
  await admin.look('disable');
  await question.getByRole('button', { name: 'Disable it' }).click();
  assert.match(await admin.approveAction(), /^Disable the application “Expenses”: no user can/);
  await admin.said('The application is disabled.');
  await admin.desk.getByText('This application is disabled. No user can sign in to it.').waitFor();
  await admin.look('disabled');
  const settings = admin.desk.url();
  await admin.open('/admin/applications', 'Applications');
  await admin.desk.getByRole('row', { name: /Expenses Web application Disabled/ }).waitFor();
  await admin.desk.goto(settings);
  await admin.press('Enable this application');
  assert.match(await admin.approveAction(), /^Enable the application “Expenses”: its users can sign in to it/);
  await admin.said('The application is enabled.');
  await admin.desk.getByRole('button', { name: 'Disable this application' }).waitFor();
}

/** The preview shows that a slim ID token has few claims, and that a suspended account is rejected. */
async function slimAndSuspended(admin) {
  const account = async (press, said) => {
    await admin.part('Access');
    await admin.desk.locator('[data-label="Account"]').getByRole('link', { name: LOGIN_NAME }).first().click();
    await admin.heading(LOGIN_NAME);
    await admin.press(press);
    const sure = admin.desk.getByRole('dialog').getByRole('button', { name: press, exact: true });
    if (press === 'Suspend') await sure.click();
    await admin.said(said);
    await admin.follow('Preview the claims');
    await admin.desk.getByRole('heading', { name: 'ID token' }).waitFor();
  };
  await account('Suspend', 'The account is suspended.');
  const stopped = admin.desk.getByText('No user would be signed in: the account in this application is suspended');
  await stopped.waitFor();
  assert.equal(await stopped.count(), 1, 'the message is shown once');
  await admin.look('claims-suspended');
  await account('Activate', 'The account is active.');
  await stopped.waitFor({ state: 'detached' });
  await admin.part('Settings');
  await admin.field('Slim ID tokens').check();
  await admin.press('Save');
  await admin.said('Saved.');
  await admin.part('Claims');
  await admin.choose('Account', LOGIN_NAME, new RegExp(LOGIN_NAME));
  await admin.press('Preview');
  await admin.desk.getByText('This application has slim_id_token').waitFor();
  await admin.look('claims-slim');
}

/** The preview lists the active scopes: all scopes of the application at first, then only the selected ones. */
async function activeScopes(admin) {
  const scopes = admin.desk.getByRole('group', { name: 'Scopes', exact: true });
  const listed = async (sink) => {
    const section = admin.desk
      .locator('#console section')
      .filter({ has: admin.desk.getByRole('heading', { level: 2, name: sink, exact: true }) });
    const text = await section.getByText('Active scopes:').textContent();
    return text.replace('Active scopes:', '').trim().split(/\s+/);
  };
  const all = await scopes.locator('label').allTextContents();
  for (const scope of ['openid', 'profile', 'email', 'phone']) assert.ok(all.includes(scope), scope);
  for (const sink of ['ID token', 'UserInfo']) assert.deepEqual((await listed(sink)).sort(), [...all].sort(), sink);
  const email = admin.desk.getByRole('row', { name: /^email_verified / });
  await email.first().waitFor();
  await scopes.getByRole('checkbox', { name: 'email', exact: true }).uncheck();
  await admin.press('Preview');
  await email.first().waitFor({ state: 'detached' });
  const left = all.filter((scope) => scope !== 'email');
  for (const sink of ['ID token', 'UserInfo']) assert.deepEqual((await listed(sink)).sort(), [...left].sort(), sink);
}

/** Checks the sections of the settings. Each has a link, and the address then contains its name. */
async function sections(admin) {
  const links = admin.desk.getByRole('navigation', { name: 'On this page' }).getByRole('link');
  assert.deepEqual(await links.allTextContents(), [
    'Name and addresses',
    'What it may request',
    'How users sign in',
    'Protection of codes',
    'What it receives',
    'Signing in and out from here',
    'Requests without a browser',
    'Information for users',
    'Advanced',
    'Logo',
    'Availability',
  ]);
  await links.filter({ hasText: 'Advanced' }).click();
  assert.match(admin.desk.url(), /#section-advanced$/);
  await admin.desk.getByRole('heading', { name: 'Client assertions' }).waitFor();
  await links.filter({ hasText: 'What it may request' }).click();
  assert.equal(await admin.desk.evaluate(() => document.activeElement.textContent), 'What it may request');
  const current = admin.desk.locator('.contents a[aria-current="true"]');
  assert.deepEqual(await current.allTextContents(), ['What it may request']);
  await admin.desk.evaluate(() => {
    document.activeElement.blur();
    scrollTo(0, 0);
  });
  await current.filter({ hasText: 'Name and addresses' }).waitFor();
  const openid = admin.desk.getByRole('checkbox', { name: /^openid / });
  assert.ok((await openid.isChecked()) && (await openid.isDisabled()), 'each application needs the scope openid');
}

async function settings(admin, id) {
  const at = `/admin/applications/${encodeURIComponent(id)}`;
  await admin.open(`${at}/settings`, `Expenses ${MARKUP}`);
  await admin.look('settings-web');
  await sections(admin);
  await admin.field('Initiate login URI').fill('ftp://expenses.example.org');
  await admin.press('Save');
  await admin.desk.locator('.field-error', { hasText: 'https://' }).waitFor();
  await admin.field('Initiate login URI').fill('https://expenses.example.org/login');
  await admin.field('Name').fill('Expenses');
  await admin.press('Save');
  // Users read this name on their phones.
  assert.match(await admin.approveAction(), /Its name is “Expenses”/);
  await admin.said('Saved.');
  await admin.heading('Expenses');
  assert.equal(await admin.field('Initiate login URI').inputValue(), 'https://expenses.example.org/login');

  await admin.part('Credentials');
  // The list does not offer the present method.
  assert.equal(await admin.field('Method').inputValue(), '');
  assert.equal(await admin.field('Method').locator('option[value="client_secret_basic"]').count(), 0);
  assert.ok(await admin.desk.getByRole('button', { name: 'Change it' }).isDisabled(), 'no method is chosen yet');
  await admin.field('Method').selectOption('private_key_jwt');
  await admin.field('Its key').selectOption('jwks_uri');
  await admin.field('Address of the key set').fill('https://expenses.example.org/jwks');
  await admin.look('credentials');
  await admin.press('Change it');
  assert.match(await admin.approveAction(), /Expenses/);
  await admin.said('The method was changed.');
  await admin.desk.locator('.facts', { hasText: 'private_key_jwt' }).waitFor();

  await admin.part('Claims');
  await admin.choose('Account', LOGIN_NAME, new RegExp(LOGIN_NAME));
  await admin.press('Preview');
  await admin.desk.getByRole('heading', { name: 'ID token' }).waitFor();
  await admin.desk
    .getByRole('row', { name: /account .*approver.* account-roles/ })
    .first()
    .waitFor();
  await admin.desk.getByRole('row', { name: `aud ${id} Assent` }).waitFor();
  // The values of the sign-in are one row.
  await admin.desk.getByRole('row', { name: /auth_time.* set at sign-in Assent/ }).waitFor();
  const idToken = admin.desk.getByRole('table', { name: 'ID token' });
  assert.equal(await idToken.getByText('set at sign-in', { exact: true }).count(), 1);
  // A number of seconds has its time beside it, and a scope is a badge.
  await admin.desk
    .getByRole('row', { name: /^updated_at \d+ .*\d{4}.* Assent scope profile$/ })
    .first()
    .waitFor();
  assert.equal(await admin.desk.getByText('slim_id_token').count(), 0);
  await admin.look('claims');
  await activeScopes(admin);
  await slimAndSuspended(admin);

  await testSignIn(admin, /"amr"/);
  const hidden = await admin.desk
    .locator('.tokens pre')
    .first()
    .evaluate((pre) => [pre.scrollHeight - pre.clientHeight, pre.scrollWidth - pre.clientWidth]);
  assert.ok(Math.max(...hidden) <= 1, `${hidden} pixels of the token are not on the screen`);
  await admin.look('test-sign-in-web');
  await pausedTestSignIn(admin);

  await disabled(admin);

  await admin.part('Delete');
  await admin.look('delete');
  await admin.press('Delete this application');
  await admin.desk.getByRole('textbox', { name: /type Expenses/ }).fill('expenses?');
  await admin.press('Delete it');
  await admin.desk.getByText('The name is different.').waitFor();
  await admin.look('delete-another-name');
  await admin.desk.getByRole('textbox', { name: /type Expenses/ }).fill('Expenses');
  await admin.press('Delete it');
  await admin.desk.locator('#approval-number').waitFor();
  await admin.look('delete-approval');
  assert.match(await admin.approveAction(), /Delete the application “Expenses”/);
  await admin.heading('Applications');
  await admin.said('The application was deleted.');
  assert.equal(await admin.desk.getByRole('link', { name: 'Expenses' }).count(), 0);
}

/** The list of first steps shows the completed ones, and disappears after it is dismissed. */
async function firstSteps(admin) {
  await admin.open('/admin', 'Overview');
  await admin.desk.getByText('2 of 6 done').waitFor();
  const done = admin.desk.locator('.started [data-done="true"] strong');
  assert.deepEqual(await done.allTextContents(), ['Connect an application', 'Sign in to an application']);
  await admin.desk.getByRole('checkbox', { name: /^The database is backed up/ }).check();
  await admin.desk.getByText('3 of 6 done').waitFor();
  await admin.look('getting-started');
  await admin.desk.reload();
  await admin.desk.getByText('3 of 6 done').waitFor();
  await admin.press('Do not show this list again');
  await admin.desk.reload();
  await admin.desk.getByRole('heading', { name: 'Sign-ins' }).or(admin.desk.getByText('Sign-ins')).first().waitFor();
  assert.equal(await admin.desk.getByText('of 6 done').count(), 0);
}

/** Checks the list: the number of rows, the state and the ID of each, and the sorting by the table heads. */
async function list(admin) {
  await admin.open('/admin/applications', 'Applications');
  await admin.look('applications');
  const names = () => admin.desk.locator('#console tbody th a').allTextContents();
  const sorted = await names();
  assert.ok(sorted.length > 2, sorted.join());
  await admin.desk.getByText(`${sorted.length} applications`, { exact: true }).waitFor();
  await admin.desk.getByRole('row', { name: /Wiki SAML Enabled/ }).waitFor();
  await admin.desk.getByRole('button', { name: 'Copy the ID of Wiki', exact: true }).click();
  await admin.said('The ID of Wiki was copied.');
  assert.match(await admin.desk.evaluate(() => navigator.clipboard.readText()), /^did:key:/);
  await admin.desk.getByRole('button', { name: /^Name/ }).click();
  await admin.desk.waitForURL(/order=-name/);
  await admin.desk.waitForFunction(
    (last) => document.querySelector('#console tbody th a').textContent === last,
    sorted.at(-1),
  );
  assert.deepEqual(await names(), sorted.toReversed());
  assert.equal(await admin.field('Sort by').inputValue(), '-name');
  await admin.desk.getByRole('columnheader', { name: /Name/ }).and(admin.desk.locator('[aria-sort]')).waitFor();
  await admin.field('Name or ID').fill('pho');
  await admin.desk.getByRole('link', { name: 'Wiki' }).waitFor({ state: 'detached' });
  assert.equal(await admin.desk.locator('#console tbody tr').count(), 1);
  await admin.desk.getByText('1 application', { exact: true }).waitFor();
}

const connections = {
  web: async (admin) => {
    const id = await webApplication(admin);
    await firstSteps(admin);
    await settings(admin, id);
  },
  others: async (admin) => {
    await singlePageApp(admin);
    await nativeApp(admin);
    await serviceProvider(admin);
    await list(admin);
  },
};

await run(
  async (admin) => {
    await connections[CONNECTS](admin);
    assert.equal(await admin.desk.evaluate(() => window.hacked), undefined, 'no value is interpreted as markup');
  },
  { expected: [ASKED, /status of 422/, /status of 400/] },
);
