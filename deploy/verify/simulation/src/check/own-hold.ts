import { REFUSAL } from '@gateway/contracts/errors';
import type { World } from '../hosts/world.js';
import type { CallTruth } from './call-truth.js';
import type { Refused } from './truth.js';

/**
 * No refusal is a client's own making (docs/protocol.md#r4): whoever is refused for want of a slot
 * shares its account with as many calls that had not ended when it asked, and whoever is refused
 * for want of money lacks it when nothing but what was charged is counted. Checked where clients
 * call in turn and nothing goes wrong: a release that is lost takes its slot along for a while.
 */
export function ownHold(world: World, call: CallTruth, { row, facts }: Refused): void {
  const { truth, scenario } = world;
  if (scenario.faults.length > 0 || scenario.acts.some(({ kind }) => kind !== 'series')) return;
  const others = truth.calls.filter((other) => other !== call && other.account === call.account);
  const running = others.filter(({ client }) => (client.seen.endedAt ?? Infinity) > call.client.begunAt);
  if (row === REFUSAL.concurrency_limit && running.length < (facts.limit ?? 0))
    truth.broke('no client meets its own slot', `${call.id}: ${running.length} others run, ${facts.limit} slots`);
  if (row !== REFUSAL.insufficient_credits || running.length > 0) return;
  const charged = others.reduce((sum, { event }) => sum + (event?.amountNanoUsd ?? 0), 0);
  const funds = truth.entries.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
  if (funds - charged >= (facts.worst ?? 0))
    truth.broke('no client meets its own worst case', `${call.id}: ${funds} less ${charged} for ${facts.worst}`);
}
