import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SHORT_DURATIONS, startOwnSystem } from '../test/own-system.js';
import type { OwnSystem } from '../test/own-system.js';
import { newSeed, random } from '../test/random.js';
import { GateLossProof } from './prove/gate-loss.js';
import { LOSSES } from './prove/lose-gate.js';

const SEED = newSeed();
/** Redis is back: everybody is served within this time on a busy machine. Rule 12 gives a silent edge 12 s. */
const SERVED_MS_MAX = 20_000;

let system: OwnSystem;
let proof: GateLossProof;
beforeAll(async () => {
  system = await startOwnSystem('gate-loss', SHORT_DURATIONS);
  proof = await GateLossProof.begin(system);
}, 60_000);
afterAll(async () => {
  await proof?.end();
  await system?.stop();
}, 60_000);

const next = random(SEED);

test.each(LOSSES)(
  `redis is %s under load: only 500s until it is right again, nothing of a held wallet is spent twice, the ledger is exact (seed ${SEED})`,
  async (loss) => {
    const figures = await proof.lose(loss, next);
    expect(figures.differences).toEqual([]);
    expect(figures.servedMs).toBeLessThan(SERVED_MS_MAX);
    expect(figures.admitted).toBe(figures.settled);
  },
  150_000,
);
