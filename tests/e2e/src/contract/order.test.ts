// Tests the order of refusals over HTTP (docs/behaviour.md#order-of-refusals). services/admission
// tests it pair by pair. `anthropic_protocol_disabled` needs another deployment, so
// services/edge-proxy tests it.
import { afterAll, expect, test } from '@jest/globals';
import { REFUSAL_CODES, isBefore } from '@gateway/contracts/errors';
import { jsonOf } from '../../test/contract-call.js';
import { arrangeOrder } from '../../test/contract-order.js';
import type { OrderScene } from '../../test/contract-order.js';
import { startContractWorld } from '../../test/contract-world.js';

/** A minute may end between two calls. At least two of three calls are in one minute. */
const CALLS_IN_A_MINUTE = 3;
/** The last refusal that applies to count_tokens too. */
const LAST_OF_COUNT_TOKENS = 'tier_permission_denied';
/** Not arranged here: one needs another deployment, the others need another key or account. */
const NOT_ARRANGED: readonly string[] = ['anthropic_protocol_disabled', 'key_expired', 'account_suspended'];

const world = await startContractWorld();
afterAll(() => world.stop());

const SCENES = [
  ['plan', 'chat'],
  ['wallet', 'messages'],
] as const;
const testedCodes = new Set<string>();

test.each(SCENES)('each call gets its first refusal (paid by the %s, %s style)', async (funding, style) => {
  const scene = await arrangeOrder(world, funding, style);
  const answers: string[] = [];
  for (const { code, repair } of scene.steps) {
    answers.push(await codeOf(scene, code));
    if (isBefore(LAST_OF_COUNT_TOKENS, code)) expect([code, (await scene.count()).status]).toEqual([code, 200]);
    await repair();
    testedCodes.add(code);
  }
  expect(answers).toEqual(scene.steps.map(({ code }) => code));
  expect((await scene.call()).status).toBe(200);
});

test('every refusal of the order was tested', () => {
  expect(REFUSAL_CODES.filter((code) => !testedCodes.has(code))).toEqual(NOT_ARRANGED);
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
