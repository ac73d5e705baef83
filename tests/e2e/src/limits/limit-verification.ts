import type { Redis } from 'ioredis';
import { bucketOfAccount } from '@gateway/contracts/ids';
import { minuteOf } from '@gateway/metering';
import { until } from '@gateway/testkit';
import { type CountingProvider, startCountingProvider } from '../../test/counting-provider.js';
import { connectRedis, untilEmpty } from '../../test/limit-store.js';
import type { OwnSystem } from '../../test/own-system.js';
import type { FaultSpan } from '../evidence/judge-call.js';
import { admittedOf, faultsOf, judgeLimit } from './judge-limit.js';
import { CENT } from '../../test/prices.js';
import { type LimitCase, type LimitedAccount } from './limit-cases.js';
import { Clients } from './press-limit.js';

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

export interface LimitFigures {
  readonly limit: LimitCase;
  readonly fit: number;
  readonly admitted: number;
  /** Responses with a 500 because of a kill. */
  readonly faults: number;
  readonly kills: number;
  readonly differences: readonly string[];
}

/** Causes faults until the calls are over. Returns their times, which it reads with `nowMs`. */
export type Disturbance = (isOver: () => boolean, nowMs: () => number) => Promise<readonly FaultSpan[]>;

/**
 * Single calls after the load. Returned places are used first, then this number of calls in a row
 * must be refused.
 */
const REFUSED_AT_LAST = 5;
const LAST_CALLS_MAX = 2_000;
const EMPTY_WITHIN_MS = 60_000;

export class LimitVerification {
  readonly #system: OwnSystem;
  readonly #provider: CountingProvider;
  readonly #redis: Redis;
  readonly #clients: Clients;

  private constructor(system: OwnSystem, provider: CountingProvider, clockOffsetMs: number) {
    this.#system = system;
    this.#provider = provider;
    this.#redis = connectRedis(system.local.servers.redis.url);
    this.#clients = new Clients(system.local.running().edgeUrls, IN_FLIGHT, clockOffsetMs);
  }

  /** @param clockOffsetMs offset of the limit store's clock */
  static async begin(system: OwnSystem, clockOffsetMs = 0): Promise<LimitVerification> {
    return new LimitVerification(system, await startCountingProvider(), clockOffsetMs);
  }

  get clients(): Clients {
    return this.#clients;
  }

  get redis(): Redis {
    return this.#redis;
  }

  async end(): Promise<void> {
    await this.#clients.close();
    this.#redis.disconnect();
    await this.#provider.close();
  }

  async arrange(limit: LimitCase, fit: number): Promise<{ account: LimitedAccount; model: string; upstream: string }> {
    const { operator } = this.#system;
    const { id: model } = await operator.model(CENT, [this.#provider.url]);
    const upstream = `up-${model.slice(model.indexOf('/') + 1)}`;
    this.#provider.behave(upstream, limit.provider);
    const account = await limit.arrange({ operator, model, storeNowMs: this.#clients.nowMs() }, fit);
    return { account, model, upstream };
  }

  /** Makes `calls` calls against a limit that has room for `fit`. */
  async press(limit: LimitCase, calls: number, fit: number, disturb?: Disturbance): Promise<LimitFigures> {
    const { operator } = this.#system;
    const { account, model, upstream } = await this.arrange(limit, fit);
    const options = {
      secret: account.secret,
      model,
      calls,
      inFlight: IN_FLIGHT,
      backOff: limit.promise === 'overshoot' ? '429 concurrency_limit' : null,
    };
    const startedAt = this.#clients.nowMs();
    let isOver = false;
    const nowMs = (): number => this.#clients.nowMs();
    const disturbed = disturb?.(() => isOver, nowMs) ?? Promise.resolve([]);
    const seen = await this.#clients.press(options).finally(() => {
      isOver = true;
    });
    const kills = await disturbed;
    const left: string[] = [];
    const limitStoreIsEmpty = (): Promise<unknown> =>
      this.limitStoreIsEmpty(account.account).catch((error: Error) => left.push(error.message));
    await limitStoreIsEmpty();
    if (limit.promise === 'exact' || limit.promise === 'overshoot') {
      for (let last = 0, refused = 0; refused < REFUSED_AT_LAST && last < LAST_CALLS_MAX; last += 1) {
        const more = await this.#clients.press({ ...options, calls: 1, backOff: null });
        seen.push(...more);
        refused = more.every(({ answer }) => limit.refusals.includes(answer)) ? refused + 1 : 0;
      }
      await limitStoreIsEmpty();
    }
    const minutes = limit.promise === 'per_minute' ? await this.minutes(account.account, startedAt) : [];
    const provider = this.#provider.count(upstream);
    const pressed = { limit, account, fit, seen, provider, minutes, faults: kills };
    const [edgeUrl = ''] = this.#system.local.running().edgeUrls;
    const differences = [...left, ...(await judgeLimit(pressed, operator, edgeUrl))];
    return { limit, fit, admitted: admittedOf(pressed), faults: faultsOf(seen), kills: kills.length, differences };
  }

  limitStoreIsEmpty(account: string): Promise<void> {
    return untilEmpty(this.#redis, account, EMPTY_WITHIN_MS);
  }

  /** Reads the counts of each clock minute. The limit store keeps them for two minutes. */
  async minutes(account: string, sinceMs: number): Promise<number[]> {
    const counts: number[] = [];
    for (let minute = minuteOf(sinceMs); minute <= minuteOf(this.#clients.nowMs()); minute += 1) {
      counts.push(Number((await this.#redis.get(`{${bucketOfAccount(account)}}m:${account}:${minute}`)) ?? 0));
    }
    return counts;
  }
}

/** Pause between the restart of a replica and the next kill. */
const PAUSE_MS = { min: 200, span: 1_500 };

/**
 * Repeatedly kills a random replica of admission and starts it again. The other replicas run on.
 */
export function killAdmissions({ local }: OwnSystem, next: () => number): Disturbance {
  return async (isOver, nowMs) => {
    const kills: FaultSpan[] = [];
    for (;;) {
      // The first kill comes early because a run may be short.
      const at = performance.now() + PAUSE_MS.min + (kills.length === 0 ? 0 : next() * PAUSE_MS.span);
      await until('the time of the next kill', () => isOver() || performance.now() > at);
      if (isOver()) return kills;
      const replicas = local.children('admission');
      const victim = replicas[Math.floor(next() * replicas.length)];
      const from = nowMs();
      await victim?.stop(0, 'SIGKILL');
      await victim?.start();
      kills.push({ from, until: nowMs() });
    }
  };
}
