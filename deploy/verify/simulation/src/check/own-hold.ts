import { REFUSAL } from '@gateway/contracts/errors';
import type { World } from '../hosts/world.js';
import type { CallTruth } from './call-truth.js';
import type { Refused } from './truth.js';

/**
 * Checks that a client's own ended calls do not cause a refusal (docs/protocol.md#r4). If a call is
 * refused for lack of a slot, at least as many other calls of its account were running as there are
 * slots. If it is refused for lack of money, the wallet less the charges does not cover it. Applies
 * only if clients call one at a time and nothing goes wrong: a lost release keeps its slot for a
 * while.
 */
export function ownHold(world: World, call: CallTruth, { row, facts }: Refused): void {
  const { truth, scenario } = world;
  if (scenario.faults.length > 0 || scenario.acts.some(({ kind }) => kind !== 'series')) return;
  const others = truth.calls.filter((other) => other !== call && other.account === call.account);
  const running = others.filter(({ client }) => (client.seen.endedAt ?? Infinity) > call.client.begunAt);
  if (row === REFUSAL.concurrency_limit && running.length < (facts.limit ?? 0))
    truth.broke(
      'no client is refused for its own slot',
      `${call.id}: ${running.length} others run, ${facts.limit} slots`,
    );
  if (row !== REFUSAL.insufficient_credits || running.length > 0) return;
  const charged = others.reduce((sum, { event }) => sum + (event?.amountNanoUsd ?? 0), 0);
  const funds = truth.entries.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
  if (funds - charged >= (facts.worst ?? 0))
    truth.broke(
      'no client is refused for its own worst case',
      `${call.id}: ${funds} less ${charged} for ${facts.worst}`,
    );
}
