import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REFUSAL } from '@gateway/contracts/errors';
import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { readLimitStore } from '../test/limit-store.js';
import type { LimitStoreState } from '../test/limit-store.js';
import { startOwnSystem } from '../test/own-system.js';
import type { OwnSystem } from '../test/own-system.js';
import { readUsage } from './prove/judge-limit.js';
import { killAdmissions } from './prove/kill-admissions.js';
import { LIMIT_CASES, limitCalled } from './prove/limit-cases.js';
import type { LimitedAccount } from './prove/limit-cases.js';
import { DURATIONS, IN_FLIGHT, LimitVerification, REPLICAS } from './prove/limit-verification.js';
import { STRAIGHT_HELD_MS, StraightSender } from './prove/straight-entries.js';
import type { StraightAnswers } from './prove/straight-entries.js';

/** Of each limit. `npm run prove:limits` makes ten times as many, while replicas are killed. */
const CALLS = 1_000;
const FIT = 150;
const CALLS_UNDER_KILLS = 3_000;
const SEED = testSeed();
const STRAIGHT_ENTRIES = 10_000;
const STRAIGHT_FIT = 1_234;
const MINUTE = 'requests per minute';
interface PressedStraight {
  readonly begunAt: number;
  readonly account: LimitedAccount;
  readonly model: string;
  readonly answers: StraightAnswers;
  readonly held: LimitStoreState;
}

/** Windows in USD bind nothing here: no call ends. Their slots do. */
const STRAIGHT_CASES = [
  [MINUTE, 'rate_limited'],
  ['slots', 'concurrency_limit'],
  ['session_5h in requests', 'window_exhausted'],
  ['weekly in requests', 'window_exhausted'],
  ['monthly in requests', 'window_exhausted'],
  ['model allotment in requests', 'model_limit_reached'],
  ['wallet', 'insufficient_credits'],
  ['cap of a member', 'member_cap_reached'],
  ['cap of a key', 'monthly_spend_cap_exceeded'],
] as const;

let system: OwnSystem;
let verification: LimitVerification;
beforeAll(async () => {
  system = await startOwnSystem('limits', DURATIONS, REPLICAS);
  verification = await LimitVerification.begin(system);
}, 60_000);
afterAll(async () => {
  await verification?.end();
  await system?.stop();
}, 60_000);

// Covers i6; i7
test.each(LIMIT_CASES)(
  `$name: of ${CALLS} calls, ${IN_FLIGHT} in flight, over two edges and three admissions, those that fit are answered ($promise), and nothing is left held`,
  async (limit) => {
    const figures = await verification.press(limit, CALLS, FIT);
    expect(figures.differences).toEqual([]);
  },
  60_000,
);

test.each(STRAIGHT_CASES)(
  `%s: of ${STRAIGHT_ENTRIES} entries straight to three admissions, some sent twice, exactly those that fit are admitted (%s)`,
  async (name, code) => {
    const sender = await StraightSender.begin(system);
    try {
      const { begunAt, account, model, held, answers } = await pressStraight(sender, name);
      const { admitted, refused, repeated, replicas } = answers;
      const fit = await fitOf(name, account, begunAt);
      expect([admitted.size, [...refused.keys()]]).toEqual([fit, [REFUSAL[code]]]);
      // An id that was sent twice may have met the end of one minute and the begin of the next.
      const onlyRefused = [...(refused.get(REFUSAL[code]) ?? [])].filter((id) => !admitted.has(id));
      expect(onlyRefused).toHaveLength(STRAIGHT_ENTRIES - fit);
      expect(repeated).toBeGreaterThan(0);
      expect(replicas.size).toBe(REPLICAS.admission);
      expect(held).toMatchObject({ slots: fit, holds: fit });
      await sender.giveBack(admitted);
      await verification.limitStoreIsEmpty(account.account);
      // What was given back fits again, but for the places in the minute.
      if (name === MINUTE) return;
      const again = await sender.admit(account.secret, model, 1);
      expect(again.admitted.size).toBe(1);
      await sender.giveBack(again.admitted);
    } finally {
      await sender.end();
    }
  },
  60_000,
);

/**
 * Presses the limit of a new account and reads what is held: once more when the machine took longer
 * than what a sender without heartbeats got is held.
 */
async function pressStraight(sender: StraightSender, name: string): Promise<PressedStraight> {
  for (;;) {
    const begunAt = verification.clients.nowMs();
    const { account, model } = await verification.arrange(limitCalled(name), STRAIGHT_FIT);
    const answers = await sender.admit(account.secret, model, STRAIGHT_ENTRIES);
    const held = await readLimitStore(verification.redis, account.account);
    if (verification.clients.nowMs() - begunAt < STRAIGHT_HELD_MS) return { begunAt, account, model, answers, held };
  }
}

/**
 * How many of the entries fit: so many in each clock minute that they met, the slots, or what the
 * limit was arranged for.
 */
async function fitOf(name: string, account: LimitedAccount, begunAt: number): Promise<number> {
  if (name === 'slots') return account.slots;
  if (name !== MINUTE) return STRAIGHT_FIT;
  const minutes = await verification.minutes(account.account, begunAt);
  return minutes.reduce((sum, count) => sum + Math.min(count, STRAIGHT_FIT), 0);
}

// Covers a replica of admission is killed or hangs
test(`replicas of admission are killed while ${CALLS_UNDER_KILLS} calls meet a wallet: exactly those that fit are answered (seed ${SEED})`, async () => {
  const figures = await verification.press(
    limitCalled('wallet'),
    CALLS_UNDER_KILLS,
    FIT,
    killAdmissions(system, new SeededRandom(SEED).next),
  );
  expect(figures.differences).toEqual([]);
  expect(figures.kills).toBeGreaterThan(0);
}, 60_000);

test('while billing hangs, an USD window is overshot by no more calls than there are slots', async () => {
  const limit = limitCalled('weekly in USD');
  const fit = 10;
  const { account, model } = await verification.arrange(limit, fit);
  const press = { secret: account.secret, model, inFlight: 1, backOff: null };
  await verification.clients.press({ ...press, calls: 1 });
  await verification.limitStoreIsEmpty(account.account);
  const [billing] = system.local.children('billing');
  billing?.kill('SIGSTOP');
  try {
    const seen = await verification.clients.press({ ...press, calls: fit + account.slots + 20 });
    const admitted = 1 + seen.filter(({ answer }) => answer === '200').length;
    expect(admitted).toBeGreaterThanOrEqual(fit);
    expect(admitted).toBeLessThanOrEqual(fit + account.slots);
  } finally {
    billing?.kill('SIGCONT');
  }
  await verification.limitStoreIsEmpty(account.account);
  const [edgeUrl = ''] = system.local.running().edgeUrls;
  await until('the window shows as used up', async () => {
    const { windows } = await readUsage(edgeUrl, account.secret);
    return windows[0]?.percentUsed === 100;
  });
}, 60_000);
