import { SHARDS_TOTAL } from '@gateway/contracts/ids';
import { unpackEvent, usageEvent } from '@gateway/contracts/messages';

/** A usage event that is not in the stream, in its encoded bytes. */
export interface UnstoredEvent {
  /** The shard of its account. */
  readonly shard: number;
  readonly json: Buffer;
}

/** A reader skips lines of another version, which a newer program may understand. */
const LINE_VERSION = 1;

/** The member that identifies the line among all other lines of a log. */
const MARK = 'unstoredUsage';

export type LineResult =
  | { readonly kind: 'event'; readonly event: UnstoredEvent }
  /** A line without an event. */
  | { readonly kind: 'other' }
  /** A line that is truncated or malformed. */
  | { readonly kind: 'broken'; readonly problem: string }
  | { readonly kind: 'unknown version'; readonly version: unknown };

/** Returns the members of a line, which is the same in a file of unstored events and in a log. */
export function formatLine({ shard, json }: UnstoredEvent): Readonly<Record<string, unknown>> {
  // The event is a string, so that programs which forward the line do not re-encode it.
  return { [MARK]: LINE_VERSION, shard, event: json.toString('utf8') };
}

/** Parses one line of a file or a log, also after a log collector's prefix. Never throws. */
export function readLine(text: string): LineResult {
  if (!text.includes(`"${MARK}"`)) return { kind: 'other' };
  let line: unknown;
  try {
    line = JSON.parse(text.slice(text.indexOf('{')));
  } catch {
    return { kind: 'broken', problem: 'it is truncated' };
  }
  const { [MARK]: version, shard, event } = line as Record<string, unknown>;
  // The text of another line may contain the name of the member.
  if (version === undefined) return { kind: 'other' };
  if (version !== LINE_VERSION) return { kind: 'unknown version', version };
  const problem = problemOf(shard, event);
  if (problem !== null) return { kind: 'broken', problem };
  return { kind: 'event', event: { shard: shard as number, json: Buffer.from(event as string) } };
}

function problemOf(shard: unknown, event: unknown): string | null {
  if (!Number.isInteger(shard) || Number(shard) < 0 || Number(shard) >= SHARDS_TOTAL) return 'unknown shard';
  if (typeof event !== 'string') return 'it has no event';
  try {
    return usageEvent.safeParse(unpackEvent(JSON.parse(event))).success
      ? null
      : 'its event does not match the contract';
  } catch {
    return 'its event is not JSON';
  }
}
