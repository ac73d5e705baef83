import type { AccountRecord, BalanceSnapshot, KeyRecord, MemberRecord } from '@gateway/contracts/messages';
import { type ScriptCall, inOrder } from '../limit-store/script-rules.js';
import { type BucketKeys, accountKeys } from '../limit-store/key-rules.js';
import { storeKey, storeTerms } from '../limit-store/stored-records-rules.js';

/** What the owners say of one account, as far as they said anything. */
export interface AccountUpdate {
  readonly account: string;
  readonly incarnation?: string;
  readonly record?: AccountRecord;
  readonly standing?: BalanceSnapshot;
  readonly members?: readonly MemberRecord[];
  readonly keyRecords?: readonly KeyRecord[];
}

/** Under which token something was asked for, and when (Redis time, ms). */
export interface LoadStamp {
  readonly token: string;
  readonly startedAt: number;
  /** Account record and balance snapshot are both here: the account counts as loaded. */
  readonly complete: boolean;
  /**
   * The account's version that was read: what has this or a lower one was settled before. Null:
   * billing was not asked.
   */
  readonly version: number | null;
  /** Billing has settled all that was stored before the load began. */
  readonly caughtUp: boolean;
}

/**
 * Returns what an account keeps of the ledger epoch under which it was loaded: the 12 hexadecimal
 * digits of the time in its UUIDv7. The greater one is later (docs/protocol.md#r17).
 */
export function ledgerEpochMark(ledgerEpoch: string): string {
  return ledgerEpoch.slice(0, 8) + ledgerEpoch.slice(9, 13);
}

/** Two epochs are taken for one by chance in one of so many cases. */
const EPOCH_PARTS = 1_000_003;

/**
 * Processes compare the versions of the terms that they know as texts: another epoch of the ledger
 * may count a version again that was lost with other terms (docs/protocol.md#r17). As a number it
 * is the version still, and a little more. That of no terms is the same in every epoch.
 */
function termsVersionMark(version: number, epochMark: string): string {
  if (version === 0 || epochMark === '') return String(version);
  return `${version}.0${Buffer.from(epochMark).reduce((sum, byte) => (sum * 31 + byte) % EPOCH_PARTS, 0)}`;
}

/** The version in what {@link termsVersionMark} made. */
export function versionOfTermsMark(mark: string): number {
  return Math.floor(Number(mark));
}

/** Writes what is newer, then ends the holds of closed ids. */
export function applyCall(keys: BucketKeys, update: AccountUpdate, load: LoadStamp | null): ScriptCall {
  const { standing: snapshot, record, members = [], keyRecords = [] } = update;
  const rows = snapshot?.rows ?? [];
  const closed = snapshot?.closed ?? [];
  const terms = snapshot?.terms && storeTerms(snapshot.terms.value);
  const ledgerEpoch = update.incarnation === undefined ? '' : ledgerEpochMark(update.incarnation);
  return {
    script: 'apply',
    keys: [...accountKeys(keys, update.account), keys.keyRecords, keys.texts],
    args: [
      ...inOrder('APPLY', {
        account: update.account,
        ledgerEpoch,
        loadToken: load?.token ?? '',
        loadStart: load?.startedAt ?? 0,
        isComplete: load?.complete ? '1' : '0',
        caughtUp: load?.caughtUp ? '1' : '0',
        accountVersion: load?.version ?? '',
        accountState: record?.state ?? '',
        stateVersion: record?.version ?? '',
        termsVersion: snapshot?.terms ? termsVersionMark(snapshot.terms.version, ledgerEpoch) : '',
        textId: terms?.id ?? '',
        text: terms?.text ?? '',
        periods: terms?.period ?? '',
        rows: rows.length,
        members: members.length,
        keys: keyRecords.length,
        closed: closed.length,
      }),
      ...rows.flatMap(({ name, value, version }) => inOrder('RECORD', { name, content: value ?? '', version })),
      ...members.flatMap(({ member, capNanoUsd, version }) =>
        inOrder('RECORD', { name: member, content: capNanoUsd ?? '', version }),
      ),
      ...keyRecords.flatMap((key) =>
        inOrder('RECORD', { name: key.key, content: storeKey(key), version: key.version }),
      ),
      ...closed,
    ],
  };
}
