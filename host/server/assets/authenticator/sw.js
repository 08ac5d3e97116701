// The authenticator's service worker: shows that a sign-in waits, and keeps the app's files for when there is no
// network. The server fills in the version, the list of files, and what a notification says.

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

// The network first, so that a new version is there at once; the API is never kept.
self.addEventListener('fetch', (event) => {
  const url = new URL(event.request.url);
  const kept = url.pathname === `${APP}/` ? APP : url.pathname;
  if (event.request.method !== 'GET' || url.origin !== self.location.origin || !SHELL.includes(kept)) return;
  const answer = async () => {
    const cache = await caches.open(CACHE);
    try {
      const response = await fetch(event.request);
      if (response.ok && !response.redirected) await cache.put(kept, response.clone());
      return response;
    } catch (failure) {
      // What is kept is in one language, whatever the request would have asked for.
      const copy = await cache.match(kept, { ignoreVary: true });
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

/** What a message is about. One that can't be read is as good a reason to look as a request. */
function kindOf(message) {
  try {
    return message.json().kind;
  } catch {
    return 'approval';
  }
}

// The message itself says nothing that may be read on a locked phone: it is only a reason to look.
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
    // How many wait only the app can ask; here it is known that something does.
    if (!isNotification) await self.navigator.setAppBadge?.().catch(() => {});
    // After the notification is there, since an app that is looked at takes it away.
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
