import { type HoldTemplate, readTemplate } from '../limit-store/hold-template-rules.js';
import { type StoredHold, readHold } from '../limit-store/hold-rules.js';
import { type ScriptCall, type ScriptReply, toArguments } from '../limit-store/script-rules.js';
import { type BucketKeys, listAccountKeys, listBucketKeys } from '../limit-store/key-rules.js';

/** Start cursor of a bucket's scan, also returned by the last step. */
export const SCAN_BEGIN = '0';

/** A call that has not ended. */
export interface RunningHold {
  readonly account: string;
  readonly id: string;
  readonly hold: StoredHold;
  readonly template: HoldTemplate;
}

export interface ListStep {
  /** {@link SCAN_BEGIN} after the last step. */
  readonly next: string;
  readonly holds: readonly RunningHold[];
}

/**
 * Builds one step of a scan.
 * @param pattern of `<account>|<id>`, with `*` for any text
 * @param entriesMax approximate number of entries to scan, in any state and of any account
 */
export function buildListCall(keys: BucketKeys, scan: string, pattern: string, entriesMax: number): ScriptCall {
  const args = toArguments('LIST', { holds: keys.holds, cursor: scan, pattern, entriesMax });
  return { script: 'list', keys: listBucketKeys(keys), args };
}

/** Returns null unless the bucket is open. */
export function readListReply(reply: ScriptReply): ListStep | null {
  if (reply[0] !== 'open') return null;
  const holds: RunningHold[] = [];
  for (let at = 4; at + 3 < reply.length; at += 4) {
    const [account = '', id = '', hold = '', template = ''] = reply.slice(at, at + 4);
    holds.push({ account, id, hold: readHold(hold), template: readTemplate(template) });
  }
  return { next: reply[3] ?? SCAN_BEGIN, holds };
}

export function buildTakeCall(keys: BucketKeys, account: string, id: string): ScriptCall {
  return { script: 'take', keys: listAccountKeys(keys, account), args: toArguments('TAKE', { account, id }) };
}
