import { EARLY_PAUSES_MAX } from '@gateway/admission/apply/apply-update.js';
import type { Admission } from '@gateway/admission/admission.js';
import { findUnchanged } from '@gateway/billing/accounts/find-unchanged.js';
import { loadAccount } from '@gateway/billing/accounts/load-account.js';
import { createMonths } from '@gateway/billing/ledger/months.js';
import { LedgerGuard } from '@gateway/billing/recovery/ledger-guard.js';
import { processLostMessages } from '@gateway/billing/usage/process-deliveries.js';
import { buildCorrectionSnapshots } from '@gateway/billing/usage/decide/snapshot-rules.js';
import { startUsageWorker } from '@gateway/billing/usage/worker.js';
import type { KeptPosition } from '@gateway/billing/recovery/lost-commits-rules.js';
import type { UsageDelivery } from '@gateway/billing/stream/stream.js';
import type { SettlementStore } from '@gateway/billing/usage/commit/settlement-store.js';
import { usageSubjects, type BalanceSnapshot } from '@gateway/contracts/messages';
import { DatabaseDown, type MemoryLedger } from '../ledger/memory-ledger.js';
import { onWire } from '../network/network.js';
import type { StoredUsage } from '../network/streams.js';
import { Host } from '../time/host.js';
import type { Outbox } from './outbox.js';
import { anyOf, logOf, type HostedProcess, type RunParts } from './run-parts.js';

const FACTS_MS = 1_000;
const COMMIT_MS_MAX = 12;
const FETCH_MAX = 50;
/** Small, so that batches are split into the shards of their accounts. */
const BATCH_EVENTS_MAX = 3;
/** Interval between a consumer's polls for messages to be redelivered. */
const POLL_MS = 1_000;
const RETRY_MS = 200;

interface BillingWorld extends RunParts {
  readonly outbox: Outbox;
  readonly billings: readonly (BillingHost | null)[];
}

/** One billing worker: the service's code with the tables of this run. */
export class BillingHost implements HostedProcess {
  readonly host: Host;
  readonly #guard: LedgerGuard;

