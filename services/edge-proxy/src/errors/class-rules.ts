import type { ErrorClass } from './error-class.js';

/** The consequences of an error of a class while nothing has been sent to the client. */
export interface ErrorClassRule {
  /** Try another source. False: the response is final. */
  readonly next: boolean;
  /**
   * Cooldown of the source. `cool_down`: for the time that the provider states. `refused`: 30 s,
   * doubled each time. If a client could have caused the refusal, it applies only after the source
   * has refused several accounts.
   */
  readonly cooldown: 'none' | 'cool_down' | 'refused';
  /** Counts toward the source's breaker. Never set for errors that a client can cause. */
  readonly countsAsFailure: boolean;
  /** Level for logging samples of the provider's text. `warn`: an operator should act. */
  readonly log: 'none' | 'info' | 'warn';
}

const SOURCE_REFUSES: ErrorClassRule = { next: true, cooldown: 'refused', countsAsFailure: false, log: 'warn' };
const SOURCE_FAILS: ErrorClassRule = { next: true, cooldown: 'none', countsAsFailure: true, log: 'none' };
const CLIENT_ERROR: ErrorClassRule = { next: false, cooldown: 'none', countsAsFailure: false, log: 'info' };

export const CLASS_RULES: Readonly<Record<ErrorClass, ErrorClassRule>> = {
  body: CLIENT_ERROR,
  content: CLIENT_ERROR,
  credential: SOURCE_REFUSES,
  funds: SOURCE_REFUSES,
  model: SOURCE_REFUSES,
  forbidden: SOURCE_REFUSES,
  not_found: SOURCE_REFUSES,
  item: { ...CLIENT_ERROR, next: true },
  quota: { ...SOURCE_FAILS, cooldown: 'cool_down', countsAsFailure: false },
  overload: SOURCE_FAILS,
  late: SOURCE_FAILS,
  unexpected: { ...CLIENT_ERROR, log: 'warn' },
  foreign: { ...SOURCE_FAILS, next: false, log: 'warn' },
};
