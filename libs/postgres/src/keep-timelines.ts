import { every, type Background } from '@gateway/service-kit';
import type { Log } from './log.js';
import { Timelines } from './timelines.js';

/** Where the highest timeline is kept: outside the database. */
export interface TimelineStore {
  get(key: string, timeoutMs: number): Promise<string | null>;
  put(key: string, value: string, timeoutMs: number): Promise<unknown>;
}

/** What a process knows of timelines, for its pools. */
export interface KeptTimelines extends Background {
  readonly timelines: Timelines;
}

const KEY = 'timelines';
const COMPARE_MS = 1_000;
const TIMEOUT_MS = 2_000;

/**
 * Keeps what this process and the store know equal, once a second and at each rise, so that a
 * process which was cut off, or starts later, refuses a primary that was replaced. Resolves after
 * the first comparison, also when it failed. Writers never lower it for long: whoever knows a
 * higher
 * one writes it again.
 */
export async function keepTimelines(store: TimelineStore, log: Log): Promise<KeptTimelines> {
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
  const comparing = every(COMPARE_MS, compare, { failed });
  timelines.onRise(() => comparing.wake());
  return { timelines, ...comparing };
}

/**
 * Forgets all timelines, so that a database which was restored from a copy of before is used,
 * though
 * its timeline is lower. Only while no service runs: each keeps what it knows.
 */
export async function forgetTimelines(store: TimelineStore): Promise<void> {
  await store.put(KEY, '{}', TIMEOUT_MS);
}

/** What is not of this form counts as nothing, and is written anew. */
function readKept(text: string | null): ReadonlyMap<string, number> {
  try {
    const kept = Object.entries(JSON.parse(text ?? '{}') as object);
    return new Map(kept.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])));
  } catch {
    return new Map();
  }
}
