import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { formatUsd, parseUsd } from '@gateway/metering';
import type { Account, IdPrefix, Member } from './objects.js';

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins; null on the last one. */
  readonly nextCursor: string | null;
}

/** The first `limit` of at most `limit + 1` objects in the order of a list. The cursor is the id of the last one. */
export function pageOf<T>(found: readonly T[], limit: number, idOf: (item: T) => string): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: found.length > limit && last !== undefined ? idOf(last) : null };
}

const ID = /^([a-z]{3})_[0-9a-f]{32}$/;

/** Whether a list of these objects can have given this cursor; null is the first page. */
export function isCursorOf(prefix: IdPrefix, cursor: string | null): boolean {
  return cursor === null || ID.exec(cursor)?.[1] === prefix;
}

/** Nothing can be done to a closed account, or made in it, any more. */
export function accountClosed(): ManagementRefusal {
  return refuse('state_conflict', 'the account is closed');
}

/** The same command came for something else before. */
export function commandTaken(): ManagementRefusal {
  return refuse('idempotency_conflict', 'the command belongs to another request');
}

/** A monthly cap as a request states it, in nano-USD; null or absent is none. The request's schema holds its form and bounds. */
export function readCap(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : parseUsd(text);
}

/** An account, a key or a member: what has a version. */
export type Versioned = Pick<Account, 'id' | 'version'>;

/**
 * The name under which a change waits in the outbox. It follows from what is stored, so that a repeated command, which
 * changes nothing, waits for the change that it finds.
 */
export function changeOf({ id, version }: Versioned): string {
  return `${id}:${version}`;
}

/** A cap in USD for people; null: none. */
export function capText(capNanoUsd: bigint | null): string | null {
  return capNanoUsd === null ? null : formatUsd(capNanoUsd);
}

/** A cap of a key or member as billing gets it. */
export function toCapRecord(
  kind: 'key' | 'member',
  { id, capNanoUsd, version }: Pick<Member, 'id' | 'capNanoUsd' | 'version'>,
) {
  return { kind, id, capNanoUsd: capNanoUsd === null ? null : Number(capNanoUsd), version };
}

/** An instant (epoch milliseconds) in ISO 8601, UTC. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
