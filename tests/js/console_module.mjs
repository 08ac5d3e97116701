// Loads a module of the console in Node.js. A browser recognises a module by its type, but Node.js uses the name. So
// this loads the module from its text, and also the modules that it imports.

import { readFile } from 'node:fs/promises';

const root = new URL('../../host/server/assets/console/', import.meta.url);

/** Returns the address of a module: its text, in which each import also has such an address. */
async function addressOf(module) {
  const source = await readFile(module, 'utf8');
  const parts = source.split(/(?<= from ')(\.[^']+)(?=';)/);
  const texts = await Promise.all(parts.map((part, index) => (index % 2 ? addressOf(new URL(part, module)) : part)));
  return `data:text/javascript;base64,${Buffer.from(texts.join('')).toString('base64')}`;
}

/** Returns a module of the console. Several modules that import the same one share it. */
export const consoleModule = async (path) => import(await addressOf(new URL(path, root)));
