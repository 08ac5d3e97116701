// The sign-in page, the console and the authenticator show a remaining time in the same words.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { messages } from './catalogue.mjs';
import { consoleModule } from './console_module.mjs';

const assets = new URL('../../host/server/assets/', import.meta.url);
const read = (path) => readFile(new URL(path, assets), 'utf8');

/** Defines what the scripts read of a page in a language. */
function page(t, language) {
  const values = { document: { documentElement: { lang: language } }, navigator: { language, languages: [language] } };
  for (const [name, value] of Object.entries(values)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true });
    t.after(() => (before ? Object.defineProperty(globalThis, name, before) : delete globalThis[name]));
  }
  t.mock.method(globalThis, 'fetch', async (path) => new Response(await read(path.replace('/assets/', ''))));
}

/** Returns the function of the sign-in page and of the portal. */
async function ofPages(language) {
  const texts = await messages(language, 'waiting-left');
  const remainingTime = new Function(`${await read('countdown.js')}; return remainingTime;`)();
  return (seconds) => remainingTime(texts, seconds);
}

async function ofConsole() {
  await (await consoleModule('language.js')).loadLanguage();
  return (await consoleModule('durations.js')).timeLeft;
}

async function ofAuthenticator(language) {
  const source = await read('authenticator/texts.js');
  const texts = JSON.stringify(await messages(language, 'app-'));
  const whole = source
    .replace("import messages from './messages.js';", `const messages = ${texts};`)
    .replace("import { el } from './view.js';", 'const el = () => null;');
  return (await import(`data:text/javascript;base64,${Buffer.from(whole).toString('base64')}`)).timeLeft;
}

for (const [language, expected] of [
  ['en', ['0 seconds left', '1 second left', '1 minute 1 second left', '1 minute 59 seconds left', '2 minutes left']],
  [
    'de',
    ['noch 0 Sekunden', 'noch 1 Sekunde', 'noch 1 Minute 1 Sekunde', 'noch 1 Minute 59 Sekunden', 'noch 2 Minuten'],
  ],
])
  test(`a remaining time has the same words in all three places: ${language}`, async (t) => {
    page(t, language);
    const places = [await ofPages(language), await ofConsole(), await ofAuthenticator(language)];
    for (const timeLeft of places) assert.deepEqual([0, 1, 61, 119, 120].map(timeLeft), expected);
    for (let seconds = 0; seconds <= 600; seconds += 1) {
      const words = new Set(places.map((timeLeft) => timeLeft(seconds)));
      assert.equal(words.size, 1, [...words].join(' / '));
    }
  });
