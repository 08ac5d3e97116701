// The authenticator's service worker: it shows notifications, and caches the app's files for use without a network. The
// server fills in the version, the list of files, and the texts of notifications.

const VERSION = '{version}';
const SHELL = '{shell}'.split(' ');
const CACHE = `assent-authenticator-${VERSION}`;
const APP = '/authenticator';
const TITLE = '{title}';
const BODY = '{body}';
const NOTIFICATION = '{notification}';

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(SHELL.map((path) => new Request(path, { cache: 'reload' }))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  const forgetOthers = async () => {
    const names = await caches.keys();
    await Promise.all(
      names
        .filter((name) => name.startsWith('assent-authenticator-') && name !== CACHE)
        .map((name) => caches.delete(name)),
    );
    await self.clients.claim();
  };
  event.waitUntil(forgetOthers());
});

// The network comes first, so that a new version is available at once; API responses are never cached.
self.addEventListener('fetch', (event) => {
  const url = new URL(event.request.url);
  const key = url.pathname === `${APP}/` ? APP : url.pathname;
  if (event.request.method !== 'GET' || url.origin !== self.location.origin || !SHELL.includes(key)) return;
  const answer = async () => {
    const cache = await caches.open(CACHE);
    try {
      const response = await fetch(event.request);
      if (response.ok && !response.redirected) await cache.put(key, response.clone());
      return response;
    } catch (failure) {
      // The cached files are in one language, independent of the language that the request prefers.
      const copy = await cache.match(key, { ignoreVary: true });
      if (copy) return copy;
      throw failure;
    }
  };
  event.respondWith(answer());
});

function windows() {
  return self.clients.matchAll({ type: 'window', includeUncontrolled: true });
}

function isApp(client) {
  const path = new URL(client.url).pathname;
  return path === APP || path === `${APP}/`;
}

/** The kind of a push message. A message that cannot be read is handled like that of a request. */
function kindOf(message) {
  try {
    return message.json().kind;
  } catch {
    return 'approval';
  }
}

// The message contains no details, because a locked screen may show it: it is only a reason to open the app.
self.addEventListener('push', (event) => {
  const wake = async () => {
    const isNotification = kindOf(event.data) === 'account-notification';
    await self.registration.showNotification(TITLE, {
      body: isNotification ? NOTIFICATION : BODY,
      icon: '/assets/icons/icon-192.png',
      badge: '/assets/icons/badge-96.png',
      tag: isNotification ? 'assent-notification' : 'assent-request',
      renotify: true,
      timestamp: Date.now(),
    });
    // Only the app can query the number of pending requests; here it is only known that there is one.
    if (!isNotification) await self.navigator.setAppBadge?.().catch(() => {});
    // This comes after the notification, because a visible app removes it.
    for (const client of (await windows()).filter(isApp)) client.postMessage({ type: 'look' });
  };
  event.waitUntil(wake());
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const show = async () => {
    const open = (await windows()).find(isApp);
    if (!open) return self.clients.openWindow(APP);
    open.postMessage({ type: 'look' });
    return open.focus();
  };
  event.waitUntil(show());
});
