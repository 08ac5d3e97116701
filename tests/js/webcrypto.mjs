// Node.js 18, which Debian 12 has, keeps WebCrypto in a module; code for browsers uses the global.
import { webcrypto } from 'node:crypto';

globalThis.crypto ??= webcrypto;
globalThis.CryptoKey ??= webcrypto.CryptoKey;
