import type { BodyOf, billingUnchanged } from '@gateway/contracts/messages';
import { computeLedgerEpochSuffix, parseTermsVersion } from '../apply/apply-script.js';
import {
  POSITIONS,
  type ScriptCall,
  type ScriptReply,
  toArguments,
  readReplyTime,
} from '../limit-store/script-rules.js';
import { findBucketKeys, listBucketKeys } from '../limit-store/key-rules.js';
import { type StoredVersions, readStoredVersions } from '../limit-store/stored-records-rules.js';

/** Data of one account in a request to billing. */
export type KeptBalances = BodyOf<typeof billingUnchanged>['accounts'][number];

/** An account that the limit store kept through a loss of its epoch. */
export interface KeptAccount {
  readonly account: string;
  readonly summary: string;
  readonly balances: KeptBalances;
  readonly records: StoredVersions;
}

/** Accounts of one bucket, as returned by one script. */
export interface KeptGroup {
  readonly bucket: number;
  readonly epoch: string;
  /** Redis time of the summaries, ms. */
  readonly startedAt: number;
  readonly kept: readonly KeptAccount[];
  /** Number of accounts with too many parts. */
  readonly large: number;
}

const REPLY_FIXED = 3;
const LARGE = '-';

export function buildSummaryCall(bucket: number, accounts: readonly string[]): ScriptCall {
  return { script: 'summary', keys: keysOf(bucket, accounts), args: [] };
}

/** Returns null if the bucket was lost again. */
export function readSummaryReply(bucket: number, accounts: readonly string[], reply: ScriptReply): KeptGroup | null {
  if (reply[0] !== 'open') return null;
  const summaries = reply.slice(REPLY_FIXED);
  return {
    bucket,
    epoch: reply[2] ?? '',
    startedAt: readReplyTime(reply),
    kept: accounts.flatMap((account, index) => {
      const summary = summaries[index] ?? '';
      return summary === '' || summary === LARGE ? [] : [readSummary(account, summary)];
    }),
    large: summaries.filter((summary) => summary === LARGE).length,
  };
}

function readSummary(account: string, summary: string): KeptAccount {
  const lines = summary.split('\n');
  const [, stateVersion, termsVersion] = lines;
  const fields: [string, string][] = [];
  for (let at = POSITIONS.SUMMARY.length; at + 1 < lines.length; at += POSITIONS.SUMMARY_PART.length)
    fields.push([lines[at] ?? '', lines[at + 1] ?? '']);
  const rows = fields.filter(([field]) => field.startsWith('u:'));
  return {
    account,
    summary,
    balances: {
      account,
      termsVersion: parseTermsVersion(termsVersion ?? ''),
      rows: rows.map(([field, version]) => ({ name: field.slice(2), version: Number(version) })),
    },
    records: readStoredVersions(account, Number(stateVersion), fields),
  };
}

/** @param versions of the confirmed accounts, in the snapshot that billing has read */
export function buildConfirmCall(
  { bucket, epoch, startedAt, kept }: KeptGroup,
  ledgerEpoch: string,
  versions: ReadonlyMap<string, number>,
): ScriptCall {
  const confirmed = kept.filter(({ account }) => versions.has(account));
  return {
    script: 'confirm',
    keys: keysOf(
      bucket,
      confirmed.map(({ account }) => account),
    ),
    args: [
      ...toArguments('CONFIRM', {
        loadEpoch: epoch,
        loadStart: startedAt,
        ledgerEpoch: computeLedgerEpochSuffix(ledgerEpoch),
      }),
      ...confirmed.flatMap(({ account, summary }) =>
        toArguments('CONFIRM_ACCOUNT', { version: versions.get(account) ?? 0, summary }),
      ),
    ],
  };
}

/**
 * Returns how many accounts a reply confirms and how many it does not. Null if it came too late.
 */
export function readConfirmReply(reply: ScriptReply): { confirmed: number; changed: number } | null {
  if (reply[0] !== 'open') return null;
  const confirmed = reply.filter((text) => text === 'confirmed').length;
  return { confirmed, changed: reply.length - 2 - confirmed };
}

function keysOf(bucket: number, accounts: readonly string[]): string[] {
  const keys = findBucketKeys(bucket);
  return [...listBucketKeys(keys), ...accounts.map((account) => keys.accounts + account)];
}
