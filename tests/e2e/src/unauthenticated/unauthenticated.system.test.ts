import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { attackInTurn } from './unauthenticated.js';
import { startAttackedSystem, type AttackedSystem } from './attacked-system.js';
import { ATTACK_KINDS } from './attacks.js';
import { judgeAttacks } from './judge-attacks.js';

/** `npm run verify:faults -- unauthenticated` runs for an hour. */
const BOUNDS = { seconds: 4, connectionsMax: 3_000 };
/** Low, because a busy machine sends fewer than fifty requests per second. */
const VALID_CALLS_MIN = 20;

describe('unauthenticated clients', () => {
  let system: AttackedSystem;
  beforeAll(async () => {
    system = await startAttackedSystem('unauthenticated');
  }, 120_000);
  afterAll(() => system?.end(), 60_000);

  test.each(ATTACK_KINDS)(
    '%s: no valid request and no page is refused',
    async (kind) => {
      const seen = await attackInTurn(system, [kind], BOUNDS);
      expect(judgeAttacks(seen)).toEqual([]);
      expect(seen.attacks[0]?.valid.calls.sent).toBeGreaterThan(VALID_CALLS_MIN);
    },
    90_000,
  );
});
