import { type ProviderSimulator, startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { connectRedis, untilEmpty } from '../../test/limit-store.js';
import { type Caller, type ClientResult, startLoad } from '../../test/load.js';
import type { TestModel } from '../../test/operator.js';
import type { OwnSystem } from '../../test/own-system.js';
import { CENT, PRICES, computeCharge } from '../../test/prices.js';
import { type ClientCall, type Comparison, compareLedger, faultsOf, wrongAnswers } from './compare-ledger.js';
import { total } from '../runner/render-report.js';
import { HELD_CREDIT_USD, HELD_STREAMS, HeldWallet } from './held-wallet.js';
import { type Loss, loseLimitStore } from './lose-limit-store.js';

/** The effect of one loss of the limit store. Times are milliseconds. */
export interface LossFigures {
  readonly loss: Loss;
  /** Time from the loss until Redis responds again. */
  readonly awayMs: number;
  /** Responses with a status of 500 or above. */
  readonly faults: number;
  /** Time from the first 500 to the last. */
  readonly faultsMs: number;
  /** Time from the return of Redis to the last 500. */
  readonly faultsSinceMs: number;
  /**
   * Time from the return of Redis until every account has read a complete response of a call that
   * began after the last 500.
   */
  readonly servedMs: number;
  /** The responses with 200 for this loss, and the settled records that were added. */
  readonly admitted: number;
  readonly settled: number;
  /** Uncharged records of calls without a response. */
  readonly uncharged: number;
  /** One sentence per difference. */
  readonly differences: readonly string[];
}

const ACCOUNTS = 4;
const CREDIT_USD = '1000.00';
/**
 * Far above the load: a call that ended under the old epoch may count until its release is
 * repeated.
 */
const SLOTS = 200;
const REQUESTS_PER_MINUTE = 1_000_000;
const LOAD = { atOnce: 3, pauseMs: 120 };
/**
 * Makes streams longer than the heartbeat interval, so that a loss hits streams with and without a
 * heartbeat.
 */
const CHUNK_DELAY_MS = 25;
const CALLS_BEFORE = { min: 10, span: 30 };

/** An account is served again after this number of complete responses. */
const STEADY_ANSWERS = 3;
const SERVED_WITHIN_MS = 45_000;
const EMPTY_WITHIN_MS = 45_000;
const ANSWERED_WITHIN_MS = 30_000;

/** A running system under load that loses its limit store repeatedly and recovers without help. */
export class LimitStoreLoss {
  readonly #seen: ClientResult[] = [];
  /** Earlier results of the accounts under load, which are kept from loss to loss. */
  #kept: readonly Comparison[] = [];

  private constructor(
    private readonly system: OwnSystem,
    private readonly simulator: ProviderSimulator,
    private readonly callers: readonly Caller[],
    private readonly model: TestModel,
    private readonly centModel: TestModel,
  ) {}

  static async begin(system: OwnSystem): Promise<LimitStoreLoss> {
    const simulator = await startProviderSimulator({ chunkDelayMs: CHUNK_DELAY_MS, recordCalls: false });
    const callers: Caller[] = [];
    for (let n = 0; n < ACCOUNTS; n += 1) callers.push(await accountOf(system, CREDIT_USD));
    const model = await system.operator.model(PRICES, simulator.urls);
    const centModel = await system.operator.model(CENT, simulator.urls);
    return new LimitStoreLoss(system, simulator, callers, model, centModel);
  }

  async end(): Promise<void> {
    await this.simulator.close();
  }

  /** Loses the limit store once under load, and checks everything after the calls have ended. */
  async lose(loss: Loss, random: () => number): Promise<LossFigures> {
    const { edgeUrls } = this.system.local.running();
    const spender = await accountOf(this.system, HELD_CREDIT_USD);
    const wallet = await HeldWallet.open(this.system, this.simulator, this.centModel, spender);
    const load = startLoad({ urls: edgeUrls, model: this.model.id, callers: this.callers, ...LOAD });
    const spending = wallet.spend();
    try {
      const before = CALLS_BEFORE.min + Math.floor(random() * CALLS_BEFORE.span);
      await until(`${before} calls are answered`, () => load.seen.length >= before, ANSWERED_WITHIN_MS);
      await until('the held wallet is refused', () => spending.seen.length > 0, ANSWERED_WITHIN_MS);
      const lostAt = Date.now();
      // In half of the cases Redis is down until a client reads a 500.
      const whileAway = random() < 0.5 ? () => this.#noticed(load.seen, lostAt) : () => Promise.resolve();
      await loseLimitStore(this.system.local.servers.redis, loss, whileAway);
      const backAt = Date.now();
      const servedAt = await this.#served(load.seen, spending.seen, backAt);
      return await this.#figures({ loss, lostAt, backAt, servedAt }, wallet, await load.stop(), await spending.stop());
    } finally {
      await Promise.all([load.stop(), spending.stop()]);
    }
  }

  async #noticed(seen: readonly ClientResult[], lostAt: number): Promise<void> {
    await until('clients get a 500', () => faultsOf(seen, lostAt).length > 0, ANSWERED_WITHIN_MS);
  }

  /**
   * Returns the time when the last account was served again. The account with the held wallet
   * counts as served when it is refused.
   */
  #served(seen: readonly ClientResult[], spent: readonly ClientResult[], backAt: number): Promise<number> {
    return until(
      'every account is served again',
      () => {
        const since = Math.max(backAt, ...faultsOf(seen, backAt), ...faultsOf(spent, backAt));
        const served = [
          ...this.callers.map(({ account }) => seen.filter((call) => call.account === account && call.complete)),
          spent.filter(({ status }) => status === 402),
        ].map((calls) => calls.filter(({ begunAt }) => Date.parse(begunAt) > since));
        if (served.some((calls) => calls.length < STEADY_ANSWERS)) return undefined;
        return Math.max(...served.map(([first]) => Date.parse(first?.endedAt ?? '')));
      },
      SERVED_WITHIN_MS,
    );
  }

  async #figures(
    { loss, lostAt, backAt, servedAt }: { loss: Loss; lostAt: number; backAt: number; servedAt: number },
    wallet: HeldWallet,
    seen: readonly ClientResult[],
    spent: readonly ClientResult[],
  ): Promise<LossFigures> {
    this.#seen.push(...seen);
    const wrong = [...wrongAnswers(seen, ['200']), ...(await wallet.end(spent))];
    await this.#limitStoreIsEmpty([...this.callers.map(({ account }) => account), wallet.account]);
    const { settled, uncharged, differences } = await this.#compare(wallet, spent);
    const faults = faultsOf([...seen, ...spent], lostAt);
    return {
      loss,
      awayMs: backAt - lostAt,
      faults: faults.length,
      faultsMs: faults.length === 0 ? 0 : Math.max(...faults) - Math.min(...faults),
      faultsSinceMs: Math.max(backAt, ...faults) - backAt,
      servedMs: servedAt - backAt,
      admitted: seen.filter(({ status }) => status === 200).length + HELD_STREAMS,
      settled,
      uncharged,
      differences: [...wrong, ...differences],
    };
  }

  async #limitStoreIsEmpty(accounts: readonly string[]): Promise<void> {
    const redis = connectRedis(this.system.local.servers.redis.url);
    try {
      for (const account of accounts) await untilEmpty(redis, account, EMPTY_WITHIN_MS);
    } finally {
      redis.disconnect();
    }
  }

  /**
   * Compares the ledger of all accounts with the calls as clients saw them. Counts start at the
   * previous loss.
   */
  async #compare(wallet: HeldWallet, spent: readonly ClientResult[]): Promise<Omit<Comparison, 'expired'>> {
    const { operator } = this.system;
    const own = await wallet.compare(spent);
    const kept = await Promise.all(
      this.callers.map(({ account }) => compareLedger(operator, account, CREDIT_USD, this.#callsOf(account))),
    );
    const before = this.#kept;
    this.#kept = kept;
    const added = (count: 'settled' | 'uncharged'): number =>
      total([own, ...kept].map((one) => one[count])) - total(before.map((one) => one[count]));
    return {
      settled: added('settled'),
      uncharged: added('uncharged'),
      differences: [own, ...kept].flatMap(({ differences }) => differences),
    };
  }

  #callsOf(account: string): ClientCall[] {
    return this.#seen.flatMap((call) => {
      if (call.account !== account || call.requestId === null) return [];
      const chargeNanoUsd = call.status === 200 && call.usage !== null ? computeCharge(call.usage) : null;
      return [{ requestId: call.requestId, chargeNanoUsd }];
    });
  }
}

async function accountOf({ operator }: OwnSystem, creditUsd: string): Promise<Caller> {
  const caller = await operator.account(creditUsd);
  await operator.limits(caller.account, REQUESTS_PER_MINUTE, SLOTS);
  return caller;
}
