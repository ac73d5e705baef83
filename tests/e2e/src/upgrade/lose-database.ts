import type { KeyCreated } from '@gateway/contracts/operator';
import type { OwnSystem } from '../../test/own-system.js';
import { restart } from '../faults/apply-fault.js';
import type { FaultRun } from '../faults/fault-run.js';
import { runProgram } from './run-program.js';

export interface Restored {
  /** Number of calls that had ended at each time. */
  readonly endedAt: { readonly backup: number; readonly loss: number; readonly back: number };
  /** From the loss until the services with tables were ready again. */
  readonly tookMs: number;
  /** Messages of the stream that the backup does not contain. */
  readonly settledAgain: number;
  /** What both programs printed. */
  readonly output: string;
  /**
   * Checks that exactly the changes after the backup are gone, and that they can be entered again.
   * Returns one sentence per difference.
   */
  readonly checkEntered: () => Promise<string[]>;
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
export async function loseDatabase(run: FaultRun, directory: string, callsAfter: number): Promise<Restored> {
  const { system, seen } = run;
  const { operator, local } = system;
  const children = WITH_TABLES.flatMap((name) => local.children(name));
  const before = await operator.account('10.00');
  const backedUp = await mustRun('backup', ['--to', directory], system);
  const backup = seen.length;
  const checkEntered = await enterByHand(system, before.account);
  await run.ended(backup + callsAfter);
  const from = Date.now();
  const loss = seen.length;
  await Promise.all(children.map((child) => child.stop(STOP_MS)));
  await restart(local.servers.postgres, { kill: true, emptyState: true });
  const restored = await mustRun('restore', ['--from', directory], system);
  await Promise.all(children.map((child) => child.start()));
  const until = Date.now();
  run.faults.push({ what: 'restart', target: 'postgres', from, until });
  const settledAgain = Number(/(\d+) messages will be settled again/.exec(restored)?.[1]);
  const endedAt = { backup, loss, back: seen.length };
  return { endedAt, tookMs: until - from, settledAgain, output: backedUp + restored, checkEntered };
}

/** Makes changes as an operator, which are in no stream. The account has a wallet of ten USD. */
async function enterByHand({ operator }: OwnSystem, account: string): Promise<Restored['checkEntered']> {
  const entry = { amountUsd: '5.00', kind: 'credit', reason: 'paid', reference: 'after-the-backup' };
  const enter = (): Promise<unknown> => operator.must('POST', `/accounts/${account}/wallet/entries`, entry);
  await enter();
  const key = await operator.must<KeyCreated>('POST', `/accounts/${account}/keys`, { name: 'after the backup' });
  const { id: unknown } = await operator.emptyAccount();
  return async () => {
    const wrong: string[] = [];
    const expect = (what: string, found: unknown, expected: unknown): void => {
      if (found !== expected) wrong.push(`${what}: ${String(found)} instead of ${String(expected)}`);
    };
    expect('the wallet after the restore', await operator.walletUsd(account), '10.00');
    expect('a key from after the backup', (await operator.request('GET', `/keys/${key.id}`)).status, 404);
    expect('an account from after the backup', (await operator.request('GET', `/accounts/${unknown}`)).status, 404);
    await enter();
    await enter();
    expect('the wallet after two repeats of the entry', await operator.walletUsd(account), '15.00');
    return wrong;
  };
}

async function mustRun(program: 'backup' | 'restore', args: readonly string[], system: OwnSystem): Promise<string> {
  const { code, output } = await runProgram(program, args, system);
  if (code !== 0) throw new Error(`${program} exited with code ${code}: ${output}`);
  return output;
}
