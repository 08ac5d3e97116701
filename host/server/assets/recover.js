// The page for a recovery code. The code is used up before the authenticator opens, so a browser that cannot store the
// authenticator's key does not send it.
(async () => {
  const notice = document.getElementById('no-storage');
  const button = document.getElementById('use-code');
  if (!notice || !(button instanceof HTMLButtonElement)) return;
  // Some browsers never open a database that they do not permit.
  const LIMIT_MS = 10_000;

  /** @param {IDBRequest} request */
  const settled = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });

  /** Whether a key that is stored can be read again. */
  async function storesKeys() {
    const name = 'assent-storage-check';
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore('keys');
    const database = await settled(opening);
    try {
      const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
      const { privateKey } = await crypto.subtle.generateKey(algorithm, false, ['sign']);
      await settled(database.transaction('keys', 'readwrite').objectStore('keys').put(privateKey, 'key'));
      return (await settled(database.transaction('keys').objectStore('keys').get('key'))) instanceof CryptoKey;
    } finally {
      database.close();
      indexedDB.deleteDatabase(name);
    }
  }

  /** @param {boolean} isSafe whether a code may be used up here */
  function show(isSafe) {
    if (!notice || !(button instanceof HTMLButtonElement)) return;
    notice.hidden = isSafe;
    button.disabled = !isSafe;
  }

  button.disabled = true;
  const limit = setTimeout(show, LIMIT_MS, false);
  const isSafe = await storesKeys().catch(() => false);
  clearTimeout(limit);
  show(isSafe);
})();
