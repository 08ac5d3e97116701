// Each text of the admin API, and each description of a setting, has a German one in the console. The catalogue has no
// German text for a removed one.
//
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';
import { rustTexts, storeTexts } from './rust_texts.mjs';

const { apiSentence, apiText, useApiTexts } = await consoleModule('api_texts.js');
const { settingText, useSettingTexts } = await consoleModule('setting_texts.js');

const read = async (path) => JSON.parse(await readFile(new URL(`../../${path}`, import.meta.url), 'utf8'));
const messages = await read('host/server/assets/console/german_messages.json');
const settings = await read('host/server/assets/console/german_settings.json');
const schema = await read('config/assent.schema.json');

/** The sources of texts that the admin API may return: errors, notes and the steps of a test sign-in. */
const SOURCES = [
  'host/model/src/application.rs',
  'host/model/src/application/information.rs',
  'host/model/src/application/profile_rules.rs',
  'host/model/src/audit/chain/verification.rs',
  'host/model/src/authorization_details/name.rs',
  'host/model/src/authorization_details/schema.rs',
  'host/model/src/authorization_details/template.rs',
  'host/model/src/authorization_details/type_definition.rs',
  'host/model/src/caller.rs',
  'host/model/src/certificate_name.rs',
  'host/model/src/client_secret.rs',
  'host/model/src/colour.rs',
  'host/model/src/distinguished_name.rs',
  'host/model/src/group.rs',
  'host/model/src/key.rs',
  'host/model/src/logo.rs',
  'host/model/src/name.rs',
  'host/model/src/placeholders.rs',
  'host/model/src/redirect.rs',
  'host/model/src/saml/settings.rs',
  'host/model/src/test_sign_in.rs',
  'host/model/src/user.rs',
  'host/model/src/user/profile.rs',
  'host/plugin-host/src/egress/mod.rs',
  'host/saml-core/src/xml/algorithm.rs',
  'host/saml-core/src/xml/error.rs',
  'host/saml-core/src/xml/verify.rs',
  'host/server/src/domain/admin',
  'host/server/src/domain/operations/plugins/reloads.rs',
  'host/server/src/domain/operations/plugins/specs.rs',
  'host/server/src/domain/operations/plugins/exchange.rs',
  'host/server/src/domain/protected_actions/summary.rs',
  'host/server/src/domain/sign_in/access.rs',
  'host/server/src/domain/sign_in/test_sign_in',
  'host/server/src/http/admin_api',
  'host/server/src/http/problem.rs',
  'host/server/src/keys/client.rs',
  'host/server/src/keys/key_set.rs',
  'host/server/src/keys/saml.rs',
  'host/server/src/saml/metadata',
  'host/server/src/smtp',
  'host/server/src/test_sign_in',
];

/** Sources in these folders that describe the API, or write files. */
const OTHERS = /\/(openapi|export|user_devices)(\/|\.rs)/;

/** Texts in these sources that no user reads in the console: names, keys of digests, and texts for the log only. */
const NO_TEXT = new Set([
  'Ada Lovelace',
  'Algorithm',
  'Assertion',
  'Binding',
  'Colour',
  'EHLO {hello}',
  'Extensions',
  'Location',
  'Mailer',
  'Name',
  'Organization',
  'Public',
  'The type of the problem. The names are stable: programs rely on them.',
  'Value',
  'admin-api {session}',
  'at line',
  'an application cannot be compared: {why}',
  'application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1',
  'client_secret {id}',
  'the comparison was aborted: {error}',
  'http: https:',
  'image/png, image/jpeg, image/webp',
  'saml {application} {id}',
  '(kid {kid})',
  '{character} (U+{code})',
  '{text}; {more}',
]);

/** Words that the sources use as names: the steps of an email, and states. */
const NAMES = ['connection', 'authentication', 'message', 'invited', 'active', 'suspended', 'terminated'];

const texts = [...(await rustTexts(SOURCES)).filter(({ place }) => !OTHERS.test(place)), ...(await storeTexts())];

test('each text of the API has a German one', () => {
  assert.ok(texts.length > 400, `only ${texts.length} texts were found`);
  const isMissing = ({ text }) => !NO_TEXT.has(text) && !Object.hasOwn(messages, text);
  assert.deepEqual(
    texts.filter(isMissing).map(({ text, place }) => `${place} ${JSON.stringify(text)}`),
    [],
  );
});

test('the catalogue has no text that is missing in the API', () => {
  const known = new Set([...texts.map(({ text }) => text), ...NAMES]);
  assert.deepEqual(
    [...Object.keys(messages), ...NO_TEXT].filter((text) => !known.has(text)),
    [],
  );
});

