import { pause } from '@gateway/service-kit';
import { qualifiedIdentifier } from './identifier.js';
import type { OutboxRow } from './outbox-rows.js';
import type { Pool } from './pool.js';
import { onPool } from './tx.js';

/** How long a command waits until its change is delivered (docs/protocol.md#r10). */
export const IN_FORCE_MS = 5_000;
const LOOK_FIRST_MS = 10;
const LOOK_MAX_MS = 200;

/** Commands of this replica that wait until a row is delivered, by whichever replica. */
export interface DeliveryWaits {
  /** The receiver has this row: whoever waits for it here goes on at once. */
  tell(row: OutboxRow): void;
  /**
   * True when the row with this key and this `change` in its body is delivered, false when `waitMs`
   * have passed.
   */
  wait(key: string, change: string, waitMs: number): Promise<boolean>;
  /** The keys of the rows that are waited for. */
  keys(): string[];
}

/** Waits on the rows of one outbox table. */
export function deliveryWaits(pool: Pool, table: string): DeliveryWaits {
  const text = `SELECT EXISTS (SELECT FROM ${qualifiedIdentifier(table, 'the name of an outbox table')}
    WHERE key = $1 AND body ->> 'change' = $2) AS waiting`;
  const queries = onPool(pool);
  const waiting = new Map<string, Set<() => void>>();

  const isGone = async (key: string, change: string): Promise<boolean> => {
    // A database that cannot be asked says nothing: the next look may find it back, and the wait is
    // bounded.
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
      const overdue = setTimeout(() => end.abort(), waitMs);
      try {
        for (let lookMs = LOOK_FIRST_MS; !end.signal.aborted; lookMs = Math.min(LOOK_MAX_MS, lookMs * 2)) {
          if ((await pause(lookMs, end.signal)) && (await Promise.race([isGone(key, change), ended]))) return true;
        }
        return delivered;
      } finally {
        clearTimeout(overdue);
        forget();
      }
    },
  };
}

/** The `change` of a body that has one; such a row can be waited for. */
function changeOf(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('change' in body)) return null;
  return typeof body.change === 'string' ? body.change : null;
}

/** PostgreSQL stores no zero character, so it can stand between the two. */
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
