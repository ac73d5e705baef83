import type { HoldFields } from '@gateway/contracts/messages';
import type { BucketKeys } from './store-keys.js';
import { holdNumbers } from './hold.js';
import type { ScriptCall } from './script-call.js';
import { templateOfHold, storeTemplate } from './hold-template.js';

/** The end of a call whose hold its edge knows. */
export interface KnownRelease {
  readonly id: string;
  readonly hold: HoldFields;
  readonly tag: string;
  readonly outcome: 'ok' | 'void';
  readonly amountNanoUsd: number;
}

/**
 * The script of a release, for a hold that is probably there. The order of the arguments is the one
 * of `lua/release.lua`.
 * @param idTime epoch ms inside the id
 */
export function releaseCall(keys: BucketKeys, release: KnownRelease, idTime: number): ScriptCall {
  const { id, hold, tag, outcome, amountNanoUsd } = release;
  return call(keys, hold.account, [id, idTime, outcome, amountNanoUsd, tag]);
}

/** The same with all that creates the hold anew, for a script that asked for it. */
export function creatingReleaseCall(keys: BucketKeys, release: KnownRelease, idTime: number): ScriptCall {
  const { script, keys: names, args } = releaseCall(keys, release, idTime);
  const template = storeTemplate(templateOfHold(release.hold, null));
  return { script, keys: names, args: [...args, ...holdNumbers(release.hold), template.id, template.text] };
}

/** Voids an admission whose answer never came: only the id and the account are known. */
export function blindReleaseCall(keys: BucketKeys, account: string, id: string, idTime: number): ScriptCall {
  return call(keys, account, [id, idTime, 'void', 0, '']);
}

function call(keys: BucketKeys, account: string, args: (string | number)[]): ScriptCall {
  return {
    script: 'release',
    keys: [keys.token, keys.due, keys.accounts + account, keys.holds + account],
    args: [account, ...args],
  };
}
