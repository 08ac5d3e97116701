// The accounts of this browser, in IndexedDB: only IndexedDB can store a key without letting scripts read its bytes.

/** @typedef {import('./types.d.ts').Account} Account */

const DATABASE = 'assent-authenticator';
const ACCOUNTS = 'accounts';
/** The item of `localStorage` that shows the login page that this browser has a key. */
const NOTE = 'assent-authenticator';

/** @type {Promise<IDBDatabase> | undefined} */
let opened;

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function open() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(ACCOUNTS, { keyPath: 'deviceId' });
    request.onsuccess = () => {
      // Another tab with a newer version, or the browser itself, may close the database: then it is opened again.
      request.result.onversionchange = () => {
        request.result.close();
        opened = undefined;
      };
      request.result.onclose = () => {
        opened = undefined;
        // The browser may have cleared the data of this site.
        dispatchEvent(new Event('assent-database-closed'));
      };
      resolve(request.result);
    };
    request.onerror = () => {
      opened = undefined;
      reject(request.error);
    };
  });
  return opened;
}

/** @param {(accounts: IDBObjectStore) => void} act */
async function change(act) {
  const transaction = (await open()).transaction(ACCOUNTS, 'readwrite');
  const done = new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(undefined);
    transaction.onabort = () => reject(transaction.error);
  });
  act(transaction.objectStore(ACCOUNTS));
  await done;
  await note();
}

/** Stores for the login page whether this browser has a key. */
export async function note() {
  try {
    const count = await settled((await open()).transaction(ACCOUNTS).objectStore(ACCOUNTS).count());
    if (count > 0) localStorage.setItem(NOTE, 'enrolled');
    else localStorage.removeItem(NOTE);
  } catch {
    // The browser stores nothing for this site, so the login page offers its other ways.
  }
}

/**
 * All accounts.
 * @returns {Promise<Account[]>}
 */
export async function all() {
  return settled((await open()).transaction(ACCOUNTS).objectStore(ACCOUNTS).getAll());
}

/**
 * Stores an account, which replaces the earlier data of its device. Settles when it is stored.
 * @param {Account} account
 */
export function put(account) {
  return change((accounts) => accounts.put(account));
}

/**
 * Deletes an account and its key.
 * @param {string} deviceId
 */
export function remove(deviceId) {
  return change((accounts) => accounts.delete(deviceId));
}
