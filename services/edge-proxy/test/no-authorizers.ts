import type { Authorizers } from '../src/ports.js';

/** For catalogs whose sources have fixed credentials only. */
export const NO_AUTHORIZERS: Authorizers = { acquire: () => null, release: () => undefined };
