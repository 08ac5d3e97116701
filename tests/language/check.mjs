// Checks the English of comments, pages and messages against terms.yml, with textlint.
// Run: node tests/language/check.mjs [FILE...]; without a file all files of the repository that git knows.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { codeComments, fluentTexts, hashComments, proseOfMarkdown } from './texts.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '../..');
const require = createRequire(path.join(root, 'tests/js/package.json'));
const { TextlintKernel } = require('@textlint/kernel');
const plugin = (name) => ({ pluginId: name, plugin: require(`@textlint/textlint-plugin-${name}`).default });
const prh = require('textlint-rule-prh');

/** Files of others, and generated files. */
const IGNORED = [
  /(^|\/)(vendor|snapshots)\//,
  /^docs\/reference\/(?!endpoints|plugins|authentication)/,
  /^docs\/development\/style\.md$/,
];

/** How the checked text is found in each kind of file. */
const KINDS = [
  [/\.(rs|m?js|ts|java|wit)$/, codeComments],
  [/\.md$/, proseOfMarkdown],
  [/\.ftl$/, (text, file) => (file.endsWith('en.ftl') ? fluentTexts(text) : '')],
  [/\.(toml|ya?ml|sh|service)$|^scripts\/|^\.ci\/|^Makefile$/, hashComments],
];

const named = process.argv.slice(2);
const files = named.length > 0 ? named : execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');

const kernel = new TextlintKernel();
const options = {
  ext: '.txt',
  plugins: [plugin('text')],
  rules: [{ ruleId: 'terms', rule: prh.default ?? prh, options: { rulePaths: [path.join(here, 'terms.yml')] } }],
};

let errors = 0;
for (const file of files) {
  const kind = KINDS.find(([pattern]) => pattern.test(file));
  if (!kind || IGNORED.some((pattern) => pattern.test(file))) continue;
  const text = kind[1](readFileSync(path.join(root, file), 'utf8'), file);
  if (!text.trim()) continue;
  const { messages } = await kernel.lintText(text, { ...options, filePath: path.join(root, file) });
  for (const { line, column, message } of messages) {
    console.log(`${file}:${line}:${column}: ${message}`);
    errors += 1;
  }
}
if (errors > 0) {
  console.error(`\n${errors} places with words that docs/development/style.md excludes.`);
  process.exit(1);
}
