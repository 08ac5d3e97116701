// Node.js 18 of Debian 12 has WebCrypto in a module, but code for browsers uses the global.
import { webcrypto } from 'node:crypto';

globalThis.crypto ??= webcrypto;
globalThis.CryptoKey ??= webcrypto.CryptoKey;
