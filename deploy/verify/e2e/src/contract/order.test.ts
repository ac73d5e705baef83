// The order of refusals over HTTP (docs/behaviour.md#order-of-refusals). Pair by pair on
// admission alone: services/admission. Row 2 has a deployment of its own: services/edge-proxy.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REFUSAL_ROWS } from '@gateway/contracts/errors';
import { jsonOf } from '../../test/contract-call.js';
import { arrangeOrder } from '../../test/contract-order.js';
import type { OrderScene } from '../../test/contract-order.js';
import { startContractWorld } from '../../test/contract-world.js';
import type { ContractWorld } from '../../test/contract-world.js';

/** A minute may end between two calls: of three, two lie in one. */
const CALLS_IN_A_MINUTE = 3;
/** Rows that hold for count_tokens too. */
const LAST_ROW_OF_COUNT_TOKENS = 17;

let world: ContractWorld;
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
const provenRows = new Set<number>();

test.each(SCENES)(
  'of everything that is wrong with a call the lowest row answers, repair by repair (paid by the %s, %s style)',
  async (funding, style) => {
    const scene = await arrangeOrder(world, funding, style);
    const answers: string[] = [];
    for (const { row, code, repair } of scene.steps) {
      answers.push(`${row} ${await codeOf(scene, code)}`);
      if (row > LAST_ROW_OF_COUNT_TOKENS) expect([row, (await scene.count()).status]).toEqual([row, 200]);
      await repair();
      provenRows.add(row);
    }
    expect(answers).toEqual(scene.steps.map(({ row, code }) => `${row} ${code}`));
    expect((await scene.call()).status).toBe(200);
  },
);

test('every row of the order was broken and answered', () => {
  const rows = REFUSAL_ROWS.map(({ row }) => row).filter((row) => row !== 2);
  expect([...provenRows].sort((one, other) => one - other)).toEqual(rows);
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
