import {
  type AnswerBodyOf,
  type billingRefusedCall,
  type billingRefusedCalls,
  type callsRefused,
  type ReceivedOf,
  REFUSED_KEPT_MS,
  REFUSED_SHOWN_MAX,
} from '@gateway/contracts/messages';
import { refuse } from '@gateway/contracts/operator';
import type { RefusedCalls, RefusedStore } from './refused-store.js';

const MINUTE_MS = 60_000;
/** Tolerance for a replica whose clock is ahead of this one. */
const CLOCK_TOLERANCE_MS = 3_600_000;

/**
 * Stores the refused calls that an admission replica publishes. Ignores minutes that are older than
 * the retention time or too far in the future.
 */
export async function recordRefusedCalls(
  store: Pick<RefusedStore, 'add'>,
  { minute, rows }: ReceivedOf<typeof callsRefused>,
  now: number,
): Promise<void> {
  if (minute < now - REFUSED_KEPT_MS || minute > now + CLOCK_TOLERANCE_MS) return;
  const start = minute - (minute % MINUTE_MS);
  await store.add(rows.map(({ key, ...row }) => ({ ...row, key: key ?? null, minute: start })));
}

const DAY_MS = 86_400_000;

/** Returns the refused calls of an account, newest first. */
export async function showRefusedCalls(
  store: Pick<RefusedStore, 'list'>,
  { account, from, to, key }: ReceivedOf<typeof billingRefusedCalls>,
): Promise<AnswerBodyOf<typeof billingRefusedCalls>> {
  if (to <= from) return refuse('invalid_request', 'the end must be after the start', 'to');
  if (to - from > REFUSED_KEPT_MS)
    return refuse('invalid_request', `refused calls are kept for ${REFUSED_KEPT_MS / DAY_MS} days`, 'from');
  const { rows, totals } = await store.list({ account, from, to, key: key ?? null, limit: REFUSED_SHOWN_MAX + 1 });
  return { rows: rows.slice(0, REFUSED_SHOWN_MAX).map(toView), more: rows.length > REFUSED_SHOWN_MAX, totals };
}

/** Returns the counts of the minute that contains the refused call with the given ID. */
export async function showRefusedCall(
  store: Pick<RefusedStore, 'find'>,
  { requestId }: ReceivedOf<typeof billingRefusedCall>,
): Promise<AnswerBodyOf<typeof billingRefusedCall>> {
  const found = await store.find(requestId);
  if (found === null) return refuse('not_found', 'no stored refused call has this id');
  return { account: found.account, row: toView(found) };
}

function toView({ minute, code, key, count, lastIds }: RefusedCalls) {
  return { minute, code, key, count, lastIds: [...lastIds] };
}
