// A recipe of the console, filled in by the console's own code. Each line of the input is JSON, and gets an answer:
//   { base, issuer, token, id, answers }  the answer is the application to create
//   { application }                       the answer is the recipe as the console shows it: `settings` and `file`

import { register } from 'node:module';
import { createInterface } from 'node:readline';

// The browser loads the console's scripts as modules by their type, but Node.js would use their names.
const hook = `export const load = (url, context, next) =>
  next(url, url.endsWith('.js') ? { ...context, format: 'module' } : context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const { filled, membersOf, recipeOf, serverValues } = await import('../../host/server/assets/console/recipes.js');

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const nextMessage = async () => JSON.parse((await lines.next()).value);
const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const { base, issuer, token, id, answers } = await nextMessage();

// The console has the session of an administrator. This program has an administrator's token instead.
const send = fetch;
globalThis.fetch = (path, options) =>
  send(new URL(path, base), { ...options, headers: { ...options.headers, Authorization: `Bearer ${token}` } });

const recipe = await recipeOf(id);
answer({ ...membersOf(recipe, answers), name: recipe.name, recipe: id });

const values = await serverValues((await nextMessage()).application, { base, issuer });
answer({
  settings: filled(recipe.settings, values),
  file: recipe.file && { name: recipe.file.name, text: filled(recipe.file.lines, values).join('\n') },
});
