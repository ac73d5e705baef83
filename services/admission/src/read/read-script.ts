import type { AccountTerms, KeyRecord } from '@gateway/contracts/messages';
import type { LoadNeeds } from '../admit/admit-script.js';
import { type ScriptCall, type ScriptReply, toArguments, readReplyTime } from '../limit-store/script-rules.js';
import { type BucketKeys, listAccountKeys, formatKeyField } from '../limit-store/key-rules.js';
import { readStoredKey, readStoredTerms } from '../limit-store/stored-records-rules.js';

/** The state that decisions use, read without any change. Amounts in nano-USD, counts in calls. */
export interface ReadState {
  readonly now: number;
  readonly epoch: string;
  readonly caughtUp: boolean;
  readonly key: KeyRecord;
  readonly suspended: boolean;
  readonly terms: AccountTerms;
  readonly termsVersion: string;
  readonly loadedAt: number;
  /** Start of the last opened session. Null before the first. */
  readonly session: number | null;
  /** Balances by name. Null: never written; undefined: not loaded. */
  readonly rows: ReadonlyMap<string, number | null | undefined>;
}

export type ReadOutcome =
  | { readonly kind: 'read'; readonly state: ReadState }
  | { readonly kind: 'load'; readonly now: number; readonly needs: LoadNeeds }
  | { readonly kind: 'lost' | 'restoring' };

/** Number of reply values before the balances. */
const FIXED = 13;

export function buildReadCall(keys: BucketKeys, account: string, key: string, rows: readonly string[]): ScriptCall {
  return {
    script: 'read',
    keys: keysOf(keys, account, key),
    args: [...toArguments('READ', { keyField: formatKeyField(key) }), ...rows.map((row) => `v:${row}`)],
  };
}

/** Builds the script that sums the holds of an account, whether it is loaded or not. */
export function buildHeldCall(keys: BucketKeys, account: string): ScriptCall {
  return {
    script: 'read',
    keys: keysOf(keys, account, ''),
    args: [...toArguments('READ', { keyField: formatKeyField('') }), 'n', 'h:wallet'],
  };
}

function keysOf(keys: BucketKeys, account: string, key: string): string[] {
  return [...listAccountKeys(keys, account), keys.keyRecords + key, keys.texts];
}

/**
 * Returns the calls with a slot and the nano-USD that they hold. Null unless the bucket is open.
 */
export function readHeldReply(reply: ScriptReply): { slots: number; walletNanoUsd: number } | null {
  if (reply[0] !== 'open') return null;
  const at = (index: number): number => valueOf(reply[FIXED + index]) ?? 0;
  return { slots: at(0), walletNanoUsd: at(1) };
}

/**
 * Returns the stored record of a key, loaded or not. Null if it has expired or the bucket is not
 * open. The other parameters are those of {@link buildReadCall}.
 */
export function readKeptKey(reply: ScriptReply, account: string, key: string): KeyRecord | null {
  const text = reply[0] === 'open' ? reply[6] : undefined;
  return text ? readStoredKey(text, account, key) : null;
}

/** The other parameters are those of {@link buildReadCall}. */
export function parseReadReply(reply: ScriptReply, account: string, key: string, rows: readonly string[]): ReadOutcome {
  if (reply[0] !== 'open') return { kind: reply[0] === 'restoring' ? 'restoring' : 'lost' };
  const now = readReplyTime(reply);
  const text = (index: number): string => reply[index] ?? '';
  const epoch = text(2);
  const caughtUp = text(3) === '1';
  const missing = { account: text(4) !== '1', key: text(5) !== '1' };
  if (missing.account || missing.key) return { kind: 'load', now, needs: { epoch, caughtUp, ...missing, rows: [] } };
  return {
    kind: 'read',
    state: {
      now,
      epoch,
      caughtUp,
      key: readStoredKey(text(6), account, key),
      suspended: text(7) !== 'active',
      terms: readStoredTerms(text(9), text(10)),
      termsVersion: text(8),
      loadedAt: Number(text(11)),
      session: text(12) === '0' ? null : Number(text(12)),
      rows: new Map(rows.map((row, index) => [row, valueOf(reply[FIXED + index])])),
    },
  };
}

function valueOf(text: string | undefined): number | null | undefined {
  if (text === undefined || text === '-') return undefined;
  return text === '' ? null : Number(text);
}
