import { KEY_REFUSALS } from './contract-key-refusals.js';
import { LIMIT_REFUSALS } from './contract-limit-refusals.js';
import { MONEY_REFUSALS } from './contract-money-refusals.js';
import { REQUEST_REFUSALS } from './contract-request-refusals.js';
import type { ErrorSituation } from './contract-situation.js';

/** All refusals that the gateway decides by itself on a healthy system with all endpoints. */
export const REFUSALS: readonly ErrorSituation[] = [
  ...REQUEST_REFUSALS,
  ...KEY_REFUSALS,
  ...MONEY_REFUSALS,
  ...LIMIT_REFUSALS,
];
