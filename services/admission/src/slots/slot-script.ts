import { type HoldTemplate, readTemplate } from '../limit-store/hold-template-rules.js';
import { type StoredHold, readHold } from '../limit-store/hold-rules.js';
import { type ScriptCall, type ScriptReply, inOrder } from '../limit-store/script-rules.js';
import { type BucketKeys, accountKeys, ownKeys } from '../limit-store/key-rules.js';

/** Where a scan of a bucket begins, and how a step says that it was the last. */
export const SCAN_BEGIN = '0';

/** A call that has not ended. */
export interface RunningHold {
  readonly account: string;
  readonly id: string;
  readonly hold: StoredHold;
  readonly template: HoldTemplate;
}

export interface ListStep {
  /** {@link SCAN_BEGIN}: the bucket has been seen. */
  readonly next: string;
  readonly holds: readonly RunningHold[];
}

/**
 * One step of a scan.
 * @param pattern of `<account>|<id>`, with `*` for any text
 * @param entriesMax about so many entries are looked at, of whatever state and account
 */
export function listCall(keys: BucketKeys, scan: string, pattern: string, entriesMax: number): ScriptCall {
  const args = inOrder('LIST', { holds: keys.holds, cursor: scan, pattern, entriesMax });
  return { script: 'list', keys: ownKeys(keys), args };
}

/** Null unless the bucket is open. */
export function readListReply(reply: ScriptReply): ListStep | null {
  if (reply[0] !== 'open') return null;
  const holds: RunningHold[] = [];
  for (let at = 4; at + 3 < reply.length; at += 4) {
    const [account = '', id = '', hold = '', template = ''] = reply.slice(at, at + 4);
    holds.push({ account, id, hold: readHold(hold), template: readTemplate(template) });
  }
  return { next: reply[3] ?? SCAN_BEGIN, holds };
}

export function takeCall(keys: BucketKeys, account: string, id: string): ScriptCall {
  return {
    script: 'take',
    keys: accountKeys(keys, account),
    args: inOrder('TAKE', { account, id }),
  };
}
