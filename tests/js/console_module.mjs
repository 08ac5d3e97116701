// Loads a module of the console in Node.js. A browser takes it as a module by its type, and Node.js goes by its name,
// so it is loaded from its text, and so are the modules that it imports.

import { readFile } from 'node:fs/promises';

const root = new URL('../../host/server/assets/console/', import.meta.url);

/** The address of a module: its text, in which each import has such an address too. */
async function addressOf(module) {
  const source = await readFile(module, 'utf8');
  const parts = source.split(/(?<= from ')(\.[^']+)(?=';)/);
  const texts = await Promise.all(parts.map((part, index) => (index % 2 ? addressOf(new URL(part, module)) : part)));
  return `data:text/javascript;base64,${Buffer.from(texts.join('')).toString('base64')}`;
}

/** A module of the console. Several that import the same one share it. */
export const consoleModule = async (path) => import(await addressOf(new URL(path, root)));
