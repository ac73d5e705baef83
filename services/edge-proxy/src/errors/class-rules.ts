import type { ErrorClass } from './error-class.js';

/** What follows from an error of a class, as long as nothing went to the client. */
export interface ClassRule {
  /** Another source is asked; false: the answer is final. */
  readonly next: boolean;
  /**
   * `cool_down`: as long as the provider says. `refused`: 30 s, doubling; if a client could have
   * made the provider say so, only when several accounts met it.
   */
  readonly rest: 'none' | 'cool_down' | 'refused';
  /** Counts toward the source's breaker: never what a client can cause. */
  readonly countsAsFailure: boolean;
  /** The operator reads the provider's text in the log, sampled; `warn`: somebody should look. */
  readonly log: 'none' | 'info' | 'warn';
}

const OURS: ClassRule = { next: true, rest: 'refused', countsAsFailure: false, log: 'warn' };
const FAILS: ClassRule = { next: true, rest: 'none', countsAsFailure: true, log: 'none' };
const CLIENTS: ClassRule = { next: false, rest: 'none', countsAsFailure: false, log: 'info' };

export const CLASS_RULES: Readonly<Record<ErrorClass, ClassRule>> = {
  body: CLIENTS,
  content: CLIENTS,
  credential: OURS,
  funds: OURS,
  model: OURS,
  forbidden: OURS,
  not_found: OURS,
  item: { ...CLIENTS, next: true },
  quota: { ...FAILS, rest: 'cool_down', countsAsFailure: false },
  overload: FAILS,
  late: FAILS,
  unexpected: { ...CLIENTS, log: 'warn' },
  foreign: { ...FAILS, next: false, log: 'warn' },
};
