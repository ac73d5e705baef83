import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { attackInTurn } from './strangers/attack-in-turn.js';
import { judgeStrangers } from './strangers/judge-strangers.js';
import { ATTACK_KINDS } from './strangers/kinds.js';
import { StrangersWorld } from './strangers/strangers-world.js';

/** `npm run prove:strangers` runs for an hour, and once more behind a trusted hop. */
const SECONDS_EACH = 4;
const CONNECTIONS_MAX = 3_000;
/** Low, because a busy machine sends fewer than fifty requests per second. */
const GOOD_CALLS_MIN = 20;

describe('unauthenticated clients', () => {
  let world: StrangersWorld;
  beforeAll(async () => {
    world = await StrangersWorld.begin({ name: 'strangers', hops: 0 });
  }, 120_000);
  afterAll(() => world?.end(), 60_000);

  test.each(ATTACK_KINDS)(
    '%s: no valid request and no page is refused',
    async (kind) => {
      const bounds = { kinds: [kind], secondsEach: SECONDS_EACH, connectionsMax: CONNECTIONS_MAX };
      const seen = await attackInTurn(world, bounds);
      expect(judgeStrangers(seen)).toEqual([]);
      expect(seen.attacks[0]?.good.calls.asked).toBeGreaterThan(GOOD_CALLS_MIN);
    },
    90_000,
  );
});
