// Node.js 18, which Debian 12 has, keeps WebCrypto in a module; what is written for browsers looks for the global.
import { webcrypto } from 'node:crypto';

globalThis.crypto ??= webcrypto;
globalThis.CryptoKey ??= webcrypto.CryptoKey;
