// A proxy in front of the server. It can drop connections, like a missing network, or never answer, like a hanging one,
// and can serve a newer version of the app.

import http from 'node:http';

/**
 * Starts a proxy to the server at `base`. `proxy.offline` drops connections; `proxy.hangs` leaves requests without an
 * answer; `proxy.newer` changes the app's files;
 * `proxy.loses(request)` chooses responses that are lost after the server has executed the request.
 */
export async function startProxy(base) {
  const proxy = { offline: false, hangs: false, newer: false, loses: () => false };
  const target = new URL(base);
  const server = http.createServer((request, response) => {
    if (proxy.offline) return request.socket.destroy();
    if (proxy.hangs) return undefined;
    const options = {
      host: target.hostname,
      port: target.port,
      path: request.url,
      method: request.method,
      headers: request.headers,
    };
    const onward = http.request(options, (answer) => {
      if (proxy.loses(request)) return request.socket.destroy();
      answer.on('error', () => request.socket.destroy());
      const changes = proxy.newer && change(request.url);
      const headers = { ...answer.headers };
      if (!changes || answer.statusCode !== 200) {
        response.writeHead(answer.statusCode, headers);
        return answer.pipe(response);
      }
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      return answer.on('end', () => {
        const body = Buffer.from(changes(Buffer.concat(parts).toString()));
        response.writeHead(200, { ...headers, 'content-length': body.length, etag: '"newer"' });
        response.end(body);
      });
    });
    if (proxy.newer) {
      // The browser's cached files are from the version before, and the proxy changes texts that are not compressed.
      onward.removeHeader('if-none-match');
      onward.setHeader('accept-encoding', 'identity');
    }
    onward.on('error', () => request.socket.destroy());
    request.on('close', () => request.aborted && onward.destroy());
    return request.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  proxy.address = `http://localhost:${server.address().port}`;
  proxy.drop = () => server.closeAllConnections();
  proxy.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return proxy;
}

function change(path) {
  if (path === '/authenticator/sw.js')
    return (text) => text.replace(/const VERSION = '[^']+'/, "const VERSION = 'newer'");
  if (path === '/assets/authenticator/view.js')
    return (text) => `${text}\ndocument.documentElement.dataset.version = 'newer';\n`;
  return null;
}
