import { bucketOfAccount } from '@gateway/contracts/ids';
import type { AnswerBodyOf, admissionHeld } from '@gateway/contracts/messages';
import { type HoldTemplate, readTemplate } from '../limit-store/hold-template-rules.js';
import { type StoredHold, isHoldId, readHold } from '../limit-store/hold-rules.js';
import { buildHeldCall, readHeldReply } from './read-script.js';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { AdmissionFault, type LimitStore, type Ports } from '../ports.js';

/** The Redis data of one account. Amounts in nano-USD, counts in calls. */
export interface AccountDump {
  readonly loadedUnder: string | null;
  readonly slots: number;
  /** Held sums by balance name, rounded if inexact; `session:<start>` counts a session's holds. */
  readonly held: Readonly<Record<string, number>>;
  /** Settled balances. Null: never written. */
  readonly rows: Readonly<Record<string, { readonly value: number | null; readonly version: number }>>;
  readonly session: number | null;
  readonly holds: readonly { readonly id: string; readonly hold: StoredHold; readonly template: HoldTemplate | null }[];
  /** Stored number of holds for each template. */
  readonly templates: Readonly<Record<string, number>>;
  /** Size of the largest field of each state, in bytes, for the bound in docs/protocol.md#r14. */
  readonly bytesOf: Readonly<Record<string, number>>;
}

export async function readAccount(limitStore: LimitStore, account: string): Promise<AccountDump> {
  const keys = findBucketKeys(bucketOfAccount(account));
  const [fields, stored] = await limitStore.dump(keys.accounts + account, keys.holds + account);
  const withPrefix = (prefix: string): [string, string][] =>
    Object.entries(fields).flatMap(([field, value]) =>
      field.startsWith(prefix) ? [[field.slice(prefix.length), value] as [string, string]] : [],
    );
  const numbers = (prefix: string) =>
    Object.fromEntries(withPrefix(prefix).map(([name, value]) => [name, Number(value)]));
  const bytesOf: Record<string, number> = {};
  const holds = Object.entries(stored).flatMap(([id, text]) => {
    if (!isHoldId(id)) return [];
    const hold = readHold(text);
    const template = stored[`s:${hold.template}`];
    bytesOf[hold.state] = Math.max(bytesOf[hold.state] ?? 0, text.length);
    return [{ id, hold, template: template === undefined ? null : readTemplate(template) }];
  });
  return {
    loadedUnder: fields['t'] ?? null,
    slots: Number(fields['n'] ?? 0),
    held: numbers('h:'),
    rows: Object.fromEntries(
      withPrefix('v:').map(([name, value]) => [
        name,
        { value: value === '' ? null : Number(value), version: Number(fields[`u:${name}`] ?? 0) },
      ]),
    ),
    session: fields['ss'] === undefined ? null : Number(fields['ss']),
    holds,
    templates: numbers('c:'),
    bytesOf,
  };
}

/**
 * Returns the slots and the nano-USD of the wallet that an account's running calls hold.
 * @throws AdmissionFault while its bucket is not open, because its calls may be incomplete
 */
export async function readHeld(
  { limitStore }: Pick<Ports, 'limitStore'>,
  account: string,
  noticeLoss: (bucket: number) => void,
): Promise<AnswerBodyOf<typeof admissionHeld>> {
  const bucket = bucketOfAccount(account);
  const [reply] = await limitStore.run([buildHeldCall(findBucketKeys(bucket), account)]);
  if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
  const held = readHeldReply(reply);
  if (held !== null) return held;
  noticeLoss(bucket);
  throw new AdmissionFault('admission_error', `the bucket ${bucket} is ${reply[0]}`);
}
