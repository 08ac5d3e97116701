// The authenticator's service worker: it shows notifications, and caches the app's files for use without a network. The
// server fills in the version, the list of files, and the texts of notifications, and puts canonical.js before this.

const VERSION = '{version}';
const SHELL = '{shell}'.split(' ');
const CACHE = `assent-authenticator-${VERSION}`;
const APP = '/authenticator';
const TITLE = '{title}';
const BODY = '{body}';
const NOTIFICATION = '{notification}';
/** The time after which a cached file replaces one from the network, in milliseconds. */
const LIMIT_MS = 3_000;
/** The time for which the network then counts as slow, so that the files of one page do not each wait. */
const SLOW_MS = 30_000;
let slowUntil = 0;

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
  const load = async () => {
    const response = await fetch(event.request);
    if (response.ok && !response.redirected) await (await caches.open(CACHE)).put(key, response.clone());
    return response;
  };
  const loaded = load();
  event.waitUntil(loaded.catch(() => {}));
  const answer = async () => {
    // The cached files are in one language, independent of the language that the request prefers.
    const copy = await (await caches.open(CACHE)).match(key, { ignoreVary: true });
    if (!copy) return loaded;
    if (Date.now() < slowUntil) return copy;
    const late = new Promise((resolve) => {
      setTimeout(() => resolve(null), LIMIT_MS);
    });
    const first = await Promise.race([loaded.catch(() => copy), late]);
    if (first !== null) return first;
    slowUntil = Date.now() + SLOW_MS;
    return copy;
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

/** The accounts of this browser; see store.js. */
function accounts() {
  return new Promise((resolve, reject) => {
    const opened = indexedDB.open('assent-authenticator');
    opened.onerror = () => reject(opened.error);
    // Without accounts there is no database, and the app creates it.
    opened.onupgradeneeded = () => opened.transaction.abort();
    opened.onsuccess = () => {
      const found = opened.result.transaction('accounts').objectStore('accounts').getAll();
      found.onsuccess = () => resolve(found.result);
      found.onerror = () => reject(found.error);
      opened.result.close();
    };
  });
}

/** Sends a subscription to the server for one account, with the signature of its device. */
async function sendSubscription(account, subscription) {
  const path = `${APP}/api/device/push`;
  const body = JSON.stringify({ subscription });
  const time = Math.floor(Date.now() / 1000) + (account.clockOffset ?? 0);
  const call = { issuer: account.issuer, device: account.deviceId, time, method: 'PUT', path, body };
  const headers = {
    Authorization: await deviceAuthorization(account.privateKey, call),
    'Content-Type': 'application/json',
  };
  await fetch(path, { method: 'PUT', headers, body, cache: 'no-store' });
}

/**
 * Replaces a subscription that the browser's push service ended. Without this no message would arrive until the user
 * opens the app.
 */
async function renewSubscription(renewed) {
  const able = (await accounts()).filter(({ pushKey, privateKey }) => pushKey && privateKey);
  if (able.length === 0) return;
  const options = { userVisibleOnly: true, applicationServerKey: fromBase64url(able[0].pushKey) };
  const subscription = renewed ?? (await self.registration.pushManager.subscribe(options));
  await Promise.all(able.map((account) => sendSubscription(account, subscription.toJSON())));
}

self.addEventListener('pushsubscriptionchange', (event) => {
  // After a failure, the app sends the subscription at its next start.
  event.waitUntil(renewSubscription(event.newSubscription).catch(() => {}));
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
