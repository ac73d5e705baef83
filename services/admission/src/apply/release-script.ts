import type { HoldFields } from '@gateway/contracts/messages';
import { storeTemplate, toTemplate } from '../limit-store/hold-template-rules.js';
import { toHoldNumbers } from '../limit-store/hold-rules.js';
import { type ScriptArgument, type ScriptCall, toArguments } from '../limit-store/script-rules.js';
import { type BucketKeys, listAccountKeys } from '../limit-store/key-rules.js';

/** A release with the call's hold. */
export interface HeldRelease {
  readonly id: string;
  readonly hold: HoldFields;
  readonly callEpoch: string;
  readonly outcome: 'ok' | 'void';
  readonly amountNanoUsd: number;
}

/**
 * Builds the script of a release, for a hold that probably exists.
 * @param idTime epoch ms inside the id
 */
export function buildReleaseCall(keys: BucketKeys, release: HeldRelease, idTime: number): ScriptCall {
  return callOf(keys, release.hold.account, endOf(release, idTime));
}

/**
 * Builds the same script with all data to create the hold again, for a script that requested it.
 */
export function buildCreatingReleaseCall(keys: BucketKeys, release: HeldRelease, idTime: number): ScriptCall {
  const { hold } = release;
  const template = storeTemplate(toTemplate(hold, null));
  const made = toArguments('RELEASE_HOLD', { ...toHoldNumbers(hold), shape: template.id, shapeText: template.text });
  return callOf(keys, hold.account, [...endOf(release, idTime), ...made]);
}

/** Builds the script that voids an admission without an answer, from only its ID and account. */
export function buildBlindReleaseCall(keys: BucketKeys, account: string, id: string, idTime: number): ScriptCall {
  const args = { account, id, idTime, outcome: 'void', amount: 0, callEpoch: '' };
  return callOf(keys, account, toArguments('RELEASE', args));
}

function endOf({ id, hold, callEpoch, outcome, amountNanoUsd: amount }: HeldRelease, idTime: number): ScriptArgument[] {
  return toArguments('RELEASE', { account: hold.account, id, idTime, outcome, amount, callEpoch });
}

function callOf(keys: BucketKeys, account: string, args: readonly ScriptArgument[]): ScriptCall {
  return { script: 'release', keys: listAccountKeys(keys, account), args };
}