  constructor(
    private readonly world: BillingWorld,
    readonly place: number,
  ) {
    const name = `billing${place}`;
    const host = new Host(name, world.scenario.skewsMs[name] ?? 0);
    this.host = host;
    const store = this.#store((database) => this.#guard.isLedger(database));
    const settling = {
      meter: { begin: () => ({ settled: () => undefined, failed: () => undefined }) },
      isInfrastructureFault: (error: unknown) => error instanceof DatabaseDown,
      retryDelayMs: () => RETRY_MS,
      batchEventsMax: BATCH_EVENTS_MAX,
      log: logOf(world),
      stopping: new AbortController().signal,
    };
    const unguarded = this.#store(() => true);
    const settle = processLostMessages({ ...settling, store: unguarded, months: createMonths(unguarded) });
    this.#guard = new LedgerGuard({ ...this.#lostCommits(), settle, log: settling.log }, world.ledger.epoch);
    world.time.in(host, 0, () => {
      this.#guard.start();
      startUsageWorker({
        ...settling,
        store,
        months: createMonths(store),
        announcer: { snapshots: (accounts) => this.#announce(accounts) },
        locks: { hold: async (subject) => this.#mayHold(subject), release: async () => undefined },
        consume: (subject, handler) => this.#consume(subject, handler),
      });
    });
  }

  /** Used by the outbox to check the database. */
  readonly isLedger = (database: string): boolean => this.#guard.isLedger(database);

  async load(question: Parameters<typeof loadAccount>[1]) {
    return answerOf(await loadAccount(this.#loading(), question));
  }

  async unchanged(question: Parameters<typeof findUnchanged>[1]) {
    return answerOf(await findUnchanged(this.#loading(), question));
  }

  #loading() {
    const { world } = this;
    return {
      store: {
        snapshot: async (asked: Parameters<MemoryLedger['snapshot']>[0]) => this.#database().snapshot(asked),
        settledPosition: async () => this.#database().settledPosition(),
        unchanged: async (asked: Parameters<MemoryLedger['unchanged']>[0]) => this.#database().unchanged(asked),
      },
      stream: { state: () => this.#askStream(() => world.streams.facts()) },
      mayUse: (database: string) => this.#guard.allows(database),
      now: () => Date.now(),
    };
  }

  #askStream<T>(answer: () => T): Promise<T> {
    return this.world.network.request(this.host, this.world.streams.host, FACTS_MS, answer);
  }

  /** A subject belongs to one worker, unless the scenario lets both workers own it. */
  #mayHold(subject: number): boolean {
    const { scenario, billings } = this.world;
    if (scenario.sharedSubjects) return true;
    const other = billings.find((one) => one !== null && one !== this && one.host.isAlive);
    return other === undefined || subject % billings.length === this.place;
  }

  #store(mayUse: (database: string) => boolean): SettlementStore {
    const { world, host } = this;
    const { time, truth, ledger, random } = world;
    const wait = (): Promise<void> =>
      new Promise((resolve) => void time.in(host, random.between(1, COMMIT_MS_MAX), resolve));
    return {
      ensureMonth: async () => true,
      async commit(work) {
        await wait();
        const fault = truth.nextTransactionFault(world.network);
        if (fault === 'before' || ledger.isAway(time.now)) throw new DatabaseDown('before');
        if (!mayUse(ledger.database)) throw new DatabaseDown('the ledger is not compared with the stream yet');
        await world.network.step(host, 'commits');
        const decision = await ledger.settle(work);
        truth.committed(decision);
        world.outbox.correct(buildCorrectionSnapshots(decision));
        await world.network.step(host, 'committed');
        await wait();
        if (fault === 'after' || ledger.isAway(time.now)) throw new DatabaseDown('after');
        return decision;
      },
    };
  }

  #database(): MemoryLedger {
    const { ledger, time } = this.world;
    return ledger.reached(time.now);
  }

  #lostCommits() {
    const { world } = this;
    const { streams, outbox } = world;
    return {
      store: {
        readState: async (upTo: number) => this.#database().readState(upTo),
        beginEpochAfter: async (former: string) => {
          const begun = this.#database().beginEpochAfter(former);
          const accounts = world.scenario.accounts.map(({ name }) => ({ account: name, rows: [], closed: [] }));
          if (begun !== null) outbox.correct(accounts);
          return begun;
        },
      },
      stream: {
        state: () => this.#askStream(() => streams.facts()),
        acknowledged: () => this.#askStream(() => usageSubjects().map((_, subject) => streams.acknowledged(subject))),
        message: async (sequence: number, subject?: number) => {
          const found = await this.#askStream(() => streams.message(sequence, subject));
          return found === null ? null : { ...found, data: Buffer.from(found.data) };
        },
      },
      kept: {
        read: () => this.#askStream(() => streams.kept),
        write: (position: KeptPosition) => this.#askStream(() => void (streams.kept = position)),
      },
    };
  }

  /** Sends snapshots to one replica: all replicas share the limit store. */
  #announce(accounts: BalanceSnapshot[]): boolean {
    const { world, host } = this;
    if (world.network.isCut(host)) return false;
    const to = anyOf(world, world.admissions);
    const sent = onWire({ ledgerEpoch: this.#guard.ledgerEpoch, accounts });
    const apply = (replica: Admission): void =>
      void replica.applySnapshots(sent, EARLY_PAUSES_MAX).catch(() => undefined);
    if (to) world.network.post(host, to.host, () => apply(to.admission));
    return true;
  }

  #consume(subject: number, handler: (batch: UsageDelivery[]) => Promise<void>): { stop(): Promise<void> } {
    const { world, host } = this;
    const { time, streams, network, random } = world;
    let isBusy = false;
    const poll = (): void => {
      if (isBusy || network.isCut(host)) return;
      const taken = streams.take(subject, random.between(1, FETCH_MAX));
      if (taken.length === 0) return;
      isBusy = true;
      const batch = taken.map((message) => this.#deliver(message));
      let hasArrived = false;
      network.post(streams.host, host, () => {
        if (hasArrived) return;
        hasArrived = true;
        handler(batch)
          .catch((error: unknown) => world.truth.unforeseen('a batch failed', error))
          .finally(() => {
            isBusy = false;
            time.in(host, 0, poll);
          });
      });
      // The network may have lost the batch: the next poll comes when it may be redelivered.
      time.in(host, POLL_MS, () => {
        isBusy = isBusy && hasArrived;
        hasArrived = true;
      });
    };
    streams.onStored(() => time.in(host, 0, poll));
    time.every(host, POLL_MS, poll);
    return { stop: async () => undefined };
  }

  #deliver(message: StoredUsage): UsageDelivery {
    const { world, host } = this;
    const { network, streams, time } = world;
    return {
      data: message.data,
      sequence: message.sequence,
      storedAtMs: message.storedAtMs,
      ack: () => network.post(host, streams.host, () => void (message.acknowledged = true)),
      retryAfter: (ms) => network.post(host, streams.host, () => void (message.notBefore = time.now + ms)),
    };
  }
}

/** @throws Error if billing has not settled the requests that the response includes */
function answerOf<A>(found: { readonly answer: A } | { readonly kind: 'behind' }): A {
  if (!('answer' in found)) throw new Error('billing is behind');
  return found.answer;
}
