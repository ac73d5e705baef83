import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ADMISSION_REFUSAL_CODES } from '@gateway/contracts/errors';
import { startTestRedis } from '@gateway/testkit';
import { FrozenRedis } from '../../test/model/frozen-limit-store.js';
import { STEPS, answersSeen, playSequences, replayFrom } from '../../test/model/play-sequences.js';
import { OneServer } from '../../test/model/wires.js';

/** Sequences of a normal run. `npm run verify:model` plays more. */
const SEQUENCES = Number(process.env['GATEWAY_VERIFY_MODEL_SEQUENCES'] ?? 1_000);
const TIMEOUT_MS = 240_000 + SEQUENCES * 200;
const REPLAY = replayFrom(process.env);

/** Outcomes that a run of many sequences must reach, in addition to every refusal. */
const PAID = ['wallet', 'plan', 'both'];
const OTHERS = ['counted', 'opened', 'gone', 'admission_error', 'lookup_failed'];
const SEQUENCES_MANY = 1_000;

let redis: FrozenRedis;
let stop: () => Promise<void>;

beforeAll(async () => {
  // It is busy for minutes.
  const server = await startTestRedis({ own: true });
  redis = new FrozenRedis(new OneServer(server.server.url));
  await redis.open();
  stop = () => server.stop();
});
afterAll(async () => {
  redis.close();
  await stop();
});

// Covers r2; r13
test(
  `script and model agree after each step, seed ${REPLAY.seed}`,
  async () => {
    const played = await playSequences(redis, SEQUENCES, REPLAY);
    if (REPLAY.limitMs < Infinity) process.stdout.write(`${played} sequences, seed ${REPLAY.seed}, no difference\n`);
    if (REPLAY.path !== undefined || played < SEQUENCES_MANY) return;
    if (REPLAY.limitMs === Infinity) expect(played).toBeGreaterThanOrEqual(SEQUENCES);
    const wanted = [
      ...ADMISSION_REFUSAL_CODES,
      ...OTHERS,
      ...PAID.map((paid) => `admitted ${paid}`),
      ...PAID.slice(0, 2).map((paid) => `repeated ${paid}`),
    ];
    expect(wanted.filter((answer) => !answersSeen.has(answer))).toEqual([]);
    // For docs/verification.md.
    const figures = { sequences: played, steps: STEPS, seed: REPLAY.seed, answers: Object.fromEntries(answersSeen) };
    if (played > SEQUENCES_MANY) process.stdout.write(`${JSON.stringify(figures)}\n`);
  },
  TIMEOUT_MS,
);
