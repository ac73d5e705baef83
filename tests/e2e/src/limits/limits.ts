import { bucketOfAccount } from '@gateway/contracts/ids';
import type { LocalSystem } from '@gateway/local';
import { minuteOf } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { startCountingProvider } from '../../test/counting-provider.js';
import { connectRedis, untilEmpty } from '../../test/limit-store.js';
import { startOwnSystem, type OwnSystem } from '../../test/own-system.js';
import { CENT } from '../../test/prices.js';
import type { FaultSpan } from '../evidence/judge-call.js';
import { thousands } from '../runner/render-report.js';
import { defineScenario, SEED_OPTION, withSystem } from '../runner/run-scenario.js';
import { admittedOf, faultsOf, judgeLimit } from './judge-limit.js';
import { createAccount, LIMIT_CASES, type LimitCase, type LimitedAccount } from './limit-cases.js';
import { press } from './press-limit.js';

export const REPLICAS = { 'edge-proxy': 2, admission: 3 } as const;
export const IN_FLIGHT = 200;
/**
 * Short, so that the effects of a kill end within the verification. The lease is longer than the
 * pauses of a busy machine.
 */
export const DURATIONS = {
  GATEWAY_LEASE_MS: '10000',
  GATEWAY_EXPIRY_MS: '12000',
  GATEWAY_HEARTBEAT_MS: '1000',
  GATEWAY_SWEEP_MS: '500',
};

/** An account that one limit restricts, and its model. */
export interface ArrangedLimit extends LimitedAccount {
  readonly model: string;
  readonly upstream: string;
}

/**
 * Single calls after the load. Returned places are used first, then this number of calls in a row
 * must be refused.
 */
const REFUSED_AT_LAST = 5;
const LAST_CALLS_MAX = 2_000;
const EMPTY_WITHIN_MS = 60_000;

export type LimitVerification = Awaited<ReturnType<typeof startLimitVerification>>;

/** @param clockOffsetMs offset of the limit store's clock, which times the calls */
export async function startLimitVerification({ local, operator }: OwnSystem, clockOffsetMs = 0) {
  const provider = await startCountingProvider();
  const redis = connectRedis(local.servers.redis.url);
  const nowMs = (): number => Date.now() + clockOffsetMs;

  const arrange = async (limit: LimitCase, fit: number): Promise<ArrangedLimit> => {
    const { id: model } = await operator.model(CENT, [provider.url]);
    const upstream = `up-${model.slice(model.indexOf('/') + 1)}`;
    provider.behave(upstream, limit.provider);
    return { ...(await createAccount(operator, limit.terms(fit, model), nowMs())), model, upstream };
  };

  const send = ({ secret, model }: ArrangedLimit, calls: number, inFlight = 1, backOff: string | null = null) =>
    press({ edgeUrls: local.running().edgeUrls, secret, model, calls, inFlight, backOff, nowMs });

  const limitStoreIsEmpty = ({ account }: ArrangedLimit) => untilEmpty(redis, account, EMPTY_WITHIN_MS);

  /** Reads the counts of each clock minute. The limit store keeps them for two minutes. */
  const minutes = async ({ account }: ArrangedLimit, sinceMs: number): Promise<number[]> => {
    const counts: number[] = [];
    for (let minute = minuteOf(sinceMs); minute <= minuteOf(nowMs()); minute += 1) {
      counts.push(Number((await redis.get(`{${bucketOfAccount(account)}}m:${account}:${minute}`)) ?? 0));
    }
    return counts;
  };

  /**
   * Makes `calls` calls against a limit that has room for `fit`, and compares the results with its
   * promise. Kills replicas of admission meanwhile if there are random numbers for that.
   */
  const verify = async (limit: LimitCase, calls: number, fit: number, random?: () => number) => {
    const { promise, refusals } = limit;
    const arranged = await arrange(limit, fit);
    const startedAt = nowMs();
    let isOver = false;
    const killed = random === undefined ? [] : killAdmissions(local, random, () => isOver, nowMs);
    const backOff = promise === 'overshoot' ? '429 concurrency_limit' : null;
    const seen = await send(arranged, calls, IN_FLIGHT, backOff).finally(() => {
      isOver = true;
    });
    const faults = await killed;
    const differences: string[] = [];
    const empty = (): Promise<unknown> =>
      limitStoreIsEmpty(arranged).catch((error: Error) => differences.push(error.message));
    await empty();
    if (promise === 'exact' || promise === 'overshoot') {
      for (let last = 0, refused = 0; refused < REFUSED_AT_LAST && last < LAST_CALLS_MAX; last += 1) {
        const more = await send(arranged, 1);
        seen.push(...more);
        refused = more.every(({ answer }) => refusals.includes(answer)) ? refused + 1 : 0;
      }
      await empty();
    }
    const pressed = {
      limit,
      account: arranged,
      fit,
      seen,
      provider: provider.count(arranged.upstream),
      minutes: promise === 'per_minute' ? await minutes(arranged, startedAt) : [],
      faults,
    };
    differences.push(...(await judgeLimit(pressed, operator, local.running().edgeUrls[0] ?? '')));
    const counts = { fit, admitted: admittedOf(pressed), faults: faultsOf(seen), kills: faults.length };
    return { name: limit.name, promise, ...counts, differences };
  };

  const end = async (): Promise<void> => {
    redis.disconnect();
    await provider.close();
  };
  return { redis, nowMs, arrange, send, limitStoreIsEmpty, minutes, verify, end };
}

