// Tests the order of refusals over HTTP (docs/behaviour.md#order-of-refusals). services/admission
// tests it pair by pair. `anthropic_protocol_disabled` needs another deployment, so
// services/edge-proxy tests it.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REFUSAL, REFUSAL_RANKS } from '@gateway/contracts/errors';
import { jsonOf } from '../../test/contract-call.js';
import { arrangeOrder } from '../../test/contract-order.js';
import type { OrderScene } from '../../test/contract-order.js';
import { startContractWorld } from '../../test/contract-world.js';
import type { ContractSystem } from '../../test/contract-world.js';

/** A minute may end between two calls. At least two of three calls are in one minute. */
const CALLS_IN_A_MINUTE = 3;
/** The last rank that applies to count_tokens too. */
const LAST_RANK_OF_COUNT_TOKENS = REFUSAL.tier_permission_denied;

let world: ContractSystem;
beforeAll(async () => {
  world = await startContractWorld();
});
afterAll(async () => {
  await world?.stop();
});

const SCENES = [
  ['plan', 'chat'],
  ['wallet', 'messages'],
] as const;
const provenRanks = new Set<number>();

test.each(SCENES)('each call is refused by its lowest rank (paid by the %s, %s style)', async (funding, style) => {
  const scene = await arrangeOrder(world, funding, style);
  const answers: string[] = [];
  for (const { rank, code, repair } of scene.steps) {
    answers.push(`${rank} ${await codeOf(scene, code)}`);
    if (rank > LAST_RANK_OF_COUNT_TOKENS) expect([rank, (await scene.count()).status]).toEqual([rank, 200]);
    await repair();
    provenRanks.add(rank);
  }
  expect(answers).toEqual(scene.steps.map(({ rank, code }) => `${rank} ${code}`));
  expect((await scene.call()).status).toBe(200);
});

test('every rank of the order was tested', () => {
  const ranks = REFUSAL_RANKS.map(({ rank }) => rank).filter((rank) => rank !== REFUSAL.anthropic_protocol_disabled);
  expect([...provenRanks].sort((one, other) => one - other)).toEqual(ranks);
});

async function codeOf(scene: OrderScene, expected: string): Promise<string> {
  let code = '';
  for (let n = 0; n < CALLS_IN_A_MINUTE; n += 1) {
    const answer = await scene.call();
    code = answer.status === 200 ? 'answered' : (jsonOf(answer)['error'] as { code: string }).code;
    if (expected !== 'rate_limited' || code === expected) return code;
  }
  return code;
}
