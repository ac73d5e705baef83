import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Bus } from '@gateway/bus';
import { usageEvents } from '@gateway/contracts/messages';
import type { Pool } from '@gateway/postgres';
import type { RunningServer } from '@gateway/servers';
import { startTestBus, until, type TestBus, type TestDatabase } from '@gateway/testkit';
import { createMonths } from '../src/ledger/months.js';
import { createProgressStore } from '../src/stream/progress-store.js';
import { readDelivery } from '../src/usage/read/read-deliveries.js';
import { settleBatch } from '../src/usage/settle-batch.js';
import { createSettlementStore } from '../src/usage/commit/settlement-store.js';
import { createUsageStream } from '../src/stream/stream.js';
import { readLedgerValues } from './audit.js';
import { packMessage } from './events.js';
import { type LedgerWorld, startLedgerWorld } from './ledger-world.js';

const WORKER = fileURLToPath(new URL('breakable-worker.mjs', import.meta.url));
const BUILT = fileURLToPath(new URL('../dist/usage/worker.js', import.meta.url));
/** Subjects of the stream. */
export const GROUPS = 4;
/** Messages per transaction in the undisturbed run. */
const UNDISTURBED_MESSAGES = 10;
const STREAM_BYTES = 512 * 1024 * 1024;
const SETTLE_MS = 300_000;

export interface WorkerSettings {
  readonly subjects?: readonly number[];
  /** `before <call>` or `after <call>`: the point where the worker kills itself. */
  readonly point?: string;
  readonly nth?: number;
  readonly ackWaitMs?: number;
  /** Events per transaction. */
  readonly batchEventsMax?: number;
  /** Another ledger on the same stream; defaults to the world's. */
  readonly ledger?: TestDatabase;
}

/**
 * The stream with its ledger on servers of their own, which runs disturb, and worker processes that
 * can be killed anywhere. Also settles the same events in an undisturbed ledger.
 */
export class DisturbedWorld {
  /** Every stored message, in order. */
  readonly #stored: { subject: number; events: number; message: Uint8Array }[] = [];
  readonly #running = new Set<ChildProcess>();

  private constructor(
    readonly bus: TestBus,
    readonly ledgers: LedgerWorld,
    readonly ledger: TestDatabase,
    readonly edge: Bus,
    readonly billing: Bus,
  ) {}

  static async start(): Promise<DisturbedWorld> {
    if (!existsSync(BUILT)) throw new Error('billing is not built: npx tsc -b services/billing');
    const [ledgers, bus] = await Promise.all([startLedgerWorld({ own: true }), startTestBus({ own: true })]);
    const [ledger, edge, billing] = await Promise.all([
      ledgers.ledger(),
      bus.connect('edge-proxy'),
      bus.connect('billing'),
    ]);
    await createUsageStream(billing, STREAM_BYTES, 1, 'any', GROUPS).ensure();
    return new DisturbedWorld(bus, ledgers, ledger, edge, billing);
  }

  get eventsStored(): number {
    return this.#stored.reduce((total, { events }) => total + events, 0);
  }

  get postgres(): RunningServer {
    return this.ledgers.postgres;
  }

  /**
   * Stores events in messages of at most `size`, like edges. Repeats a message that the stream did
   * not store.
   */
  async store(events: readonly unknown[], size: number, group = 0): Promise<void> {
    for (let at = 0; at < events.length; at += size) {
      const some = events.slice(at, at + size);
      const message = packMessage(some);
      this.#stored.push({ subject: group, events: some.length, message });
      await until('the stream takes a message', () =>
        this.edge.store(usageEvents, { group }, message).catch(() => null),
      );
    }
  }

  worker({ ledger = this.ledger, ...settings }: WorkerSettings = {}): ChildProcess {
    const all = Array.from({ length: GROUPS }, (_, subject) => subject);
    const child = spawn(
      process.execPath,
      [
        WORKER,
        JSON.stringify({
          subjects: all,
          groups: GROUPS,
          ...settings,
          natsUrl: this.bus.urlFor('billing'),
          postgresUrl: ledger.url,
        }),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    return child;
  }

  /** Waits until every stored message is settled without a gap. */
  async settled(ledger = this.ledger, timeoutMs = SETTLE_MS): Promise<void> {
    const progress = createProgressStore(ledger.pool);
    const stream = createUsageStream(this.billing, STREAM_BYTES, 1, 'any', GROUPS);
    await until(
      'everything stored is settled',
      async () => {
        try {
          const floor = await progress.floor();
          const state = await stream.state();
          return (await progress.advance(state, floor)).position.sequence >= state.lastSequence;
        } catch {
          // A restarted server is not available yet.
          return false;
        }
      },
      timeoutMs,
    );
  }

  /**
   * Settles all stored messages in a separate ledger, in stream order and without disturbance, and
   * returns the result.
   */
  async undisturbed(): Promise<Record<string, string>> {
    const { pool } = await this.ledgers.ledger();
    const store = createSettlementStore(pool);
    const months = createMonths(store);
    for (let at = 0; at < this.#stored.length; at += UNDISTURBED_MESSAGES) {
      const read = this.#stored
        .slice(at, at + UNDISTURBED_MESSAGES)
        .map(({ subject, message }) => readDelivery(message, { subject, sequence: 1 }));
      await settleBatch(store, months, {
        received: read.flatMap(({ received }) => received),
        deadLetters: read.flatMap(({ deadLetters }) => deadLetters),
        applied: [],
      });
    }
    return readLedger(pool);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map(killProcess));
    await Promise.all([this.bus.stop(), this.ledgers.stop()]);
  }
}

/** Returns balances, counters, records and dead letters. */
export async function readLedger(pool: Pool): Promise<Record<string, string>> {
  const { rows } = await pool.query<{ hash: string; reason: string }>(
    `SELECT encode(content_hash, 'hex') AS hash, reason FROM dead_letters`,
  );
  return {
    ...(await readLedgerValues(pool)),
    ...Object.fromEntries(rows.map(({ hash, reason }) => [`dead letter ${hash}`, reason])),
  };
}

/** Kills a process if it is still running, and waits for its end. */
export async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGCONT');
  child.kill('SIGKILL');
  await exit;
}
