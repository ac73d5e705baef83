import { type callsRefused, type ReceivedOf, REFUSED_KEPT_MS } from '@gateway/contracts/messages';
import type { RefusedStore } from './insight-ports.js';

const MINUTE_MS = 60_000;
/** A replica's clock may be ahead of ours. */
const AHEAD_MS = 3_600_000;

/** Keeps what a replica of admission tells of calls that it refused; of minutes that are not kept any more, or not real: nothing. */
export async function noteRefusedCalls(
  store: Pick<RefusedStore, 'add'>,
  { minute, rows }: ReceivedOf<typeof callsRefused>,
  now: number,
): Promise<void> {
  if (minute < now - REFUSED_KEPT_MS || minute > now + AHEAD_MS) return;
  const start = minute - (minute % MINUTE_MS);
  await store.add(rows.map(({ key, ...row }) => ({ ...row, key: key ?? null, minute: start })));
}
