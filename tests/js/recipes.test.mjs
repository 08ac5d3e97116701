// The recipes of known programs. They have known settings only, each placeholder has a value, and both languages are
// there.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

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
