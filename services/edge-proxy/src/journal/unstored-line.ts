import { SHARDS_TOTAL } from '@gateway/contracts/ids';
import { unpackEvent, usageEvent } from '@gateway/contracts/messages';

/** A usage event that no stream has, in the bytes in which it was frozen. */
export interface UnstoredEvent {
  /** Of its account. */
  readonly shard: number;
  readonly json: Buffer;
}

/** A reader leaves lines of another version to a program that knows it. */
const LINE_VERSION = 1;

/** The member by which a line is told from all others of a log. */
const MARK = 'unstoredUsage';

export type ReadLine =
  | { readonly kind: 'event'; readonly event: UnstoredEvent }
  /** Of something else. */
  | { readonly kind: 'other' }
  /** Cut short, or not in its form. */
  | { readonly kind: 'broken'; readonly problem: string }
  | { readonly kind: 'unknown version'; readonly version: unknown };

/** The members of a line: what a file of unstored events and a log have in common. */
export function lineOf({ shard, json }: UnstoredEvent): Readonly<Record<string, unknown>> {
  // As a text in the text: whoever writes the line on, does not write the event anew.
  return { [MARK]: LINE_VERSION, shard, event: json.toString('utf8') };
}

/**
 * Reads one line of a file or a log, also behind what a collector of logs puts before it. Never
 * throws.
 */
export function readLine(text: string): ReadLine {
  if (!text.includes(`"${MARK}"`)) return { kind: 'other' };
  let line: unknown;
  try {
    line = JSON.parse(text.slice(text.indexOf('{')));
  } catch {
    return { kind: 'broken', problem: 'it is cut short' };
  }
  const { [MARK]: version, shard, event } = line as Record<string, unknown>;
  // The mark may stand in the text of another line.
  if (version === undefined) return { kind: 'other' };
  if (version !== LINE_VERSION) return { kind: 'unknown version', version };
  const problem = problemOf(shard, event);
  if (problem !== null) return { kind: 'broken', problem };
  return { kind: 'event', event: { shard: shard as number, json: Buffer.from(event as string) } };
}

function problemOf(shard: unknown, event: unknown): string | null {
  if (!Number.isInteger(shard) || Number(shard) < 0 || Number(shard) >= SHARDS_TOTAL) return 'there is no such shard';
  if (typeof event !== 'string') return 'it holds no event';
  try {
    return usageEvent.safeParse(unpackEvent(JSON.parse(event))).success
      ? null
      : 'its event is not in the form of the contract';
  } catch {
    return 'its event is no JSON';
  }
}
