import { type Bus, connectBus } from '@gateway/bus';
import type { LocalSystem } from '@gateway/local';
import { type Pool, createPool } from '@gateway/postgres';
import { sumOfMetric, until } from '@gateway/testkit';
import { type BenchContext, openRunDirectory } from '../context.js';
import { startLocalSystem } from '../gateway/start-gateway.js';
import { readCpu } from '../machine/processes.js';
import { subtract } from '../gateway/counters.js';
import { type EventSeries, type Payer, publishEvents } from './events.js';

/** Events in a message of an edge under load. */
export const EVENTS_FULL = 100;
/** Earlier calls are distributed over this number of days before now. */
const EARLIER_DAYS = 20;

const GRACE_MS = 10_000;
const STATEMENT_MS_MAX = 3_600_000;
const SETTLE_MS_MAX = 900_000;
const DRAIN_MS = 1_000;

/** The local system, whose billing can be stopped and measured from outside. */
export class SettlingSystem {
  private constructor(
    readonly system: LocalSystem,
    /** A bus connection as the edge, which stores events. */
    readonly edge: Bus,
    /** The database's superuser, with one connection. */
    readonly admin: Pool,
  ) {}

  static async start({ ending, log }: BenchContext): Promise<SettlingSystem> {
    const system = await startLocalSystem(openRunDirectory(ending), log);
    ending.add('the system', () => system.stop());
    const silent = { info: () => undefined, warn: console.warn, error: console.error };
    const url = system.addresses.natsUrlOf('edge-proxy');
    const edge = await connectBus({ url, service: 'edge-proxy', replica: 'bench', log: silent });
    ending.add('the bus', () => edge.drain(DRAIN_MS));
    const options = { applicationName: 'bench', max: 1, statementTimeoutMs: STATEMENT_MS_MAX, log: silent };
    const admin = createPool(system.servers.postgres.url, options);
    ending.add('the database connection', () => admin.end());
    return new SettlingSystem(system, edge, admin);
  }

  get billing(): ReturnType<LocalSystem['children']>[number] {
    const [child] = this.system.children('billing');
    if (child === undefined) throw new Error('billing is not running');
    return child;
  }

  /** Settles calls of the last days before a measurement. */
  async fill(events: number, payers: readonly Payer[]): Promise<void> {
    const already = await this.settled();
    await publishEvents(this.edge, { events, payers, size: EVENTS_FULL, days: EARLIER_DAYS });
    await this.untilSettled(already + events);
    for (const statement of ['VACUUM ANALYZE', 'CHECKPOINT']) await this.admin.query(statement);
  }

  /** Stores events while billing is stopped, and starts it. Resolves when it settles. */
  async queue(series: EventSeries): Promise<void> {
    await this.billing.stop(GRACE_MS);
    await publishEvents(this.edge, series);
    await this.billing.start();
    await this.untilSettled(1);
  }

  /**
   * Measures the settlement of a backlog. CPU in microseconds per event, of the process and its
   * database sessions.
   */
  async settle(series: EventSeries) {
    await this.queue(series);
    const [begunMs, already, before] = [performance.now(), await this.settled(), await this.#readCpu()];
    await this.untilSettled(series.events);
    const seconds = (performance.now() - begunMs) / 1_000;
    const { billing = NaN, postgres = NaN } = subtract(await this.#readCpu(), before);
    const events = series.events - already;
    return { perSecond: events / seconds, billingMicros: billing / events, postgresMicros: postgres / events };
  }

  /** Returns the number of events that the running process has committed. */
  async settled(): Promise<number> {
    const text = await fetch(`${this.billing.adminUrl}/metrics`).then((response) => response.text());
    return sumOfMetric(text, 'gateway_billing_usage_events_total') ?? 0;
  }

  async untilSettled(events: number): Promise<void> {
    await until(`${events} events are settled`, async () => (await this.settled()) >= events, SETTLE_MS_MAX);
  }

  async #readCpu(): Promise<Record<string, number>> {
    const sessions = `SELECT pid FROM pg_stat_activity WHERE application_name = 'billing'`;
    const { rows } = await this.admin.query<{ pid: number }>(sessions);
    return readCpu({ billing: [this.billing.pid ?? 0], postgres: rows.map(({ pid }) => pid) });
  }
}
