import { setTimeout as delay } from 'node:timers/promises';
import type { FaultDone } from '../evidence/evidence.js';
import type { FaultServer } from '../faults/fault-plan.js';
import type { FaultRun } from '../faults/fault-run.js';
import { loseLimitStore } from '../faults/apply-fault.js';
import {
  queryPostgres,
  cutOffFromPeers,
  cutOffFromServices,
  divideRedis,
  freezeMember,
  kill,
  leaderOf,
  memberOf,
  promoteNow,
  signal,
  standbysOf,
} from './members.js';

/**
 * Shorter than the lease of these runs, and too short for the other servers to replace this one.
 */
const SHORT_MS = 2_000;
/** Long enough for Sentinels to promote the replica, so that two primaries exist afterwards. */
const REPLACED_MS = 7_000;

export interface StandbyFault {
  readonly name: string;
  /** The fault as the checker sees it. */
  readonly as: Pick<FaultDone, 'what'> & { readonly target: FaultServer };
  readonly cause: (run: FaultRun) => Promise<unknown>;
}

const of = (
  target: FaultServer,
  what: FaultDone['what'],
  name: string,
  cause: StandbyFault['cause'],
): StandbyFault => ({
  name: `${target}: ${name}`,
  as: { what, target },
  cause,
});

export const STANDBY_FAULTS: readonly StandbyFault[] = [
  of('postgres', 'kill', 'the primary is killed and comes back from its files', (run) =>
    kill(run, leaderOf(run, 'postgres')),
  ),
  of('postgres', 'kill', 'the primary is killed and a standby promoted', async (run) => {
    signal(run, leaderOf(run, 'postgres'), 'SIGKILL');
    await promoteNow(run);
  }),
  of('postgres', 'restart', 'a standby is promoted in order', (run) => promoteNow(run)),
  of('postgres', 'freeze', 'the primary is frozen', (run) => freezeMember(run, leaderOf(run, 'postgres'), SHORT_MS)),
  of('postgres', 'kill', 'the primary is frozen and a standby promoted', async (run) => {
    signal(run, leaderOf(run, 'postgres'), 'SIGSTOP');
    await promoteNow(run);
  }),
  of('postgres', 'stall', 'the primary is cut off from the services', (run) =>
    cutOffFromServices(run, leaderOf(run, 'postgres'), SHORT_MS),
  ),
  of('postgres', 'kill', 'a standby is killed', (run) => kill(run, standbysOf(run)[0])),
  of('postgres', 'freeze', 'a standby is frozen', (run) => freezeMember(run, standbysOf(run)[0], 2 * SHORT_MS)),
  of('postgres', 'stall', 'the primary is cut off from its standbys', (run) =>
    cutOffFromPeers(run, leaderOf(run, 'postgres'), REPLACED_MS),
  ),
  of('postgres', 'kill', 'a standby that lacks commits is promoted', promoteLacking),
  of('nats', 'kill', 'a server is killed', (run) => kill(run, 'nats-1')),
  of('nats', 'freeze', 'a server is frozen', (run) => freezeMember(run, 'nats-2', SHORT_MS)),
  of('nats', 'stall', 'a server is cut off from the services', (run) => cutOffFromServices(run, 'nats-3', SHORT_MS)),
  of('nats', 'stall', 'a server is cut off from its peers', (run) => cutOffFromPeers(run, 'nats-1', REPLACED_MS)),
  of('nats', 'restart', 'all servers are restarted one after the other', async (run) => {
    for (const name of ['nats-1', 'nats-2', 'nats-3']) {
      await memberOf(run, name).restart?.();
      // Wait until this server has caught up: streams with three copies need two of them.
      await delay(SHORT_MS);
    }
  }),
  of('redis', 'kill', 'the primary is killed and its replica promoted', (run) => kill(run, leaderOf(run, 'redis'))),
  of('redis', 'kill', 'the primary is frozen, replaced, and wakes up', (run) =>
    freezeMember(run, leaderOf(run, 'redis'), REPLACED_MS),
  ),
  of('redis', 'freeze', 'the primary is frozen for less than it takes to be replaced', (run) =>
    freezeMember(run, leaderOf(run, 'redis'), SHORT_MS / 2),
  ),
  of('redis', 'kill', 'the primary is cut off from services, Sentinels and replica', divideRedis),
  of('redis', 'flush', 'the primary is emptied', (run) => loseLimitStore(run.system.local.servers.redis, 'flushed')),
  of('redis', 'restart', 'the replica is killed', (run) =>
    kill(run, leaderOf(run, 'redis') === 'redis-1' ? 'redis-2' : 'redis-1'),
  ),
  of('redis', 'restart', 'a Sentinel is killed', (run) => kill(run, 'sentinel-1')),
];

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
  const confirmed = await queryPostgres(run, confirming, 'SELECT pg_last_wal_receive_lsn()::text AS answer');
  for (const member of [primary, confirming]) signal(run, member, 'SIGSTOP');
  signal(run, lacking, 'SIGCONT');
  const promotion = await promoteNow(run, true);
  if (promotion.primary !== lacking) throw new Error(`${promotion.primary} was promoted, not ${lacking}`);
  const lost = `pg_wal_lsn_diff('${confirmed}', '${promotion.position}')`;
  const bytes = Number(await queryPostgres(run, lacking, `SELECT ${lost} AS answer`));
  if (bytes <= 0) throw new Error(`${lacking} lacked no commit: it was at ${promotion.position}`);
}