test('a German text has the values of the English one', () => {
  const values = (text) => {
    let number = 0;
    const found = text.replaceAll(/\{\{|\}\}/g, '').matchAll(/\{(\w*)!?\}/g);
    return Array.from(found, ([, name]) => name || String(number++)).sort();
  };
  for (const [english, german] of Object.entries(messages)) {
    assert.deepEqual(values(german), values(english), english);
    assert.notEqual(german.trim(), '', english);
  }
});

test('a text of the API is shown in German, with its values', () => {
  useApiTexts(messages);
  for (const [english, german] of [
    ['Invalid value', 'Ungültiger Wert'],
    ['expected a name', 'erwartet: ein Name'],
    ['there is no such group', 'nicht gefunden: Gruppe'],
    // A value is a text only if the catalogue marks it as one.
    ['the user group is terminated', 'der Benutzer group ist stillgelegt'],
    ['redirect_uris: expected 20 at most', 'redirect_uris: erwartet: höchstens 20'],
    ['cannot change from terminated to invited', 'der Wechsel von stillgelegt zu eingeladen ist nicht möglich'],
    [
      'jwks_uri: the scheme `http` is not allowed, only `https`; the URL has no host',
      'jwks_uri: das Schema `http` ist nicht erlaubt, nur `https`; die URL hat keinen Host',
    ],
    [
      'the { at character 3 has no }; write a brace itself twice',
      'die { an Zeichen 3 hat keine }; schreiben Sie eine Klammer selbst doppelt',
    ],
    ['the value 1 of "a": it is taken', 'der Wert 1 von "a": bereits vergeben'],
    [
      'expected one ACS URL at least, such as [{"url": "https://app.example.org/acs"}]',
      'erwartet: mindestens eine ACS-URL, etwa [{"url": "https://app.example.org/acs"}]',
    ],
    [
      'lane 2: the end is truncated: entries 4 to 9 are missing',
      'Spur 2: das Ende ist abgeschnitten, es fehlt: Einträge 4 bis 9',
    ],
    [
      'connection failed at mail.example.org:25: the certificate is not trusted: self-signed',
      'gescheitert an mail.example.org:25 (Verbindung): dem Zertifikat wird nicht vertraut: self-signed',
    ],
    ['said by a plugin', 'said by a plugin'],
    // A second translation changes nothing.
    ['erwartet: höchstens 20', 'erwartet: höchstens 20'],
  ])
    assert.equal(apiText(english), german);
  useApiTexts({});
  assert.equal(apiText('expected a name'), 'expected a name');
});

test('a text of the API is shown as a sentence', () => {
  for (const [text, sentence] of [
    ['expected a name', 'Expected a name.'],
    ['approved, and the proof was verified', 'Approved, and the proof was verified.'],
    ['lane 2: the end is truncated', 'Lane 2: the end is truncated.'],
    // The names of members, settings and addresses stay unchanged.
    ['redirect_uris: expected 20 at most', 'redirect_uris: expected 20 at most.'],
    ['`allow_insecure_redirect_uris` is off', '`allow_insecure_redirect_uris` is off.'],
    ['https://app.example.org is taken', 'https://app.example.org is taken.'],
    ['Nothing was changed.', 'Nothing was changed.'],
    ['', ''],
  ])
    assert.equal(apiSentence(text), sentence);
  useApiTexts(messages);
  assert.equal(apiSentence('there is no such group'), 'Nicht gefunden: Gruppe.');
  useApiTexts({});
});

/** Returns the descriptions of the members in a part of the schema, as `config/descriptions.rs` collects them. */
function descriptions(part) {
  const reference = [part, ...(part.anyOf ?? [])].map(({ $ref }) => $ref).find(Boolean);
  const resolved = reference ? schema.$defs[reference.split('/').pop()] : part;
  return Object.values(resolved.properties ?? {}).flatMap((member) => [
    (member.description ?? '').replaceAll('\n', ' '),
    ...descriptions(member),
  ]);
}

test('each description of a setting has a German one, and no other text has', () => {
  const known = new Set(descriptions(schema));
  assert.ok(known.size > 100, `only ${known.size} descriptions were found`);
  assert.deepEqual([...known].sort(), Object.keys(settings).sort());
  const code = (text) => text.match(/`[^`]*`/g) ?? [];
  for (const [english, german] of Object.entries(settings))
    assert.equal(code(german).length, code(english).length, `the code in ${german}`);
});

test('the description of a table stands before that of its member, in German too', () => {
  useSettingTexts(settings);
  const joined = 'Sign-ins in one browser. The average number per minute. 0 disables the limit.';
  assert.equal(
    settingText(joined),
    'Anmeldungen in einem Browser. Die mittlere Zahl in der Minute. 0 schaltet die Grenze ab.',
  );
  assert.equal(settingText('Of another release.'), 'Of another release.');
});
