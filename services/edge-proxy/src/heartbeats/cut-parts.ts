import { HEARTBEAT_BYTES_MAX, HEARTBEAT_CALLS_MAX } from '@gateway/contracts/messages';

/** Bytes of a comma, an id, an endpoint, and the field names of a call. */
const OVERHEAD_BYTES = 160;

const sizes = new WeakMap<object, number>();

/** Bytes of an object as JSON. Measured once, since a repeated item does not change. */
function bytesOf(item: object): number {
  let bytes = sizes.get(item);
  if (bytes === undefined) sizes.set(item, (bytes = Buffer.byteLength(JSON.stringify(item))));
  return bytes;
}

/**
 * Cuts items into parts that each fit into one heartbeat message. Keeps their order. Gives no part
 * for no items.
 * @param measured gives the part of an item that makes its size, the same object at each repetition
 * @param spareBytes bytes of the rest of the message, for each item and in all
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
    const own = bytesOf(measured(item)) + OVERHEAD_BYTES + spareBytes.each;
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
