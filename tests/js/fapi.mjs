// The client of docs/developers/fapi.md, which is fapi_client.mjs. It executes calls in lines of JSON, and answers each
// line with one. tests/java/fapi/Calls.java does the same with the client for Java.
//
// First line: the settings of `FapiClient.connect`, with `certificate` as the names of its files.
// Then:
//   {"call":"authorize","scope"}  -> {"url"}   starts a sign-in
//   {"call":"sign_in","url"}      -> {"claims","userinfo","tokens"}   the browser returned to this URL
//   {"call":"refresh"}            -> {"claims","userinfo","tokens"}
// Any failure ends the program with code 1.

import './webcrypto.mjs';

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { FapiClient } from './fapi_client.mjs';

const { fetch } = globalThis;
/** Opens a connection for each request, so that the load balancer of a test reaches each instance in turn. */
globalThis.fetch = (url, options) => {
  const headers = new Headers(options?.headers);
  headers.set('connection', 'close');
  return fetch(url, { ...options, headers: Object.fromEntries(headers) });
};

class Calls {
  #client;
  #checks;
  #refreshToken;

  static async connect(settings) {
    const calls = new Calls();
    const texts = ({ cert, key, ca }) =>
      Object.fromEntries(Object.entries({ cert, key, ca }).map(([name, file]) => [name, readFileSync(file)]));
    const certificate = settings.certificate && texts(settings.certificate);
    calls.#client = await FapiClient.connect({ ...settings, certificate });
    return calls;
  }

  async authorize({ scope }) {
    const { url, checks } = await this.#client.begin(scope);
    this.#checks = checks;
    return { url };
  }

  async sign_in({ url }) {
    return this.#received(await this.#client.finish(url, this.#checks));
  }

  async refresh() {
    return this.#received(await this.#client.refresh(this.#refreshToken));
  }

  #received(user) {
    this.#refreshToken = user.tokens.refresh_token;
    return user;
  }
}

async function main() {
  let calls;
  for await (const line of createInterface({ input: process.stdin })) {
    const { call, ...details } = JSON.parse(line);
    if (calls) process.stdout.write(`${JSON.stringify(await calls[call](details))}\n`);
    else calls = await Calls.connect(details);
  }
}

main().catch((failure) => {
  const cause = failure.cause ? `because of ${failure.cause} ${JSON.stringify(failure.cause)}\n` : '';
  // The program does not wait for another line, because no caller would read the answer.
  process.stderr.write(`${failure.stack}\n${cause}`, () => process.exit(1));
});
