import { every, systemClock, type Background } from '@gateway/service-kit';
import type { Log } from '../pool.js';
import { Timelines } from './timelines.js';

/** Stores the highest timeline outside the database. */
export interface TimelineStore {
  get(key: string, timeoutMs: number): Promise<string | null>;
  put(key: string, value: string, timeoutMs: number): Promise<unknown>;
}

/** The timelines that a process knows, for its pools. */
export interface SyncedTimelines extends Background {
  readonly timelines: Timelines;
}

const KEY = 'timelines';
const COMPARE_MS = 1_000;
const TIMEOUT_MS = 2_000;

/**
 * Synchronizes the timelines of this process with the store, once a second and after each rise. A
 * process that was disconnected or starts later therefore refuses a replaced primary. Resolves
 * after the first comparison, also if it failed. A writer may lower the stored value only briefly:
 * each process with a higher one writes it again.
 */
export async function syncTimelines(store: TimelineStore, log: Log, clock = systemClock): Promise<SyncedTimelines> {
  const timelines = new Timelines();
  const compare = async (): Promise<void> => {
    const kept = readKept(await store.get(KEY, TIMEOUT_MS));
    for (const [system, timeline] of kept) timelines.observe(system, timeline);
    const all = Object.entries(timelines.all());
    if (all.some(([system, timeline]) => timeline > (kept.get(system) ?? 0))) {
      await store.put(KEY, JSON.stringify(Object.fromEntries(all)), TIMEOUT_MS);
    }
  };
  const failed = (err: unknown): void => log.warn({ err }, 'the timeline of the database cannot be compared');
  await compare().catch(failed);
  const comparing = every(COMPARE_MS, compare, { failed, clock });
  timelines.onRise(() => comparing.wake());
  return { timelines, ...comparing };
}

/**
 * Clears all timelines, so that a database restored from an earlier copy is used although its
 * timeline is lower. Call it only while no service runs, because each service keeps its own
 * timelines.
 */
export async function clearTimelines(store: TimelineStore): Promise<void> {
  await store.put(KEY, '{}', TIMEOUT_MS);
}

/** A text of another form counts as empty and is overwritten. */
function readKept(text: string | null): ReadonlyMap<string, number> {
  try {
    const kept = Object.entries(JSON.parse(text ?? '{}') as object);
    return new Map(kept.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])));
  } catch {
    return new Map();
  }
}
