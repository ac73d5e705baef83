import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import { HEARTBEAT_BYTES_MAX, HEARTBEAT_CALLS_MAX, type ReleaseEntry } from '@gateway/contracts/messages';
import type { CallWithHold } from './running-calls.js';

/** Bytes of a part besides its lists. */
const HEAD_BYTES = 512;
/** Most bytes of an epoch and its field names. */
const EPOCH_BYTES = 192;
/** Bytes of a comma, an ID, an endpoint, and the field names of an item. */
const ITEM_BYTES = 160;

/** The lists in one message of a heartbeat. */
export interface HeartbeatPart {
  readonly named: readonly CallWithHold[];
  readonly calls: readonly CallWithHold[];
  readonly releases: readonly ReleaseEntry[];
}

const sizes = new WeakMap<object, number>();

/** Returns the bytes of an object as JSON. Measured once per object, since items do not change. */
function bytesOf(item: object): number {
  let bytes = sizes.get(item);
  if (bytes === undefined) sizes.set(item, (bytes = Buffer.byteLength(JSON.stringify(item))));
  return bytes;
}

/**
 * Splits the lists of a heartbeat into parts that each fit into one message. Keeps the order of
 * each list. Returns one empty part if there is nothing to list.
 */
export function cutParts({ named, calls, releases }: HeartbeatPart): HeartbeatPart[] {
  const tags = new Set(named.map(({ tag }) => tag)).size;
  const headBytes = HEAD_BYTES + EPOCH_BYTES * (BUCKETS_TOTAL + tags);
  const empty = () => ({ named: [] as CallWithHold[], calls: [] as CallWithHold[], releases: [] as ReleaseEntry[] });
  const parts = [empty()];
  let bytes = headBytes;
  const partFor = (list: keyof HeartbeatPart, itemBytes: number): ReturnType<typeof empty> => {
    let part = parts.at(-1) as ReturnType<typeof empty>;
    const hasRoom = bytes === headBytes || bytes + itemBytes <= HEARTBEAT_BYTES_MAX;
    if (!hasRoom || part[list].length === HEARTBEAT_CALLS_MAX) {
      parts.push((part = empty()));
      bytes = headBytes;
    }
    bytes += itemBytes;
    return part;
  };
  for (const call of named) partFor('named', ITEM_BYTES + Buffer.byteLength(call.hold.account)).named.push(call);
  for (const call of calls) partFor('calls', ITEM_BYTES + EPOCH_BYTES + bytesOf(call.hold)).calls.push(call);
  for (const release of releases) partFor('releases', ITEM_BYTES + bytesOf(release)).releases.push(release);
  return parts;
}
