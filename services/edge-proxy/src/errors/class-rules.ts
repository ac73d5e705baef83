import type { ErrorClass } from './error-class.js';

/** The consequences of an error of a class while nothing has been sent to the client. */
export interface ErrorClassRule {
  /** Try another source. False: the response is final. */
  readonly next: boolean;
  /**
   * Cooldown of the source. `cool_down`: for the time that the provider states. `refused`: 30 s,
   * doubled each time. If a client could have caused the refusal, it applies only after several
   * accounts met it.
   */
  readonly rest: 'none' | 'cool_down' | 'refused';
  /** Counts toward the source's breaker. Never set for errors that a client can cause. */
  readonly countsAsFailure: boolean;
  /**
   * Log level of the provider's text, which is sampled. `warn`: an operator should check the
   * source.
   */
  readonly log: 'none' | 'info' | 'warn';
}

const OURS: ErrorClassRule = { next: true, rest: 'refused', countsAsFailure: false, log: 'warn' };
const FAILS: ErrorClassRule = { next: true, rest: 'none', countsAsFailure: true, log: 'none' };
const CLIENTS: ErrorClassRule = { next: false, rest: 'none', countsAsFailure: false, log: 'info' };

export const CLASS_RULES: Readonly<Record<ErrorClass, ErrorClassRule>> = {
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
