// A service provider with node-saml, configured only by the identity provider's metadata. tests/py/service_provider.py
// does the same with pysaml2, and has the same pages and the same two lines of JSON that configure it.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

import { SAML, ValidateInResponseTo } from '@node-saml/node-saml';
import { DOMParser } from '@xmldom/xmldom';

// The relay state must return unchanged, whatever characters it has. It has no space and no apostrophe, because
// node-saml escapes those differently in the signature and in the sent address.
const RELAY_STATE = 'st&te="<ö>+%20';
const COOKIE = 'node-saml';
const BINDINGS = { redirect: 'HTTP-Redirect', post: 'HTTP-POST' };

/** Returns the settings of node-saml for an identity provider, because node-saml does not read metadata itself. */
function identityProvider(metadata) {
  const document = new DOMParser().parseFromString(metadata, 'text/xml');
  const all = (name) => Array.from(document.getElementsByTagNameNS('urn:oasis:names:tc:SAML:2.0:metadata', name));
  const redirect = (name) => all(name).find((service) => service.getAttribute('Binding').endsWith('HTTP-Redirect'));
  const certificates = (key) =>
    Array.from(key.getElementsByTagNameNS('http://www.w3.org/2000/09/xmldsig#', 'X509Certificate'));
  const keys = all('KeyDescriptor').filter((key) => key.getAttribute('use') !== 'encryption');
  return {
    idpIssuer: document.documentElement.getAttribute('entityID'),
    entryPoint: redirect('SingleSignOnService').getAttribute('Location'),
    logoutUrl: redirect('SingleLogoutService').getAttribute('Location'),
    idpCert: keys.flatMap(certificates).map((certificate) => certificate.textContent),
  };
}

class ServiceProvider {
  #base;
  #folder;
  #signed;
  #idp = { idpCert: 'not known yet' };
  #sessions = new Map();
  #requests = new Map();

