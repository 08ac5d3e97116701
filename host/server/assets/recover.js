// The page for a recovery code. The code is used up before the authenticator opens, so a browser that cannot store the
// authenticator's key does not send it.
(async () => {
  const notice = document.getElementById('no-storage');
  const button = document.getElementById('use-code');
  if (!notice || !(button instanceof HTMLButtonElement)) return;

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

  const isSafe = await storesKeys().catch(() => false);
  notice.hidden = isSafe;
  button.disabled = !isSafe;
})();
