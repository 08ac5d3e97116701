// No line of JavaScript exceeds 120 characters. The formatter does not wrap strings and comments.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

const LONGEST = 120;
const root = new URL('../../', import.meta.url);

/** Returns the scripts below a folder, without third-party files. */
async function scripts(folder) {
  const found = [];
  for (const entry of await readdir(new URL(folder, root), { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name !== 'vendor' && entry.name !== 'node_modules') {
      found.push(...(await scripts(`${folder}${entry.name}/`)));
    } else if (entry.isFile() && /\.(js|mjs|ts)$/.test(entry.name)) {
      found.push(folder + entry.name);
    }
  }
  return found;
}

test(`no line exceeds ${LONGEST} characters`, async () => {
  const folders = await Promise.all(['host/server/assets/', 'lan/src/', 'tests/js/'].map(scripts));
  const files = folders.flat();
  assert.ok(files.length > 50, `only ${files.length} scripts were found`);
  const long = [];
  for (const file of files) {
    const lines = (await readFile(new URL(file, root), 'utf8')).split('\n');
    for (const [index, line] of lines.entries()) {
      if (Array.from(line).length > LONGEST) long.push(`${file}:${index + 1}`);
    }
  }
  assert.deepEqual(long, []);
});
