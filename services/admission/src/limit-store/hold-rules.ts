import type { HoldFields } from '@gateway/contracts/messages';
import type { HoldTemplate } from './hold-template-rules.js';

/** `open` and `expiring` hold the worst case, `done` holds the amount, `gone` holds nothing. */
export type HoldState = 'open' | 'expiring' | 'done' | 'gone';

/** One field of `h:<account>`. Times in milliseconds of Redis time, amounts in nano-USD. */
export interface StoredHold {
  readonly state: HoldState;
  readonly template: string;
  readonly admittedAt: number;
  readonly worst: number;
  readonly planMax: number;
  readonly walletMax: number | null;
  /** Start of the session that the hold counts in. Null outside a session. */
  readonly session: number | null;
  /** Only for a done hold. */
  readonly amount: number;
  readonly slot: boolean;
  /** Whether an operator took the slot back. The call's edge is then requested to end the call. */
  readonly takenBack: boolean;
  readonly lease: number;
  /** When the hold first fell or falls due. */
  readonly due: number;
  /** Number of queries to the owner. */
  readonly tries: number;
  readonly edge: string | null;
}

const STATES: Readonly<Record<string, HoldState>> = { o: 'open', x: 'expiring', d: 'done', g: 'gone' };
const PARTS = 13;

/**
 * Whether a field of `h:<account>` is a hold. The hash also contains templates (`s:`) and the IDs
 * of calls that were counted in a minute (`m:`).
 */
export function isHoldId(field: string): boolean {
  return field[1] !== ':';
}

/** Parses a hold from the scripts (`lua/shared/holds.lua`). @throws RangeError for other texts */
export function readHold(text: string): StoredHold {
  const parts = text.split(' ');
  const state = STATES[parts[0] ?? ''];
  if (state === undefined || (state !== 'gone' && parts.length !== PARTS)) throw new RangeError(`not a hold: ${text}`);
  const at = (index: number): number => Number(parts[index] ?? 0);
  return {
    state,
    template: parts[1] ?? '',
    admittedAt: at(2),
    worst: at(3),
    planMax: at(4),
    walletMax: at(5) < 0 ? null : at(5),
    session: at(6) === 0 ? null : at(6),
    amount: at(7),
    slot: parts[8] === '1',
    takenBack: parts[8] === '2',
    lease: at(9),
    due: at(10),
    tries: at(11),
    edge: parts[12] === undefined || parts[12] === '-' ? null : parts[12],
  };
}

/** Returns the fields that are sent with the call. */
export function toHoldFields(account: string, hold: StoredHold, template: HoldTemplate): HoldFields {
  return {
    account,
    key: template.key,
    member: template.member,
    model: template.model,
    priceVersion: template.priceVersion,
    worstNanoUsd: hold.worst,
    planMaxNanoUsd: hold.planMax,
    walletMaxNanoUsd: hold.walletMax,
    periods: {
      month: template.month,
      session5h: hold.session,
      weekly: template.weekly,
      subscription: template.subscription,
    },
    windows: template.windows,
    allotment: template.allotment,
    admittedAt: hold.admittedAt,
  };
}

/** Returns the numbers of a hold in the form that the scripts take. */
export function toHoldNumbers(hold: HoldFields) {
  return {
    admitted: hold.admittedAt,
    worst: hold.worstNanoUsd,
    planMax: hold.planMaxNanoUsd,
    walletMax: hold.walletMaxNanoUsd ?? -1,
    session: hold.periods.session5h ?? 0,
  };
}
