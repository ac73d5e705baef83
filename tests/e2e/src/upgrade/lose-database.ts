import type { KeyCreated } from '@gateway/contracts/operator';
import type { OwnSystem } from '../../test/own-system.js';
import type { FaultDone } from '../evidence/evidence.js';
import type { RollingRun } from './rolling-run.js';
import { runProgram } from './run-program.js';

/** Changes by an operator after a backup. They are in no stream. */
export interface EnteredAfter {
  /** An account from before the backup, with a wallet of ten USD. */
  readonly account: string;
  readonly entry: Readonly<Record<string, string>>;
  readonly key: KeyCreated;
  /** An account that was created after the backup. */
  readonly unknown: string;
}

export interface Restored {
  /**
   * Number of ended calls at the time of the backup, at the loss of the database, and when the
   * database served again.
   */
  readonly endedAt: { readonly backup: number; readonly loss: number; readonly back: number };
  /** Messages of the stream that the backup does not contain. */
  readonly settledAgain: number;
  readonly backupOutput: string;
  readonly restoreOutput: string;
  readonly entered: EnteredAfter;
  /** Ends when the services with tables are ready again. */
  readonly fault: FaultDone;
}

const WITH_TABLES = ['billing', 'accounts', 'catalog'] as const;
const STOP_MS = 30_000;

/**
 * Makes a backup under load and waits for `callsAfter` more calls. Then kills the database, deletes
 * its files, restores them and starts the services with tables again. Edges and admission keep
 * running.
 *
 * @param directory for the backup; must not exist
 */
export async function loseDatabase(run: RollingRun, directory: string, callsAfter: number): Promise<Restored> {
  const { system } = run;
  const { operator, local } = system;
  const before = await operator.account('10.00');
  const backup = await mustRun('backup', ['--to', directory], system);
  const atBackup = run.seen.length;
  const entered = await enterByHand(system, before.account);
  await run.ended(atBackup + callsAfter);
  const lostAt = Date.now();
  const atLoss = run.seen.length;
  await Promise.all(WITH_TABLES.flatMap((name) => local.children(name)).map((child) => child.stop(STOP_MS)));
  const { restart } = local.servers.postgres;
  if (restart === undefined) throw new Error('this run did not start the database and does not delete it');
  await restart({ kill: true, emptyState: true });
  const restored = await mustRun('restore', ['--from', directory], system);
  await Promise.all(WITH_TABLES.flatMap((name) => local.children(name)).map((child) => child.start()));
  const fault = { what: 'restart', target: 'postgres', from: lostAt, until: Date.now() } as const;
  const settledAgain = Number(/(\d+) messages will be settled again/.exec(restored)?.[1]);
  const endedAt = { backup: atBackup, loss: atLoss, back: run.seen.length };
  const output = { backupOutput: backup, restoreOutput: restored };
  return { endedAt, settledAgain, ...output, entered, fault };
}

/**
 * Checks that exactly the changes after the backup are gone, and that they can be entered again.
 * Returns one sentence per difference.
 */
export async function checkEntered({ operator }: OwnSystem, entered: EnteredAfter): Promise<string[]> {
  const { account, entry, key, unknown } = entered;
  const wrong: string[] = [];
  const expect = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) wrong.push(`${what}: ${String(found)} instead of ${String(expected)}`);
  };
  expect('the wallet after the restore', await operator.walletUsd(account), '10.00');
  expect('a key from after the backup', (await operator.request('GET', `/keys/${key.id}`)).status, 404);
  expect('an account from after the backup', (await operator.request('GET', `/accounts/${unknown}`)).status, 404);
  await operator.must('POST', `/accounts/${account}/wallet/entries`, entry);
  await operator.must('POST', `/accounts/${account}/wallet/entries`, entry);
  expect('the wallet after two repeats of the entry', await operator.walletUsd(account), '15.00');
  return wrong;
}

async function enterByHand({ operator }: OwnSystem, account: string): Promise<EnteredAfter> {
  const entry = { amountUsd: '5.00', kind: 'credit', reason: 'paid', reference: 'after-the-backup' };
  await operator.must('POST', `/accounts/${account}/wallet/entries`, entry);
  const key = await operator.must<KeyCreated>('POST', `/accounts/${account}/keys`, { name: 'after the backup' });
  const { id: unknown } = await operator.emptyAccount();
  return { account, entry, key, unknown };
}

async function mustRun(program: 'backup' | 'restore', args: readonly string[], system: OwnSystem): Promise<string> {
  const { code, output } = await runProgram(program, args, system);
  if (code !== 0) throw new Error(`${program} exited with code ${code}: ${output}`);
  return output;
}
