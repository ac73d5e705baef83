import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { type LimitStoreState, readLimitStore } from '../../test/limit-store.js';
import { type OwnSystem, startOwnSystem } from '../../test/own-system.js';
import { readUsage } from './judge-limit.js';
import { LIMIT_CASES, type LimitedAccount, limitCalled } from './limit-cases.js';
import { DURATIONS, IN_FLIGHT, LimitVerification, REPLICAS, killAdmissions } from './limit-verification.js';
import { DIRECT_HELD_MS, type DirectAnswers, DirectSender } from './direct-sender.js';

/**
 * Requests per limit. `npm run verify:faults -- limits` sends ten times as many and kills replicas
 * meanwhile.
 */
const CALLS = 1_000;
const FIT = 150;
const CALLS_UNDER_KILLS = 3_000;
const SEED = testSeed();
const DIRECT_ENTRIES = 10_000;
const DIRECT_FIT = 1_234;
const MINUTE = 'requests per minute';
interface PressedDirect {
  readonly begunAt: number;
  readonly account: LimitedAccount;
  readonly model: string;
  readonly answers: DirectAnswers;
  readonly held: LimitStoreState;
}

/**
 * Limits and their refusals. USD windows are missing: they count only completed requests, and no
 * request completes here.
 */
const DIRECT_CASES = [
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
  `$name: ${CALLS} calls, ${IN_FLIGHT} at a time, keep the limit ($promise)`,
  async (limit) => {
    const figures = await verification.press(limit, CALLS, FIT);
    expect(figures.differences).toEqual([]);
  },
  60_000,
);

test.each(DIRECT_CASES)(
  `%s: three admissions admit exactly the limit of ${DIRECT_ENTRIES} entries (%s)`,
  async (name, code) => {
    const sender = await DirectSender.begin(system);
    try {
      const { begunAt, account, model, held, answers } = await pressDirect(sender, name);
      const { admitted, refused, repeated, replicas } = answers;
      const fit = await fitOf(name, account, begunAt);
      expect([admitted.size, [...refused.keys()]]).toEqual([fit, [code]]);
      // An ID that was sent twice may be refused in one minute and admitted in the next.
      const onlyRefused = [...(refused.get(code) ?? [])].filter((id) => !admitted.has(id));
      expect(onlyRefused).toHaveLength(DIRECT_ENTRIES - fit);
      expect(repeated).toBeGreaterThan(0);
      expect(replicas.size).toBe(REPLICAS.admission);
      expect(held).toMatchObject({ slots: fit, holds: fit });
      await sender.giveBack(admitted);
      await verification.limitStoreIsEmpty(account.account);
      // Released amounts are available again, but the minute still counts the requests.
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
 * Sends the entries for a new account and reads its holds. Repeats this if it took longer than
 * DIRECT_HELD_MS, because holds without heartbeats end after that time.
 */
async function pressDirect(sender: DirectSender, name: string): Promise<PressedDirect> {
  for (;;) {
    const begunAt = verification.clients.nowMs();
    const { account, model } = await verification.arrange(limitCalled(name), DIRECT_FIT);
    const answers = await sender.admit(account.secret, model, DIRECT_ENTRIES);
    const held = await readLimitStore(verification.redis, account.account);
    if (verification.clients.nowMs() - begunAt < DIRECT_HELD_MS) return { begunAt, account, model, answers, held };
  }
}

/**
 * Returns how many entries fit: the number of slots, the configured limit, or the sum over the
 * clock minutes.
 */
async function fitOf(name: string, account: LimitedAccount, begunAt: number): Promise<number> {
  if (name === 'slots') return account.slots;
  if (name !== MINUTE) return DIRECT_FIT;
  const minutes = await verification.minutes(account.account, begunAt);
  return minutes.reduce((sum, count) => sum + Math.min(count, DIRECT_FIT), 0);
}

// Covers a replica of admission is killed or hangs
test(`${CALLS_UNDER_KILLS} calls use a wallet exactly under kills (seed ${SEED})`, async () => {
  const figures = await verification.press(
    limitCalled('wallet'),
    CALLS_UNDER_KILLS,
    FIT,
    killAdmissions(system, new SeededRandom(SEED).next),
  );
  expect(figures.differences).toEqual([]);
  expect(figures.kills).toBeGreaterThan(0);
  console.info(`${figures.kills} kills, ${figures.faults} responses with 500`);
}, 60_000);

test('a USD window is exceeded by at most the number of slots while billing hangs', async () => {
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
