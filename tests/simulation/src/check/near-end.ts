import { isHoldId, readHold, type StoredHold } from '@gateway/admission/limit-store/hold-rules.js';
import { findBucketKeys } from '@gateway/admission/limit-store/key-rules.js';
import { POSITIONS, readArgument, type ScriptArgument } from '@gateway/admission/limit-store/script-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { sessionWindowRow } from '@gateway/metering';
import type { World } from '../hosts/world.js';

const NEAR_END_SHARE = 0.05;

interface UsdWindow {
  readonly row: string;
  readonly limit: number;
}

/**
 * Checks that in the last 5 % of a USD window, a call paid by its plan begins only while the
 * running calls cannot use up the rest of the window (docs/behaviour.md#windows).
 * @param session of the admitted call, 0 for none
 */
export function checkNearEnd({ server, truth }: World, args: readonly ScriptArgument[], session: number): void {
  const account = String(readArgument('ADMIT', 'account', args));
  const id = String(readArgument('ADMIT', 'id', args));
  const keys = findBucketKeys(bucketOfAccount(account));
  const fields = server.hash(keys.accounts + account);
  const stored = Object.entries(server.hash(keys.holds + account));
  const others = stored.filter(([other]) => isHoldId(other) && other !== id).map(([, text]) => readHold(text));
  const bears = others.reduce((sum, hold) => sum + computePlanUse(hold), 0);
  for (const { row, limit } of parseUsdWindows(args, session)) {
    const left = limit - Number(fields[`v:${row}`] ?? 0) - Number(fields[`h:${row}`] ?? 0);
    if (left <= limit * NEAR_END_SHARE && bears > left)
      truth.broke('a window near its end lets one call begin', `${id}: ${bears} may use ${left} of ${row}`);
  }
}

function computePlanUse({ state, worst, walletMax }: StoredHold): number {
  return walletMax === null || (state !== 'open' && state !== 'expiring') ? 0 : worst - walletMax;
}

function parseUsdWindows(args: readonly ScriptArgument[], session: number): UsdWindow[] {
  const windowsAt = POSITIONS.ADMIT.length;
  const texts = args.slice(windowsAt, windowsAt + Number(readArgument('ADMIT', 'windows', args)));
  const windows = texts.flatMap((text) => {
    const [unit, limit, , , row = ''] = String(text).split(' ');
    return unit === 'usd' ? [{ row, limit: Number(limit) }] : [];
  });
  const ofSession = /usd (\d+)/.exec(String(readArgument('ADMIT', 'session', args)));
  if (ofSession === null) return windows;
  return [...windows, { row: sessionWindowRow('usd', session), limit: Number(ofSession[1]) }];
}
