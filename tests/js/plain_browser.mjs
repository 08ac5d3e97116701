// A browser without JavaScript: it keeps cookies, follows redirects, and fills in forms.

import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text as wholeText } from 'node:stream/consumers';

import { parse } from 'parse5';

const MOST_REDIRECTS = 10;

/** Yields the elements below a node, in document order. */
export function* elements(node) {
  for (const child of node.childNodes ?? []) {
    if (child.tagName) yield child;
    yield* elements(child);
  }
}

/** Returns an element's attribute, or undefined. */
export function attribute(element, name) {
  return element.attrs.find((attr) => attr.name === name)?.value;
}

/** Returns a node's text, with each run of white space as one space. */
export function text(node) {
  const raw = (at) => (at.nodeName === '#text' ? at.value : (at.childNodes ?? []).map(raw).join(' '));
  return raw(node).replace(/\s+/g, ' ').trim();
}

/** A loaded page: its address, status and elements. */
export class Page {
  constructor(url, status, html) {
    this.url = url;
    this.status = status;
    // A browser without JavaScript also shows the content of `noscript`.
    this.document = parse(html, { scriptingEnabled: false });
  }

  /** Returns the elements for which `fits` returns true. */
  all(fits) {
    return [...elements(this.document)].filter(fits);
  }

  /** Returns the first element for which `fits` returns true, or undefined. */
  find(fits) {
    return this.all(fits)[0];
  }

  /** Returns the first form with an address that matches the pattern, or undefined. */
  form(pattern) {
    return this.find((element) => element.tagName === 'form' && pattern.test(attribute(element, 'action') ?? ''));
  }

  /** Returns whether the page reloads itself without JavaScript. */
  get refreshesItself() {
    const refresh = (value) => value?.toLowerCase() === 'refresh';
    return (
      this.find((element) => element.tagName === 'meta' && refresh(attribute(element, 'http-equiv'))) !== undefined
    );
  }

  toString() {
    return `${this.status} ${this.url.href}: ${text(this.document)}`;
  }
}

/** The cookie storage of RFC 6265, limited to hosts, paths and removal. */
export class CookieJar {
  #cookies = new Map();

  /** Stores the cookies of a response from this address. */
  keep(url, headers) {
    for (const line of headers) {
      const [pair, ...rest] = line.split(';').map((part) => part.trim());
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      const attributes = new Map(
        rest.map((part) => {
          const [key, content = ''] = part.split('=');
          return [key.toLowerCase(), content];
        }),
      );
      const path = attributes.get('path')?.startsWith('/') ? attributes.get('path') : defaultPath(url.pathname);
      // Ports do not separate cookies.
      const key = JSON.stringify([url.hostname, path, name]);
      const expired = Number(attributes.get('max-age') ?? 1) <= 0 || Date.parse(attributes.get('expires')) < Date.now();
      if (expired) this.#cookies.delete(key);
      else this.#cookies.set(key, { host: url.hostname, path, name, value, secure: attributes.has('secure') });
    }
  }

  /** Returns the `Cookie` header for this address, which is empty if there are no cookies. */
  header(url) {
    return [...this.#cookies.values()]
      .filter((cookie) => cookie.host === url.hostname && pathMatches(cookie.path, url.pathname))
      .filter((cookie) => !cookie.secure || url.protocol === 'https:')
      .map((cookie) => `${cookie.name}=${cookie.value}`)
      .join('; ');
  }
}

/** Returns the default path of a cookie (RFC 6265 section 5.1.4). */
function defaultPath(path) {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

function pathMatches(cookiePath, path) {
  return path === cookiePath || path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`);
}

/** One browser window with its cookies. */
export class PlainBrowser {
  #jar = new CookieJar();
  #away;

  /** `away(url)` returns whether an address belongs to the application. Such a redirect is returned, not followed. */
  constructor(away) {
    this.#away = away;
  }

  /** Loads an address. Returns `{ page }`, or `{ left }` with the application's address from a redirect. */
  async open(url, { method = 'GET', body } = {}) {
    let [at, how, form] = [new URL(url), method, body];
    for (let hops = 0; hops <= MOST_REDIRECTS; hops += 1) {
      const { status, location, html } = await this.#request(at, how, form);
      if (status < 300 || status > 399 || location === undefined) return { page: new Page(at, status, html) };
      at = new URL(location, at);
      if (this.#away(at)) return { left: at };
      if (status !== 307 && status !== 308) [how, form] = ['GET', undefined];
    }
    throw new Error(`more than ${MOST_REDIRECTS} redirects, the last one to ${at.href}`);
  }

  /** Submits a page's form with its present values and these fields. */
  async submit(page, form, fields = {}) {
    const values = new URLSearchParams();
    for (const input of elements(form)) {
      const [name, value] = [attribute(input, 'name'), attribute(input, 'value')];
      if (input.tagName === 'input' && name !== undefined) values.append(name, value ?? '');
    }
    const buttons = [...elements(form)]
      .filter((element) => element.tagName === 'button')
      .map((button) => attribute(button, 'name'));
    for (const [name, value] of Object.entries(fields)) {
      if (!values.has(name) && !buttons.includes(name)) throw new Error(`the form has no field "${name}": ${page}`);
      values.set(name, value);
    }
    const method = (attribute(form, 'method') ?? 'get').toUpperCase();
    if (method !== 'POST') throw new Error(`a form that changes something must use POST: ${page}`);
    return this.open(new URL(attribute(form, 'action') || page.url, page.url), { method, body: values });
  }

  async #request(url, method, body) {
    const headers = { accept: 'text/html', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) plain-browser/1.0' };
    const cookies = this.#jar.header(url);
    if (cookies !== '') headers.cookie = cookies;
    if (method === 'POST') {
      // Browsers send `Origin` with every POST, and a server may check it.
      headers.origin = url.origin;
      headers['content-type'] = 'application/x-www-form-urlencoded';
    }
    // Not `fetch`: in Debian's Node.js 18, it joins several `Set-Cookie` headers into one text.
    const response = await new Promise((resolve, reject) => {
      const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
      request(url, { method, headers, signal: AbortSignal.timeout(180_000) }, resolve)
        .on('error', reject)
        .end(body?.toString());
    });
    this.#jar.keep(url, response.headers['set-cookie'] ?? []);
    return { status: response.statusCode, location: response.headers.location, html: await wholeText(response) };
  }
}