/** Pause between the restart of a replica and the next kill. */
const PAUSE_MS = { min: 200, span: 1_500 };

/**
 * Repeatedly kills a random replica of admission and starts it again. The other replicas run on.
 */
async function killAdmissions(
  local: LocalSystem,
  random: () => number,
  isOver: () => boolean,
  nowMs: () => number,
): Promise<FaultSpan[]> {
  const kills: FaultSpan[] = [];
  for (;;) {
    // The first kill comes early because a run may be short.
    const at = performance.now() + PAUSE_MS.min + (kills.length === 0 ? 0 : random() * PAUSE_MS.span);
    await until('the time of the next kill', () => isOver() || performance.now() > at);
    if (isOver()) return kills;
    const replicas = local.children('admission');
    const victim = replicas[Math.floor(random() * replicas.length)];
    const from = nowMs();
    await victim?.stop(0, 'SIGKILL');
    await victim?.start();
    kills.push({ from, until: nowMs() });
  }
}

const ONE_FITS_IN = 10;

/** The system of `npm run verify:faults -- limits`. */
async function startLimits() {
  const system = await startOwnSystem('verify-limits', DURATIONS, REPLICAS);
  const verification = await startLimitVerification(system);
  return { verification, end: () => verification.end().finally(() => system.stop()) };
}

export const limits = defineScenario({
  name: 'limits',
  title: 'Every limit under parallel requests while admission is killed',
  about:
    'two edges, three replicas of admission, 200 requests in flight. Each limit has a separate account without another effective limit. During the load a random replica of admission is repeatedly killed (SIGKILL) and restarted. For limits in requests, caps and the wallet, every tenth admitted request fails at the provider and returns its place. After the load, single requests follow until five in a row are refused. Slots, holds and held amounts are released before the comparison with clients, provider, ledger and usage endpoint.',
  options: { calls: { or: 10_000, min: 100, max: 100_000 }, seed: SEED_OPTION },
  play: ({ calls, seed }, log) =>
    withSystem(startLimits(), async ({ verification }) => {
      const { next } = new SeededRandom(seed);
      const all: Awaited<ReturnType<LimitVerification['verify']>>[] = [];
      for (const limit of LIMIT_CASES) {
        const one = await verification.verify(limit, calls, Math.floor(calls / ONE_FITS_IN), next);
        all.push(one);
        log(JSON.stringify(one));
      }
      const table = {
        head: ['Limit', 'promise', 'fit', 'admitted', 'kills', '500s'],
        wordColumns: 2,
        rows: all.map(({ name, promise, ...one }) => [
          ...[name, promise],
          ...[one.fit, one.admitted, one.kills, one.faults].map(thousands),
        ]),
        note: 'Promises: `exact` admits the number that fits. `overshoot` admits at most one more per slot, and none of them began after the limit had refused a request; a refusal may come early after a kill, because settled amounts count twice until their holds are requested. `at_once`: the provider never has more requests at the same time. `per_minute`: in each clock minute of the limit store, the first requests are admitted. 500s: responses because of a kill.',
      };
      return { violations: all.flatMap(({ differences }) => differences), tables: [table] };
    }),
});
