import { setTimeout as delay } from 'node:timers/promises';
import type { FaultRun } from '../faults/fault-run.js';
import { askPostgres, leaderOf, promoteNow, signal, standbysOf } from './harm-members.js';

/**
 * Longer than the primary waits for a silent standby. Everything that it sent before still arrives.
 */
const LACKING_MS = 8_000;

/**
 * Stops one standby while the other confirms commits. Then stops the two servers that have the
 * commits, and promotes the standby that lacks them.
 *
 * @throws Error if the promoted standby lacked no commit
 */
export async function promoteLacking(run: FaultRun): Promise<void> {
  const primary = leaderOf(run, 'postgres');
  const [lacking, confirming] = standbysOf(run);
  signal(run, lacking, 'SIGSTOP');
  await delay(LACKING_MS);
  const confirmed = await askPostgres(run, confirming, 'SELECT pg_last_wal_receive_lsn()::text AS answer');
  for (const member of [primary, confirming]) signal(run, member, 'SIGSTOP');
  signal(run, lacking, 'SIGCONT');
  const promotion = await promoteNow(run, true);
  if (promotion.primary !== lacking) throw new Error(`${promotion.primary} was promoted, not ${lacking}`);
  const lost = `pg_wal_lsn_diff('${confirmed}', '${promotion.position}')`;
  const bytes = Number(await askPostgres(run, lacking, `SELECT ${lost} AS answer`));
  if (bytes <= 0) throw new Error(`${lacking} lacked no commit: it was at ${promotion.position}`);
}
