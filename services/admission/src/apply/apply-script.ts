import type { AccountRecord, BalanceSnapshot, KeyRecord, MemberRecord } from '@gateway/contracts/messages';
import { type ScriptCall, toArguments } from '../limit-store/script-rules.js';
import { type BucketKeys, listAccountKeys } from '../limit-store/key-rules.js';
import { storeKey, storeTerms } from '../limit-store/stored-records-rules.js';

/** Changes to one account that its owners have sent. */
export interface AccountUpdate {
  readonly account: string;
  readonly ledgerEpoch?: string;
  readonly record?: AccountRecord;
  readonly snapshot?: BalanceSnapshot;
  readonly members?: readonly MemberRecord[];
  readonly keyRecords?: readonly KeyRecord[];
  /** Whether nothing is written if an older snapshot of the account is still to come. */
  readonly mayWait?: boolean;
}

/** Epoch and start of a load (Redis time, ms). */
export interface LoadStamp {
  readonly epoch: string;
  readonly startedAt: number;
  /**
   * Whether both the account record and the balance snapshot are present, so that the account
   * counts as loaded.
   */
  readonly complete: boolean;
  /**
   * The version of the account that was read. Changes with this or a lower version were settled
   * before. Null: billing was not queried.
   */
  readonly version: number | null;
  /** Whether billing had settled all stored events before the load began. */
  readonly caughtUp: boolean;
}

/**
 * Returns what an account keeps of the ledger epoch under which it was loaded: the 12 hexadecimal
 * digits of the time in its UUIDv7. The greater one is later (docs/protocol.md#r17).
 */
export function computeLedgerEpochSuffix(ledgerEpoch: string): string {
  return ledgerEpoch.slice(0, 8) + ledgerEpoch.slice(9, 13);
}

/** Two epochs get the same number by chance in one of this many cases. */
const EPOCH_PARTS = 1_000_003;

/**
 * Processes compare versions of terms as text. Another ledger epoch may reuse a version number with
 * different terms (docs/protocol.md#r17), so a number derived from the epoch is appended as a
 * fraction. The version of missing terms is the same in every epoch.
 */
function formatTermsVersion(version: number, epochMark: string): string {
  if (version === 0 || epochMark === '') return String(version);
  return `${version}.0${Buffer.from(epochMark).reduce((sum, byte) => (sum * 31 + byte) % EPOCH_PARTS, 0)}`;
}

/** Extracts the version from a text that {@link formatTermsVersion} built. */
export function parseTermsVersion(mark: string): number {
  return Math.floor(Number(mark));
}

/** Builds the script that writes newer values, then ends the holds of closed IDs. */
export function buildApplyCall(keys: BucketKeys, update: AccountUpdate, load: LoadStamp | null): ScriptCall {
  const { snapshot, record, members = [], keyRecords = [] } = update;
  const rows = snapshot?.rows ?? [];
  const closed = snapshot?.closed ?? [];
  const terms = snapshot?.terms && storeTerms(snapshot.terms.value);
  const ledgerEpoch = update.ledgerEpoch === undefined ? '' : computeLedgerEpochSuffix(update.ledgerEpoch);
  return {
    script: 'apply',
    keys: [...listAccountKeys(keys, update.account), keys.keyRecords, keys.texts],
    args: [
      ...toArguments('APPLY', {
        account: update.account,
        ledgerEpoch,
        loadEpoch: load?.epoch ?? '',
        loadStart: load?.startedAt ?? 0,
        isComplete: load?.complete ? '1' : '0',
        caughtUp: load?.caughtUp ? '1' : '0',
        accountVersion: load?.version ?? '',
        accountState: record?.state ?? '',
        stateVersion: record?.version ?? '',
        termsVersion: snapshot?.terms ? formatTermsVersion(snapshot.terms.version, ledgerEpoch) : '',
        textId: terms?.id ?? '',
        text: terms?.text ?? '',
        periods: terms?.period ?? '',
        mayWait: update.mayWait ? '1' : '',
        rows: rows.length,
        members: members.length,
        keys: keyRecords.length,
        closed: closed.length,
      }),
      ...rows.flatMap(({ name, value, version }) => toArguments('RECORD', { name, content: value ?? '', version })),
      ...members.flatMap(({ member, capNanoUsd, version }) =>
        toArguments('RECORD', { name: member, content: capNanoUsd ?? '', version }),
      ),
      ...keyRecords.flatMap((key) =>
        toArguments('RECORD', { name: key.key, content: storeKey(key), version: key.version }),
      ),
      ...closed,
    ],
  };
}
