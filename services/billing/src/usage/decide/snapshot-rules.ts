import type { BalanceSnapshot } from '@gateway/contracts/messages';
import { type Balance, toBalanceMessage } from '../../ledger/rules.js';
import type { BatchDecision, ClosedId } from './batch-ledger-rules.js';

/** Maximum of balances or IDs for one account in a message; the schema allows twice as many. */
const PART_ITEMS_MAX = 1_000;
/** Maximum of accounts in a message; the schema allows a quarter more. */
const MESSAGE_ACCOUNTS_MAX = 400;
/** Maximum estimated size of a message, safely below the bus limit of 1,000,000 bytes. */
const MESSAGE_BYTES_MAX = 400_000;

/** Estimated JSON size of a balance without its name, of an ID, and of an account; rounded up. */
const ROW_BYTES = 80;
const ID_BYTES = 40;
const ACCOUNT_BYTES = 60;

interface Part {
  readonly account: string;
  readonly rows: Set<string>;
  readonly closed: string[];
}

/**
 * Builds the snapshot messages for closed IDs, within the limits of the bus. Each part that lists
 * an ID contains every balance that the ID touched (docs/protocol.md#r8), except balances that were
 * never written.
 */
export function buildSnapshotMessages(
  closed: readonly ClosedId[],
  rows: ReadonlyMap<string, ReadonlyMap<string, Balance>>,
): BalanceSnapshot[][] {
  const messages: BalanceSnapshot[][] = [];
  let message: BalanceSnapshot[] = [];
  let bytes = 0;
  for (const part of splitParts(closed)) {
    const snapshot = toSnapshot(part, rows);
    const size = estimateSize(snapshot);
    if (message.length > 0 && (message.length >= MESSAGE_ACCOUNTS_MAX || bytes + size > MESSAGE_BYTES_MAX)) {
      messages.push(message);
      message = [];
      bytes = 0;
    }
    message.push(snapshot);
    bytes += size;
  }
  if (message.length > 0) messages.push(message);
  return messages;
}

/**
 * Builds the snapshots for corrected records, which the outbox sends until admission has them. The
 * hold of such a call has already expired. So if a balance snapshot is lost (docs/protocol.md#r8),
 * no due hold would make admission query for it.
 */
export function buildCorrectionSnapshots({
  records,
  closed,
  rowsAfter,
}: Pick<BatchDecision, 'records' | 'closed' | 'rowsAfter'>): BalanceSnapshot[] {
  const corrected = new Set(records.flatMap(({ record, replaces }) => (replaces ? [record.id] : [])));
  if (corrected.size === 0) return [];
  return buildSnapshotMessages(
    closed.filter(({ id }) => corrected.has(id)),
    rowsAfter,
  ).flat();
}

function splitParts(closed: readonly ClosedId[]): Part[] {
  const parts: Part[] = [];
  const open = new Map<string, Part>();
  for (const { account, id, rows } of closed) {
    let part = open.get(account);
    if (part === undefined || part.closed.length >= PART_ITEMS_MAX || part.rows.size + rows.length > PART_ITEMS_MAX) {
      part = { account, rows: new Set(), closed: [] };
      open.set(account, part);
      parts.push(part);
    }
    part.closed.push(id);
    for (const name of rows) part.rows.add(name);
  }
  return parts;
}

function toSnapshot(part: Part, rows: ReadonlyMap<string, ReadonlyMap<string, Balance>>): BalanceSnapshot {
  const known = rows.get(part.account);
  const written = [...part.rows].flatMap((name) => known?.get(name) ?? []);
  return { account: part.account, rows: written.map(toBalanceMessage), closed: part.closed };
}

function estimateSize({ account, rows, closed }: BalanceSnapshot): number {
  const names = rows.reduce((total, { name }) => total + name.length + ROW_BYTES, 0);
  return ACCOUNT_BYTES + account.length + names + closed.length * ID_BYTES;
}
