// The recipes of known programs. They have known settings only, each placeholder has a value, and both languages are
// there.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { filled, membersOf, typedAddress } = await consoleModule('recipes.js');

const root = new URL('../../', import.meta.url);
const folder = new URL('host/server/assets/console/recipes/', root);
const read = async (path) => JSON.parse(await readFile(new URL(path, root), 'utf8'));
const { schemas } = (await read('config/admin-api.openapi.json')).components;
const files = (await readdir(folder)).toSorted();
const recipes = await Promise.all(
  files.map(async (file) => [file, await read(`host/server/assets/console/recipes/${file}`)]),
);

/** The values that this server has for an application of each protocol. */
const VALUES = {
  oidc: [
    ...['issuer', 'discovery', 'authorization', 'token', 'userinfo', 'end_session'],
    ...['client_id', 'client_secret', 'redirect_uri'],
  ],
  saml: ['metadata', 'sso', 'slo', 'idp_entity_id', 'sp_entity_id', 'certificate'],
};
/** The placeholders of custom attributes in the recipes: attributes of a user on this server. */
const CLAIMS = ['email', 'name', 'preferred_username', 'upn'];
const MEMBERS = { oidc: schemas.ClientChange.properties, saml: schemas.ServiceProviderChange.properties };

/** Returns the placeholders of a value. */
const placeholders = (value) => [...JSON.stringify(value).matchAll(/(?<!\$)\{([a-z_]+)\}/g)].map(([, name]) => name);

test('there are twenty recipes, and the console lists each with its name', async () => {
  const script = await readFile(new URL('host/server/assets/console/recipes.js', root), 'utf8');
  const listed = [...script.matchAll(/^ {2}\['([a-z-]+)', '([^']+)'\],$/gm)].map(([, id, name]) => [id, name]);
  const known = recipes.map(([file, { name }]) => [file.replace('.json', ''), name]);
  assert.deepEqual(listed.toSorted(), known.toSorted());
  assert.ok(known.length >= 20, `${known.length}`);
});

for (const [file, recipe] of recipes) {
  test(`${file} has known settings, and a value for each placeholder`, () => {
    const { name, kind, ask, application, settings, file: program, notes, ...others } = recipe;
    assert.deepEqual(others, {});
    assert.ok(name.length > 0);
    assert.ok(['web', 'spa', 'native', 'saml'].includes(kind));
    const protocol = kind === 'saml' ? 'saml' : 'oidc';
    for (const texts of [notes, ...ask.map(({ label }) => label)]) {
      assert.deepEqual(Object.keys(texts).toSorted(), ['de', 'en']);
      assert.ok(Object.values(texts).every((text) => text.trim().length > 3));
    }
    const unknown = Object.keys(application).filter((member) => !(member in MEMBERS[protocol]));
    assert.deepEqual(unknown, [], 'members of the application');
    const asked = ask.map((question) => question.name);
    // The console does not replace names without a question, so a placeholder of an attribute must not be a question.
    const { custom_attributes: attributes = [], ...members } = application;
    assert.deepEqual(new Set(placeholders(members)), new Set(asked), 'each question has a placeholder');
    const claims = placeholders(attributes);
    assert.deepEqual(
      claims.filter((claim) => !CLAIMS.includes(claim) || asked.includes(claim)),
      [],
    );
    assert.ok(ask.every(({ example }) => example.length > 3));
    assert.ok(settings.length > 1 && settings.every(({ label, value }) => label && value));
    const used = placeholders([settings, program?.lines ?? []]);
    assert.deepEqual(
      used.filter((one) => !VALUES[protocol].includes(one)),
      [],
    );
    assert.ok(used.length > 1);
  });
}

test('an address without a scheme gets one, and a text that is no address is rejected', () => {
  const address = (typed) => typedAddress(typed, 'https://grafana.example.org');
  for (const [typed, expected] of [
    ['https://grafana.example.org', 'https://grafana.example.org'],
    ['grafana.example.org', 'https://grafana.example.org'],
    ['grafana.example.org/sub//', 'https://grafana.example.org/sub'],
    ['grafana.example.org:3000', 'https://grafana.example.org:3000'],
    ['HTTP://grafana.example.org/', 'HTTP://grafana.example.org'],
    ['localhost:3000', 'http://localhost:3000'],
    ['127.0.0.1/', 'http://127.0.0.1'],
    ['localhost.example.org', 'https://localhost.example.org'],
    ['bücher.example.org', 'https://bücher.example.org'],
    ['grafana', 'https://grafana'],
  ])
    assert.equal(address(typed), expected, typed);
  for (const typed of ['', 'https://', 'a b', "x'y.example.org", 'x"y', 'x`y`', '{client_secret}', 'a<b', 'https:// x'])
    assert.equal(address(typed), undefined, typed);
});

/** Programs in which the administrator of the program assigns the roles, because it cannot take them from Assent. */
const OWN_ROLES = [
  'aws',
  'github-enterprise',
  'google-workspace',
  'mattermost',
  'salesforce',
  'slack',
  'wordpress',
  'zabbix',
];
/** Programs without a page that begins a sign-in. */
const WITHOUT_START = ['kubernetes'];

for (const [file, recipe] of recipes) {
  const id = file.replace('.json', '');
  test(`${file} ends in a working configuration: start address, roles, and the secret in its file`, () => {
    const { kind, ask, application, settings, file: program, notes } = recipe;
    const answers = Object.fromEntries(ask.map(({ name, example }) => [name, example]));
    const members = membersOf(recipe, answers);
    if (kind !== 'saml' && !WITHOUT_START.includes(id))
      assert.match(members.initiate_login_uri, /^https:\/\/[a-z]+\.example\.org/, 'start address');
    const text = JSON.stringify(filled([settings, program?.lines ?? []], {}));
    if (OWN_ROLES.includes(id)) {
      assert.doesNotMatch(text, /groups/);
      assert.ok(/role|set|appointed|Roles|administrators/.test(notes.en), notes.en);
    } else {
      assert.ok(application.scopes.includes('groups'), 'the application may receive the claim groups');
      assert.match(text, /groups/, 'the program reads the claim groups');
      assert.match(notes.en, /group/);
      assert.match(notes.de, /Gruppe/);
      const asks = /scope/i.test(text) ? /scope[^\n]*groups|groups[^\n]*scope/i.test(text) : true;
      assert.ok(asks, 'the program requests the scope groups');
    }
    if (kind === 'web' && program && id !== 'argo-cd')
      assert.ok(
        program.lines.some((line) => line.includes('{client_secret}')),
        'the file has the secret',
      );
  });
}

test('an application without TLS has no start address', () => {
  const [, grafana] = recipes.find(([file]) => file === 'grafana.json');
  for (const [url, start] of [
    ['http://grafana.lan', undefined],
    ['http://localhost.evil.example', undefined],
    ['http://localhost:3000', 'http://localhost:3000/login/generic_oauth'],
    ['https://grafana.lan', 'https://grafana.lan/login/generic_oauth'],
  ])
    assert.equal(membersOf(grafana, { url }).initiate_login_uri, start);
});
