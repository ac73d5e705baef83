import { bucketOfAccount } from '@gateway/contracts/ids';
import { type RetryOptions, counter, groupBy, retry } from '@gateway/service-kit';
import type { Ports } from '../ports.js';
import { confirmAccounts } from './confirm-accounts.js';

/** Accounts in one batch. Processing its replies takes some milliseconds. */
const BATCH_ACCOUNTS = 250;
const BATCHES_AT_ONCE = 2;
/** Accounts that are collected before confirming begins, so that each bucket has many of them. */
const GATHERED_MAX = 10_000;
/** Maximum duration of a scan. It then ends wherever it is. */
const WALK_MS_MAX = 300_000;
/**
 * Attempts per batch, over half a minute, because billing may have to settle stored events first.
 * If all attempts of a batch fail, the scan ends.
 */
const TRIES: Omit<RetryOptions, 'signal'> = { attemptsMax: 8, baseMs: 500, maxMs: 8_000, random: () => Math.random() };

/**
 * After buckets received a new epoch, confirms the accounts that Redis kept, so that they need not
 * be loaded (docs/protocol.md#r12). This is only an optimization: nothing waits for it, and an
 * unconfirmed account is loaded at its first call.
 */
export class Revalidation {
  /** Buckets that were opened since the scan began. */
  #opened = new Set<number>();
  #walking: Promise<void> | null = null;
  #ending = new AbortController();
  #isStopped = false;

  constructor(
    private readonly ports: Pick<Ports, 'limitStore' | 'owners' | 'clock' | 'log'>,
    private readonly tries: Omit<RetryOptions, 'signal'> = TRIES,
  ) {}

  /** Adds buckets that this replica has just opened. Returns at once. */
  opened(buckets: readonly number[]): void {
    if (this.#isStopped) return;
    for (const bucket of buckets) this.#opened.add(bucket);
    if (buckets.length > 0) this.#walking ??= this.#walkAll().finally(() => (this.#walking = null));
  }

  /** Resolves when no scan is in progress. */
  async idle(): Promise<void> {
    await this.#walking;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#ending.abort();
    await this.#walking;
  }

  async #walkAll(): Promise<void> {
    // All buckets that are opened in one tick share one scan.
    await Promise.resolve();
    while (this.#opened.size > 0 && !this.#isStopped) {
      const buckets = this.#opened;
      this.#opened = new Set();
      this.#ending = new AbortController();
      await this.#walk(buckets);
    }
  }

  /** Never rejects. Accounts that it does not reach stay unconfirmed. */
  async #walk(buckets: Set<number>): Promise<void> {
    const { clock, log } = this.ports;
    const begunAt = clock.monotonic();
    const counts = { confirmed: 0, changed: 0, left: 0 };
    let problem: unknown = null;
    const source = this.#batches(buckets);
    const work = async (): Promise<void> => {
      for await (const batch of source) {
        const result = await this.#try(() => confirmAccounts(this.ports, batch));
        for (const name of ['confirmed', 'changed', 'left'] as const) {
          counts[name] += result[name];
          revalidated.of({ outcome: name }).add(result[name]);
        }
        for (const bucket of result.closed) buckets.delete(bucket);
        if (clock.monotonic() - begunAt > WALK_MS_MAX) this.#ending.abort();
      }
    };
    const workers = Array.from({ length: BATCHES_AT_ONCE }, () =>
      work().catch((err: unknown) => {
        problem ??= err;
        this.#ending.abort();
      }),
    );
    await Promise.all(workers);
    const facts = { ...counts, seconds: (clock.monotonic() - begunAt) / 1_000 };
    if (this.#ending.signal.aborted) log.warn({ err: problem, ...facts }, 'kept accounts were not all confirmed');
    else if (counts.confirmed + counts.changed + counts.left > 0) log.info(facts, 'kept accounts were confirmed');
  }

  /** Yields accounts of these buckets until there are none left or the scan ends. */
  async *#batches(buckets: ReadonlySet<number>): AsyncGenerator<string[], void> {
    let cursor: string | null = null;
    let found: string[] = [];
    const isOver = (): boolean => this.#ending.signal.aborted || buckets.size === 0;
    while (cursor !== '0' && !isOver()) {
      const from: string = cursor ?? '0';
      const step = await this.#try(() => this.ports.limitStore.accounts(from));
      cursor = step.cursor;
      found.push(...step.accounts.filter((account) => buckets.has(bucketOfAccount(account))));
      if (found.length < GATHERED_MAX && cursor !== '0') continue;
      // Groups the accounts by bucket, because a script sees one bucket.
      const byBucket = [...groupBy(found, bucketOfAccount)].sort(([bucket], [other]) => bucket - other);
      found = byBucket.flatMap(([, accounts]) => accounts);
      for (let at = 0; at < found.length && !isOver(); at += BATCH_ACCOUNTS) yield found.slice(at, at + BATCH_ACCOUNTS);
      found = [];
    }
  }

  #try<T>(work: () => Promise<T>): Promise<T> {
    return retry(work, { ...this.tries, signal: this.#ending.signal, clock: this.ports.clock.timers });
  }
}

/** Accounts that the limit store kept through a loss of its epoch, by outcome. */
export const revalidated = counter(
  'gateway_admission_accounts_revalidated_total',
  'Accounts that were kept through a loss of the limit store: confirmed at once, or loaded at their first call',
  { outcome: ['confirmed', 'changed', 'left'] },
);
