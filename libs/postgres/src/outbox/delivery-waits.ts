import { pause, type TimerClock } from '@gateway/service-kit';
import { qualifiedIdentifier } from '../identifier.js';
import type { OutboxRow } from './outbox-rows.js';
import type { Pool } from '../pool.js';
import { onPool } from '../tx.js';

/** Maximum time that a command waits for the delivery of its change (docs/protocol.md#r10). */
export const DELIVERY_WAIT_MS = 5_000;
const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 200;

/** Commands of this replica that wait for the delivery of a row by any replica. */
export interface DeliveryWaits {
  /** Ends the waits for this row, which this replica has delivered. */
  tell(row: OutboxRow): void;
  /**
   * Returns true when the row with this key and this `change` in its body is delivered, false after
   * `waitMs`.
   */
  wait(key: string, change: string, waitMs: number): Promise<boolean>;
  /** Returns the keys of the awaited rows. */
  keys(): string[];
}

/** Creates the waits for the rows of one outbox table. */
export function deliveryWaits(pool: Pool, table: string, clock: TimerClock): DeliveryWaits {
  const text = `SELECT EXISTS (SELECT FROM ${qualifiedIdentifier(table, 'the name of an outbox table')}
    WHERE key = $1 AND body ->> 'change' = $2) AS waiting`;
  const queries = onPool(pool);
  const waiting = new Map<string, Set<() => void>>();

  const isGone = async (key: string, change: string): Promise<boolean> => {
    // An unreachable database proves nothing: the next poll may succeed, and the wait is bounded.
    const row = await queries.one<{ waiting: boolean }>(text, [key, change]).catch(() => null);
    return row?.waiting === false;
  };

  return {
    keys: () => [...new Set(Array.from(waiting.keys(), (name) => name.slice(0, name.indexOf('\0'))))],
    tell({ key, body }) {
      const change = changeOf(body);
      if (change !== null) for (const go of waiting.get(nameOf(key, change)) ?? []) go();
    },
    async wait(key, change, waitMs) {
      const end = new AbortController();
      const ended = new Promise<false>((resolve) => end.signal.addEventListener('abort', () => resolve(false)));
      let delivered = false;
      const forget = remember(waiting, nameOf(key, change), () => {
        delivered = true;
        end.abort();
      });
      const overdue = clock.setTimer(waitMs, () => end.abort());
      try {
        for (let lookMs = LOOK_FIRST_MS; !end.signal.aborted; lookMs = Math.min(LOOK_MAX_MS, lookMs * 2)) {
          if ((await pause(lookMs, end.signal, clock)) && (await Promise.race([isGone(key, change), ended])))
            return true;
        }
        return delivered;
      } finally {
        overdue.cancel();
        forget();
      }
    },
  };
}

/** Returns the `change` of a body, or null. Only rows with a `change` can be awaited. */
function changeOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('change' in body)) return null;
  return typeof body.change === 'string' ? body.change : null;
}

/** PostgreSQL stores no zero character, so it can separate the two. */
function nameOf(key: string, change: string): string {
  return `${key}\0${change}`;
}

function remember(waiting: Map<string, Set<() => void>>, name: string, go: () => void): () => void {
  const all = waiting.get(name) ?? new Set();
  waiting.set(name, all.add(go));
  return () => {
    all.delete(go);
    if (all.size === 0 && waiting.get(name) === all) waiting.delete(name);
  };
}
