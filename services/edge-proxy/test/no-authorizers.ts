import type { Authorizers } from '../src/ports.js';

/** For catalogs whose sources have only fixed credentials. */
export const NO_AUTHORIZERS: Authorizers = { acquire: () => null, release: () => undefined };
