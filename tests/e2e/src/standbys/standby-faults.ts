import { setTimeout as delay } from 'node:timers/promises';
import type { LocalSystem } from '@gateway/local';
import type { FaultDone } from '../evidence/evidence.js';
import { freeze, kill, loseLimitStore, serverNamed, signal } from '../faults/apply-fault.js';
import { type FaultServer, SERVERS } from '../faults/fault-plan.js';
import type { FaultRun } from '../faults/fault-run.js';
import {
  cutOffFromPeers,
  cutOffFromServices,
  divideRedis,
  leaderOf,
  promoteNow,
  queryPostgres,
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

/** @param primary server of this kind; for NATS, whose servers are equal, the first one */
type Cause = (system: LocalSystem, primary: string, run: FaultRun) => Promise<unknown>;

const cutOff: Cause = (_system, member, run) => cutOffFromServices(run, member, SHORT_MS);
const isolate: Cause = (_system, member, run) => cutOffFromPeers(run, member, () => delay(REPLACED_MS));

const FAULTS: Readonly<Record<FaultServer, Readonly<Record<string, readonly [FaultDone['what'], Cause]>>>> = {
  postgres: {
    'the primary is killed and comes back from its files': ['kill', kill],
    'the primary is killed and a standby promoted': ['kill', promoteAfter('SIGKILL')],
    'a standby is promoted in order': ['restart', (system) => promoteNow(system)],
    'the primary is frozen': ['freeze', (system, primary) => freeze(system, primary, SHORT_MS)],
    'the primary is frozen and a standby promoted': ['kill', promoteAfter('SIGSTOP')],
    'the primary is cut off from the services': ['stall', cutOff],
    'a standby is killed': ['kill', (system) => kill(system, standbysOf(system)[0])],
    'a standby is frozen': ['freeze', (system) => freeze(system, standbysOf(system)[0], 2 * SHORT_MS)],
    'the primary is cut off from its standbys': ['stall', isolate],
    'a standby that lacks commits is promoted': ['kill', promoteLacking],
  },
  nats: {
    'a server is killed': ['kill', kill],
    'a server is frozen': ['freeze', (system) => freeze(system, 'nats-2', SHORT_MS)],
    'a server is cut off from the services': ['stall', (system, _primary, run) => cutOff(system, 'nats-3', run)],
    'a server is cut off from its peers': ['stall', isolate],
    'all servers are restarted one after the other': ['restart', restartNats],
  },
  redis: {
    'the primary is killed and its replica promoted': ['kill', kill],
    'the primary is frozen, replaced, and wakes up': [
      'kill',
      (system, primary) => freeze(system, primary, REPLACED_MS),
    ],
    'the primary is frozen for less than it takes to be replaced': [
      'freeze',
      (system, primary) => freeze(system, primary, SHORT_MS / 2),
    ],
    'the primary is cut off from services, Sentinels and replica': [
      'kill',
      (_system, _primary, run) => divideRedis(run),
    ],
    'the primary is emptied': ['flush', ({ servers }) => loseLimitStore(servers.redis, 'flushed')],
    'the replica is killed': [
      'restart',
      (system, primary) => kill(system, primary === 'redis-1' ? 'redis-2' : 'redis-1'),
    ],
    'a Sentinel is killed': ['restart', (system) => kill(system, 'sentinel-1')],
  },
};

export const STANDBY_FAULTS: readonly StandbyFault[] = SERVERS.flatMap((target) =>
  Object.entries(FAULTS[target]).map(([name, [what, cause]]): StandbyFault => ({
    name: `${target}: ${name}`,
    as: { what, target },
    cause: (run) => {
      const { local } = run.system;
      return cause(local, target === 'nats' ? 'nats-1' : leaderOf(local, target), run);
    },
  })),
);

function promoteAfter(which: NodeJS.Signals): Cause {
  return (system, primary) => {
    signal(system, primary, which);
    return promoteNow(system);
  };
}

async function restartNats(system: LocalSystem): Promise<void> {
  for (const name of ['nats-1', 'nats-2', 'nats-3']) {
    await serverNamed(system, name).restart?.();
    // Wait until this server has caught up: streams with three copies need two of them.
    await delay(SHORT_MS);
  }
}

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
async function promoteLacking(system: LocalSystem, primary: string): Promise<void> {
  const [lacking, confirming] = standbysOf(system);
  signal(system, lacking, 'SIGSTOP');
  await delay(LACKING_MS);
  const confirmed = await queryPostgres(system, confirming, 'SELECT pg_last_wal_receive_lsn()::text AS answer');
  for (const member of [primary, confirming]) signal(system, member, 'SIGSTOP');
  signal(system, lacking, 'SIGCONT');
  const promotion = await promoteNow(system, true);
  if (promotion.primary !== lacking) throw new Error(`${promotion.primary} was promoted, not ${lacking}`);
  const lost = `pg_wal_lsn_diff('${confirmed}', '${promotion.position}')`;
  const bytes = Number(await queryPostgres(system, lacking, `SELECT ${lost} AS answer`));
  if (bytes <= 0) throw new Error(`${lacking} lacked no commit: it was at ${promotion.position}`);
}
