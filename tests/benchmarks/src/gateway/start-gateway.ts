import { createLedgerReader } from '@gateway/billing/ledger/audit-store.js';
import { auditLedger } from '@gateway/billing/ledger/audit.js';
import { type LocalSystem, startSystem } from '@gateway/local';
import { type Pool, createPool } from '@gateway/postgres';
import { until } from '@gateway/testkit';
import type { Cleanup } from '../context.js';
import type { ProcessGroups } from '../machine/processes.js';

/** Longest time from the last response to its settled record. */
const SETTLE_MS_MAX = 60_000;
const LOG = { info: () => undefined, warn: console.warn, error: console.error };

/** A gateway of this checkout in the process that started it. */
export interface HostedGateway {
  readonly version: string;
  readonly port: number;
  readonly processes: ProcessGroups;
  /** Descendants of these processes that only serve the measurement. */
  readonly except: readonly number[];
  /** Waits until the records of the answered calls are settled. A failed call may leave one too. */
  settle(answered: number, failed: number): Promise<void>;
  /** @throws Error unless every answered call has its charged record and the ledger is right */
  audit(): Promise<void>;
}

/** Starts the complete system like `npm start`, with one replica of each service. */
export function startLocalSystem(
  stateDirectory: string,
  log: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<LocalSystem> {
  return startSystem({ stateDirectory, env: { NODE_ENV: 'production', ...env }, durable: true, log });
}

/**
 * Starts the complete system on its own servers. The bench of a later commit calls this function
 * (`--against`), so keep its parameters and the parts of its result.
 */
export async function startGateway(
  _provider: { readonly url: string },
  directory: string,
  _accountsTotal: number,
  ending: Cleanup,
  log: (line: string) => void,
  env: Readonly<Record<string, string>> = {},
): Promise<HostedGateway> {
  const system = await startLocalSystem(`${directory}/gateway`, log, env);
  ending.add('the gateway', () => system.stop());
  // All processes except the starter and the system's unused simulator.
  const { starter: _starter, 'provider-simulator': _simulator, ...processes } = system.running().pids;
  const books = createPool(system.servers.postgres.url, { applicationName: 'bench', max: 1, log: LOG });
  ending.add('the auditor', () => books.end());
  // Parallel workers would count as CPU of the gateway.
  await books.query('SET max_parallel_workers_per_gather = 0');
  const { rows } = await books.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  let [answeredTotal, failedTotal] = [0, 0];
  return {
    version: Object.values(system.servers)
      .map((server) => `${server.name} ${server.version}`)
      .join(', '),
    port: Number(new URL(system.addresses.publicUrl).port),
    processes,
    except: rows.map(({ pid }) => pid),
    async settle(answered, failed) {
      answeredTotal += answered;
      failedTotal += failed;
      const isSettled = async () => (await countRecords(books)).records >= answeredTotal;
      await until(`the records of ${answeredTotal} answered calls`, isSettled, SETTLE_MS_MAX);
    },
    async audit() {
      const { records, charged, deadLetters } = await countRecords(books);
      if (records > answeredTotal + failedTotal || charged < answeredTotal || deadLetters > 0)
        throw new Error(`${records} records, ${charged} charged, ${deadLetters} dead letters, ${answeredTotal} calls`);
      await requireRightLedger(system);
    },
  };
}

/** Charged are records with the reported usage. Reads tables, which are not billing's code. */
async function countRecords(books: Pool): Promise<{ records: number; charged: number; deadLetters: number }> {
  const { rows } = await books.query<{ records: number; charged: number; deadLetters: number }>(
    `SELECT count(*)::int AS records,
            count(*) FILTER (WHERE outcome = 'settled' AND evidence = 'reported' AND charged_nano_usd > 0)::int AS charged,
            (SELECT count(*) FROM billing.dead_letters)::int AS "deadLetters"
       FROM billing.usage_records`,
  );
  return rows[0] ?? { records: 0, charged: 0, deadLetters: 0 };
}

/** @throws Error if the audit finds a difference between records, entries, balances and chains */
export async function requireRightLedger(system: LocalSystem): Promise<void> {
  const pool = createPool(system.addresses.postgresUrlOf('billing'), { applicationName: 'bench', log: LOG });
  try {
    const differences: unknown[] = [];
    const report = { begin: () => undefined, difference: (one: unknown) => void differences.push(one) };
    await createLedgerReader(pool).snapshot((ledger) => auditLedger(ledger, report));
    if (differences.length > 0)
      throw new Error(`the audit found ${differences.length} differences: ${JSON.stringify(differences[0])}`);
  } finally {
    await pool.end();
  }
}
