// Each text of the console has a German one, and the catalogue has no other text.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import ts from 'typescript';

import { consoleModule } from './console_module.mjs';
import { rustMatches } from './rust_texts.mjs';

const { labelOf } = await consoleModule('pages/audit_entry.js');

const root = new URL('../../host/server/assets/console/', import.meta.url);
const catalogue = JSON.parse(await readFile(new URL('german.json', root), 'utf8'));

/** Attributes and options with values that no user reads. */
const SILENT = ['class', 'type', 'role', 'id', 'href', 'for', 'autocomplete', 'accept', 'pattern', 'rel', 'target'];
/** Functions with arguments for the browser. */
const TO_BROWSER = ['querySelector', 'querySelectorAll', 'closest', 'matches', 'createElementNS', 'addEventListener'];
/** Files without texts: paths of icons, and names of languages and of programs. One has its texts in both languages. */
const WITHOUT_TEXTS = ['icons.js', 'language.js', 'language_switch.js', 'loading.js', 'recipes.js'];
/** Strings that look like texts, but are for programs or are the same in each language. */
const NO_TEXT = new Set([
  'Accept-Language',
  'ArrowDown',
  'ArrowUp',
  'Authorization',
  'Backspace',
  'CLIENT_SECRET',
  'Content-Type',
  'DELETE',
  'Enter',
  'Escape',
  'GET',
  'Idempotency-Key',
  'If-Match',
  'PATCH',
  'POST',
  'PUT',
  'TimeoutError',
  'X-Assent-Action-Approval',
  'X-Assent-CSRF',
  'assent audit verify',
  'not all',
  'quiet danger',
  'dot tone-{}',
  'button {}',
  '{}-hint ',
  '{}-hint {}-error',
  'button small {}',
  'notice {}',
]);
/** Texts that the console builds from names of the API, and texts in the API's responses. */
const BUILT = [
  ...kinds(),
  ...(await auditDetails()),
  ...['claim mapper', 'approval channel', 'delegated approval channel'],
  ...['server', 'admin token', 'user', 'device', 'application', 'channel'],
  'single-page app',
  'native app',
  'second',
  'minute',
  'hour',
  'day',
  'millisecond',
  ...['seconds', 'minutes', 'hours', 'days', 'milliseconds', 'skipped', 'denied', 'changed', 'failed'],
  ...['active', 'invited', 'suspended', 'terminated', 'default', 'file', 'environment'],
];

/** Returns the kinds of protected actions, in words. */
function kinds() {
  const source = new URL('../../config/authenticator-api.openapi.json', import.meta.url);
  const { schemas } = JSON.parse(ts.sys.readFile(source.pathname) ?? '{}').components;
  return schemas.ProtectedActionKind.enum.map((kind) => kind.replaceAll('-', ' '));
}

/** Returns the names of the details of an audit entry, as the console writes them. */
async function auditDetails() {
  const folders = ['host/model/src', 'host/server/src', 'host/store/src'];
  const names = await rustMatches(folders, /\.(?:with|personal)\(\s*"([a-z_]+)"/g);
  assert.ok(names.length > 50, `only ${names.length} names were found`);
  return names.filter((name) => name !== 'before' && name !== 'after').map(labelOf);
}

async function scripts(folder = '') {
  const found = [];
  for (const entry of await readdir(new URL(folder, root), { withFileTypes: true })) {
    if (entry.isDirectory()) found.push(...(await scripts(`${folder}${entry.name}/`)));
    else if (entry.name.endsWith('.js') && !WITHOUT_TEXTS.includes(entry.name)) found.push(folder + entry.name);
  }
  return found;
}

/** Returns the string of an expression if it has one: a literal, or a sum of literals. */
function stringOf(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const [left, right] = [stringOf(node.left), stringOf(node.right)];
    return left === undefined || right === undefined ? undefined : left + right;
  }
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `{}${literal.text}`).join('');
  return undefined;
}

/** Returns whether users read a string: words, or a capitalized name. */
function isText(text) {
  const core = text.trim();
  return /^[A-Z][A-Za-z]/.test(core) || /[a-z}],? [a-z{]/.test(core) || (text !== core && /[a-z]/.test(core));
}

/** Returns the texts of a script, each with its place. */
async function textsOf(file) {
  const source = await readFile(new URL(file, root), 'utf8');
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const found = [];
  const visit = (node) => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isPropertyAssignment(node) && SILENT.includes(node.name.text)) return;
    if (ts.isCallExpression(node) && TO_BROWSER.includes(node.expression.name?.text)) {
      node.arguments.slice(1).forEach(visit);
      return;
    }
    const text = stringOf(node);
    if (text !== undefined && isText(text) && !NO_TEXT.has(text) && !isCode(text)) {
      const { line } = parsed.getLineAndCharacterOfPosition(node.getStart());
      found.push({ text, place: `${file}:${line + 1}` });
    }
    if (text === undefined || ts.isTemplateExpression(node)) ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}

/** Returns whether a text is an example of code or of a key. */
const isCode = (text) =>
  /\n/.test(text) || text.startsWith('-----BEGIN') || !/[a-z]{2}/i.test(text.replaceAll('{}', ''));

const has = (text) => Object.hasOwn(catalogue, text) || Object.hasOwn(catalogue, text.trim());

test('each text of the console has a German one', async () => {
  const all = (await Promise.all((await scripts()).map(textsOf))).flat();
  assert.ok(all.length > 600, `only ${all.length} texts were found`);
  const missing = all.filter(({ text }) => !has(text)).map(({ text, place }) => `${place} ${JSON.stringify(text)}`);
  assert.deepEqual(missing, []);
  assert.deepEqual(
    BUILT.filter((text) => !has(text)),
    [],
    'built from names of the API',
  );
});

test('the catalogue has no text that is missing in the console', async () => {
  const sources = await Promise.all((await scripts()).map((file) => readFile(new URL(file, root), 'utf8')));
  const strings = new Set(BUILT);
  for (const source of sources) {
    const parsed = ts.createSourceFile('x.js', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
    const visit = (node) => {
      const text = stringOf(node);
      if (text !== undefined) strings.add(text).add(text.trim());
      ts.forEachChild(node, visit);
    };
    visit(parsed);
  }
  // The frame, which the server sends.
  for (const text of ['Sign out', 'Menu', 'Console']) strings.add(text);
  assert.deepEqual(
    Object.keys(catalogue).filter((text) => !strings.has(text)),
    [],
  );
});

test('a German text has the values of the English one', () => {
  const count = (text) => text.split('{}').length;
  const wrong = Object.entries(catalogue).filter(([english, german]) => count(english) !== count(german));
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    Object.entries(catalogue).filter(([, german]) => typeof german !== 'string' || german.trim() === ''),
    [],
  );
});
