// The clients of docs/developers/clients-without-a-browser.md, which are browserless_client.mjs. They execute calls in
// lines of JSON. tests/java/browserless/BrowserlessCalls.java does the same with the client for Java.
//
// First line: the settings of `connect`. `isHasty`: after the first poll another one follows at once, beside the
// library.
// Then:
//   {"call":"ask","parameters"}   -> {"request"}   asks for a user
//   {"call":"codes","parameters"} -> {"request"}   asks for the codes of a device
// Further lines follow: {"polled"} for each poll of a pending request, and at the end {"tokens","claims"}
// or {"error"}. Any failure ends the program with code 1.

import './webcrypto.mjs';

import { createInterface } from 'node:readline';

import { askUser, connect, signInOnDevice } from './browserless_client.mjs';

const PENDING = ['authorization_pending', 'slow_down'];
const CALLS = { ask: askUser, codes: signInOnDevice };

const write = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const { fetch } = globalThis;
let isHasty = false;
/** Writes the results of polls. */
globalThis.fetch = async (url, options) => {
  const response = await fetch(url, options);
  if (response.status !== 400) return response;
  const { error } = await response.clone().json();
  if (!PENDING.includes(error)) return response;
  write({ polled: error });
  if (isHasty) {
    isHasty = false;
    write({ polled: (await (await fetch(url, options)).json()).error });
  }
  return response;
};

async function main() {
  let config;
  for await (const line of createInterface({ input: process.stdin })) {
    const { call, ...details } = JSON.parse(line);
    if (config) {
      write(await CALLS[call](config, details.parameters, (request) => write({ request })));
    } else {
      isHasty = details.isHasty === true;
      config = await connect(details);
    }
  }
}

main().catch((failure) => {
  const cause = failure.cause ? `because of ${failure.cause} ${JSON.stringify(failure.cause)}\n` : '';
  // The program does not wait for another line, because no caller would read the answer.
  process.stderr.write(`${failure.stack}\n${cause}`, () => process.exit(1));
});
