// The accounts of this browser, and the keys of enrolments that are not answered yet, in IndexedDB: only IndexedDB can
// store a key without letting scripts read its bytes.

import { text } from './texts.js';

/** @typedef {import('./types.d.ts').Account} Account */
/** @typedef {import('./types.d.ts').PendingEnrolment} PendingEnrolment */

const DATABASE = 'assent-authenticator';
const VERSION = 2;
// Some browsers never open a database that they do not permit.
const LIMIT_MS = 10_000;
const ACCOUNTS = 'accounts';
const ENROLMENTS = 'enrolments';
/** The object stores, each with the member that identifies an item. */
const STORES = { [ACCOUNTS]: 'deviceId', [ENROLMENTS]: 'link' };
/** The item of `localStorage` that shows the login page that this browser has a key. */
const NOTE = 'assent-authenticator';

/**
 * The reason why the browser stores nothing: a newer version of this app is open, the space is used up, or the browser
 * permits no storage to this site.
 * @typedef {'outdated' | 'full' | 'impossible'} StorageReason
 */

/** This browser could not store or read something. The message is for developers. */
export class StorageFailure extends Error {
  /** @param {unknown} cause */
  constructor(cause) {
    super(String(cause));
    const name = cause instanceof DOMException ? cause.name : '';
    /** @type {StorageReason} */
    this.reason = name === 'VersionError' ? 'outdated' : name === 'QuotaExceededError' ? 'full' : 'impossible';
  }
}

/** @type {Record<StorageReason, string>} */
const WORDS = {
  outdated: 'app-storage-outdated',
  full: 'app-storage-full',
  impossible: 'app-storage-impossible',
};

/**
 * The message of a failure for the user.
 * @param {StorageFailure} failure
 */
export const storageWords = ({ reason }) => text(WORDS[reason]);

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

/** Opens the database, or returns it if it is open. */
function open() {
  const opening = opened;
  if (opening !== undefined) return opening;
  const begun = connect();
  opened = begun;
  begun.catch(() => closed(begun));
  return begun;
}

/**
 * Notes that a connection has ended, so that the next use opens the database again.
 * @param {Promise<IDBDatabase>} connection
 */
function closed(connection) {
  if (opened === connection) opened = undefined;
}

/** @returns {Promise<IDBDatabase>} */
function connect() {
  /** @type {Promise<IDBDatabase>} */
  const connection = new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, VERSION);
    request.onupgradeneeded = () => {
      for (const [name, keyPath] of Object.entries(STORES)) {
        if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name, { keyPath });
      }
    };
    request.onsuccess = () => {
      const database = request.result;
      // Another tab with a newer version needs the only connection to the database, and the browser itself may close
      // it.
      database.onversionchange = () => {
        database.close();
        closed(connection);
      };
      database.onclose = () => {
        closed(connection);
        // The browser may have cleared the data of this site.
        dispatchEvent(new Event('assent-database-closed'));
      };
      resolve(database);
    };
    request.onerror = () => reject(request.error);
    setTimeout(() => reject(new DOMException('the database did not open', 'TimeoutError')), LIMIT_MS);
  });
  return connection;
}

/**
 * Begins a transaction. A database that was closed in the meantime is opened again.
 * @param {string[]} stores
 * @param {IDBTransactionMode} mode
 */
async function begin(stores, mode) {
  const connection = open();
  try {
    return (await connection).transaction(stores, mode);
  } catch (cause) {
    if (!(cause instanceof DOMException) || cause.name !== 'InvalidStateError') throw cause;
    closed(connection);
    return (await open()).transaction(stores, mode);
  }
}

/**
 * Runs `act` in a transaction, and returns its result when the transaction is complete.
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(stores: { accounts: IDBObjectStore, enrolments: IDBObjectStore }) => IDBRequest<T> | void} act
 * @returns {Promise<T | undefined>}
 * @throws {StorageFailure}
 */
async function run(mode, act) {
  try {
    const transaction = await begin([ACCOUNTS, ENROLMENTS], mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(undefined);
      transaction.onabort = () => reject(transaction.error);
    });
    // If `act` throws, the transaction has no outcome that matters.
    done.catch(() => {});
    const request = act({
      accounts: transaction.objectStore(ACCOUNTS),
      enrolments: transaction.objectStore(ENROLMENTS),
    });
    const result = request ? settled(request) : undefined;
    result?.catch(() => {});
    await done;
    return result;
  } catch (cause) {
    throw new StorageFailure(cause);
  }
}

/** Stores for the login page whether this browser has a key. */
export async function note() {
  try {
    const count = (await run('readonly', ({ accounts }) => accounts.count())) ?? 0;
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
  return (await run('readonly', ({ accounts }) => accounts.getAll())) ?? [];
}

/**
 * Stores an account, which replaces the earlier data of its device. Settles when it is stored.
 * @param {Account} account
 */
export async function put(account) {
  await run('readwrite', ({ accounts }) => {
    accounts.put(account);
  });
  await note();
}

/**
 * Deletes an account and its key.
 * @param {string} deviceId
 */
export async function remove(deviceId) {
  await run('readwrite', ({ accounts }) => {
    accounts.delete(deviceId);
  });
  await note();
}

/**
 * The unanswered enrolment with a link, if there is one. `link` is the digest of its token.
 * @param {string} link
 * @returns {Promise<PendingEnrolment | undefined>}
 */
export function pendingEnrolment(link) {
  return run('readonly', ({ enrolments }) => enrolments.get(link));
}

/**
 * Stores the key of an enrolment before anything is sent, and reads it again: some browsers accept a key and lose it.
 * @param {PendingEnrolment} enrolment
 * @returns {Promise<PendingEnrolment>}
 */
export async function prepareEnrolment(enrolment) {
  await run('readwrite', ({ enrolments }) => {
    enrolments.put(enrolment);
  });
  const stored = await pendingEnrolment(enrolment.link);
  if (!(stored?.privateKey instanceof CryptoKey)) throw new StorageFailure('the stored key is no key');
  return stored;
}

/**
 * Stores the account of an answered enrolment.
 * @param {string} link
 * @param {Account} account
 */
export async function finishEnrolment(link, account) {
  await run('readwrite', ({ accounts, enrolments }) => {
    accounts.put(account);
    enrolments.delete(link);
  });
  await note();
}

/**
 * Forgets the key of an enrolment that the server rejected.
 * @param {string} link
 */
export async function forgetEnrolment(link) {
  await run('readwrite', ({ enrolments }) => {
    enrolments.delete(link);
  });
}
