// The texts in Rust sources: string literals that users read, with the place of each.

import { readdir, readFile } from 'node:fs/promises';

const root = new URL('../../', import.meta.url);

/** A comment, a raw string, a string, a character, a name (a macro with its `!`), or another character. */
const TOKEN = new RegExp(
  [
    /\/\/[^\n]*|\/\*[\s\S]*?\*\//,
    /b?r(#*)"([\s\S]*?)"\1/,
    /b?"((?:[^"\\]|\\[\s\S])*)"/,
    /'(?:[^'\\]|\\.[^']*)'/,
    /[A-Za-z_]\w*!?/,
    /[\s\S]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

/** Macros with texts for the log, for a test or for a document for programs. */
const MACRO = /(^|[^\w])(error|warn|info|debug|trace|panic|unreachable|json|assert|assert_eq)!$/;

/** Functions with texts for the OpenAPI document, for a digest, for a header or for the log. */
const FUNCTION =
  /\b(noun|route|protected|description|title|sha256|authenticate|expect|from_static|from_str|Value|other|Internal)$/;

/** Functions with a noun as argument: a missing or taken object. */
const NOUN = /(NotFound|Taken|Gone|taken|id_of|known)$/;

/** Returns the characters that a string literal represents. */
function unescaped(literal) {
  return literal.replace(/\\(\r?\n\s*|u\{[0-9a-fA-F]+\}|x[0-9a-fA-F]{2}|[\s\S])/g, (_, code) => {
    if (/^\r?\n/.test(code)) return '';
    if (/^[ux]./.test(code)) return String.fromCodePoint(Number.parseInt(code.replace(/[^0-9a-fA-F]/g, ''), 16));
    return { n: '\n', r: '\r', t: '\t', 0: '\0' }[code] ?? code;
  });
}

/** Returns the string literals of a source: the text, the line, and the code before each bracket around it. */
function literals(source) {
  const found = [];
  const around = [];
  let before = '';
  let line = 1;
  for (const [token, , raw, quoted] of source.matchAll(TOKEN)) {
    const text = raw ?? (quoted === undefined ? undefined : unescaped(quoted));
    if (text !== undefined) found.push({ text, line, around: [...around] });
    line += token.split('\n').length - 1;
    if (/^(\s|\/[/*])/.test(token)) continue;
    if (/^[([{]$/.test(token)) around.push(before);
    if (/^[)\]}]$/.test(token)) around.pop();
    before = (before + token).slice(-80);
  }
  return found;
}

/** Returns whether users read a string: words, or a capitalized name. */
function isText({ text, around }) {
  const isAttribute = around.some((one) => /#!?$/.test(one)) && !around.some((one) => /#\[error$/.test(one));
  if (isAttribute || around.some((one) => MACRO.test(one) || FUNCTION.test(one))) return false;
  if (NOUN.test(around.at(-1) ?? '')) return true;
  return /[A-Za-z]{2}.* [^ ]*[a-z]/s.test(text) || /^[A-Z][a-z]+$/.test(text);
}

async function sources(path) {
  if (path.endsWith('.rs')) return [path];
  const entries = await readdir(new URL(`${path}/`, root), { withFileTypes: true });
  const found = entries.map((entry) => {
    const inside = `${path}/${entry.name}`;
    if (/^tests(\.rs)?$|_tests\.rs$/.test(entry.name)) return [];
    return entry.isDirectory() || entry.name.endsWith('.rs') ? sources(inside) : [];
  });
  return (await Promise.all(found)).flat();
}

/** Returns a format string as the catalogue has it: without the formats of its values. */
const key = (text) => text.replace(/(?<!\{)\{(\w*):[^{}]*\}/g, '{$1}').trim();

/** Returns the matches of a pattern in files and folders: its first group, each once. */
export async function rustMatches(paths, pattern) {
  const files = (await Promise.all(paths.map(sources))).flat();
  const all = await Promise.all(files.map((file) => readFile(new URL(file, root), 'utf8')));
  return [...new Set(all.flatMap((source) => Array.from(source.matchAll(pattern), ([, name]) => name)))];
}

/** Returns the strings in files and folders that `isWanted` selects. */
async function wanted(paths, isWanted) {
  const files = (await Promise.all(paths.map(sources))).flat();
  const found = await Promise.all(
    files.map(async (file) => {
      const whole = await readFile(new URL(file, root), 'utf8');
      const [code] = whole.split(/#\[cfg\(test\)\]\s*mod \w+ \{/);
      return literals(code)
        .filter(isWanted)
        .map(({ text, line }) => ({ text: key(text), place: `${file}:${line}` }));
    }),
  );
  return found.flat();
}

/** Returns the texts of files and folders. */
export const rustTexts = (paths) => wanted(paths, isText);

const STORE_ERRORS = /(Missing|must_be_found|Overtaken|Taken|taken|ensure_all_written)$/;

/** Returns the store's texts about missing, taken or changed objects: arguments of these functions, and constants. */
export const storeTexts = () =>
  wanted(['host/store/src'], ({ text, around }) =>
    around.length === 0 ? text.startsWith('the ') : STORE_ERRORS.test(around.at(-1)),
  );
