import { HEARTBEAT_BYTES_MAX, HEARTBEAT_CALLS_MAX } from '@gateway/contracts/messages';

/** A comma between two items, and what a call has beside its hold: id, endpoint and the names of all four. */
const BESIDE_BYTES = 160;

const sizes = new WeakMap<object, number>();

/** Bytes of an object as JSON. Measured once: what a beat repeats does not change. */
function bytesOf(item: object): number {
  let bytes = sizes.get(item);
  if (bytes === undefined) sizes.set(item, (bytes = Buffer.byteLength(JSON.stringify(item))));
  return bytes;
}

/**
 * Items in parts that each fit into one message of a beat, in their order; no part for no items.
 * @param measured what of an item makes its size: an object that stays the same while the item is repeated
 * @param spareBytes what else the message carries, for each item and in all
 */
export function cutParts<T>(
  items: readonly T[],
  measured: (item: T) => object,
  spareBytes: { readonly each: number; readonly inAll: number },
): T[][] {
  const parts: T[][] = [];
  let part: T[] = [];
  let bytes = spareBytes.inAll;
  for (const item of items) {
    const own = bytesOf(measured(item)) + BESIDE_BYTES + spareBytes.each;
    if (part.length === HEARTBEAT_CALLS_MAX || (part.length > 0 && bytes + own > HEARTBEAT_BYTES_MAX)) {
      parts.push(part);
      part = [];
      bytes = spareBytes.inAll;
    }
    part.push(item);
    bytes += own;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