  constructor(base, { folder, signed }) {
    [this.#base, this.#folder, this.#signed] = [base, folder, signed];
  }

  get entityId() {
    return `${this.#base}/metadata`;
  }

  trust({ metadata }) {
    this.#idp = identityProvider(metadata);
  }

  /** Returns node-saml with these options. All instances share the pending requests. */
  #saml(options = {}) {
    const file = (name) => readFileSync(`${this.#folder}/${name}`, 'utf8');
    const requests = this.#requests;
    return new SAML({
      ...this.#idp,
      issuer: this.entityId,
      audience: this.entityId,
      callbackUrl: `${this.#base}/acs`,
      logoutCallbackUrl: `${this.#base}/slo`,
      identifierFormat: null,
      ...(this.#signed && { privateKey: file('key.pem'), publicCert: file('certificate.pem') }),
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      wantAuthnResponseSigned: true,
      wantAssertionsSigned: true,
      validateInResponseTo: ValidateInResponseTo.always,
      cacheProvider: {
        saveAsync: async (key, value) => {
          requests.set(key, value);
          return { value, createdAt: Date.now() };
        },
        getAsync: async (key) => requests.get(key) ?? null,
        removeAsync: async (key) => (requests.delete(key) ? key : null),
      },
      ...options,
    });
  }

  /** Returns the metadata, without a key if the service provider does not sign. */
  metadata() {
    const certificate = this.#signed ? readFileSync(`${this.#folder}/certificate.pem`, 'utf8') : null;
    return this.#saml().generateServiceProviderMetadata(null, certificate);
  }

  // The pages. Each gets the parameters, the form and the cookie's value, and returns status, headers and body.

  '/'({ cookie }) {
    const session = this.#sessions.get(cookie);
    if (!session) return [401, {}, {}];
    const { issuer, nameID, nameIDFormat, sessionIndex, attributes } = session;
    return [
      200,
      {},
      { issuer, name_id: nameID, format: nameIDFormat, session_index: sessionIndex, attributes: attributes ?? {} },
    ];
  }

  async '/login'({ parameters }) {
    const saml = this.#saml({
      forceAuthn: parameters.has('force'),
      passive: parameters.has('passive'),
      identifierFormat: parameters.get('format'),
      authnRequestBinding: BINDINGS[parameters.get('binding') ?? 'redirect'],
      // Otherwise node-saml would compress forms like addresses, which SAML does not allow.
      skipRequestCompression: parameters.get('binding') === 'post',
    });
    if (parameters.get('binding') === 'post') {
      return [200, { 'content-type': 'text/html' }, await saml.getAuthorizeFormAsync(RELAY_STATE)];
    }
    return [303, { location: await saml.getAuthorizeUrlAsync(RELAY_STATE, undefined, {}) }];
  }

  async '/acs'({ form }) {
    if (form.RelayState !== RELAY_STATE) throw new Error(`another relay state: ${form.RelayState}`);
    let profile;
    try {
      ({ profile } = await this.#saml().validatePostResponseAsync(form));
    } catch (error) {
      if (!error.xmlStatus) throw error;
      return [403, {}, { refused: error.xmlStatus }];
    }
    // This reports that the passive request signed in no user.
    if (!profile) return [403, {}, { refused: 'NoPassive' }];
    const key = randomUUID();
    this.#sessions.set(key, profile);
    return [303, { location: '/', 'set-cookie': `${COOKIE}=${key}; Path=/; HttpOnly` }];
  }

  async '/logout'({ cookie }) {
    const session = this.#sessions.get(cookie);
    this.#sessions.delete(cookie);
    return [303, { location: await this.#saml().getLogoutUrlAsync(session, RELAY_STATE, {}) }];
  }

  async '/slo'({ cookie, query, parameters, form }) {
    const saml = this.#saml();
    const received = form ?? Object.fromEntries(parameters);
    // node-saml accepts a query without a signature.
    if (!form && !received.Signature) throw new Error('no signature');
    if (received.SAMLResponse) {
      const { loggedOut } = await (form
        ? this.#postedLogoutResponse(form)
        : saml.validateRedirectAsync(received, query));
      if (received.RelayState !== RELAY_STATE) throw new Error(`another relay state: ${received.RelayState}`);
      return loggedOut ? [200, {}, { signed_out: 'urn:oasis:names:tc:SAML:2.0:status:Success' }] : [400, {}, {}];
    }
    const { profile } = await (form
      ? saml.validatePostRequestAsync(form)
      : saml.validateRedirectAsync(received, query));
    const session = this.#sessions.get(cookie);
    const own = session && session.nameID === profile.nameID && session.sessionIndex === profile.sessionIndex;
    if (own) this.#sessions.delete(cookie);
    return [303, { location: await saml.getLogoutResponseUrlAsync(profile, received.RelayState, {}, Boolean(own)) }];
  }

  /** For a posted message, node-saml searches for `InResponseTo` only in sign-on responses. */
  #postedLogoutResponse(form) {
    const { documentElement } = new DOMParser().parseFromString(
      Buffer.from(form.SAMLResponse, 'base64').toString(),
      'text/xml',
    );
    if (!this.#requests.delete(documentElement.getAttribute('InResponseTo')))
      throw new Error('no answer to a request of ours');
    return this.#saml({ validateInResponseTo: ValidateInResponseTo.ifPresent }).validatePostResponseAsync(form);
  }
}

async function serve(provider, request, response) {
  const [path, query = ''] = request.url.split('?');
  const form = request.method === 'POST' ? Object.fromEntries(new URLSearchParams(await text(request))) : undefined;
  const cookie = request.headers.cookie
    ?.split('; ')
    .find((pair) => pair.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
  let answer;
  try {
    answer = await provider[path]({ parameters: new URLSearchParams(query), query, form, cookie });
  } catch (error) {
    console.error(path, error);
    answer = [400, {}, { error: String(error) }];
  }
  const [status, headers, body] = answer;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const nextLine = async () => JSON.parse((await lines.next()).value);
const settings = await nextLine();
let provider;
const server = createServer((request, response) => serve(provider, request, response));
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const base = `http://localhost:${server.address().port}`;
provider = new ServiceProvider(base, settings);
console.log(JSON.stringify({ base, entity_id: provider.entityId, metadata: provider.metadata() }));
provider.trust(await nextLine());
console.log('{}');
