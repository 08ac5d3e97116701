import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';

import { attribute, CookieJar, Page, PlainBrowser, text } from './plain_browser.mjs';

const at = (path, host = 'localhost:1') => new URL(`http://${host}${path}`);

test('cookies are sent to their host and path, on any port, until they are removed', () => {
  const jar = new CookieJar();
  jar.keep(at('/login/1'), ['a=1=2; HttpOnly', 'b=2; Path=/; SameSite=Lax', 'c=3; Path=/oidc', 'd=4; Path=/; Secure']);
  assert.equal(jar.header(at('/login/2', 'localhost:9')), 'a=1=2; b=2');
  assert.equal(jar.header(at('/oidc/me')), 'b=2; c=3');
  assert.equal(jar.header(at('/oidcx')), 'b=2');
  assert.equal(jar.header(at('/', '127.0.0.1:1')), '');
  jar.keep(at('/'), ['b=; Path=/; Max-Age=0', 'c=; Path=/oidc; Expires=Thu, 01 Jan 1970 00:00:00 GMT']);
  assert.equal(jar.header(at('/oidc/me')), '');
});

test('a page is read as a browser with no JavaScript reads it', () => {
  const page = new Page(at('/'), 200, '<noscript><meta http-equiv=refresh content=3></noscript><p id=n> 4\n<b>2</b>');
  assert.ok(page.refreshesItself);
  assert.equal(text(page.find((element) => attribute(element, 'id') === 'n')), '4 2');
  assert.ok(!new Page(at('/'), 200, '<meta charset=utf-8>').refreshesItself);
});

let server;
let origin;

before(async () => {
  server = createServer((request, response) => {
    const answer = (status, headers, body = '') => response.writeHead(status, headers).end(body);
    if (request.url === '/start') return answer(302, { location: '/form', 'set-cookie': 's=1; Path=/' });
    if (request.url === '/form')
      return answer(200, {}, '<form method=post action=send><input name=csrf value=x&amp;y><input name=name></form>');
    if (request.url === '/loop') return answer(302, { location: '/loop' });
    if (request.url === '/send') {
      let body = '';
      request.on('data', (part) => {
        body += part;
      });
      request.on('end', () => {
        const seen = new URLSearchParams({
          body,
          method: request.method,
          cookie: request.headers.cookie ?? '',
          origin: request.headers.origin ?? '',
        });
        answer(303, { location: `http://app.example/callback?${seen}` });
      });
      return undefined;
    }
    return answer(404, {});
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  origin = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.close());

test('a form is sent with its hidden fields, cookies and origin, and the last redirect is not followed', async () => {
  const browser = new PlainBrowser((url) => url.host === 'app.example');
  const { page } = await browser.open(`${origin}/start`);
  assert.equal(page.url.href, `${origin}/form`);
  await assert.rejects(browser.submit(page, page.form(/send$/), { nickname: 'x' }), /no field "nickname"/);
  const { left } = await browser.submit(page, page.form(/send$/), { name: 'ada@example.org' });
  assert.deepEqual(Object.fromEntries(left.searchParams), {
    body: 'csrf=x%26y&name=ada%40example.org',
    method: 'POST',
    cookie: 's=1',
    origin,
  });
});

test('redirects in a circle end', async () => {
  await assert.rejects(new PlainBrowser(() => false).open(`${origin}/loop`), /more than 10 redirects/);
});
