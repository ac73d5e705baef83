import { rmSync } from 'node:fs';
import { askSentinel } from '@gateway/servers';
import { admissionUser } from '@gateway/setup';
import { LEADER_LOOK_MS, REDIS_DOWN_AFTER_MS, REDIS_MEMBERS, SENTINEL_MEMBERS } from './topology.js';
import { hostsOf, poll, portsFor, portsFrom, type ClusterParts, type Group } from './topology.js';

/** Name of the primary for the Sentinels. */
const NAME = 'gateway';
const QUORUM = 2;
const PRIMARY_WAIT_MS = 15_000;

/** Starts a primary, its replica, and three Sentinels. */
export async function startRedis(parts: ClusterParts): Promise<Group> {
  const { stateDirectory, secrets, start, members, restarter, between } = parts;
  const [ports, sentinelPorts] = [await portsFor(REDIS_MEMBERS), await portsFor(SENTINEL_MEMBERS)];
  // The ports that Sentinels announce.
  const announced = await portsFrom('all', ports, between);
  const [first, second] = REDIS_MEMBERS;
  const firstPort = announced[first] ?? 0;
  const password = secrets.admissionRedisPassword;
  const findPrimary = (): Promise<number> => primaryPort(Object.values(sentinelPorts), password);
  let leader: string = first;
  let isUp = false;
  const startOne = (name: string): Promise<void> =>
    start(name, 'redis', {
      ports: { redis: ports[name] ?? 0 },
      redis: {
        password: secrets.redisPassword,
        users: [admissionUser(password)],
        announcePort: announced[name] ?? 0,
        follows: async () => {
          if (!isUp) return name === first ? null : firstPort;
          // A restarted primary is empty, so the Sentinels get time to promote another one.
          return poll(PRIMARY_WAIT_MS, async () => {
            const port = await findPrimary();
            return port === announced[name] ? null : port;
          });
        },
      },
    });
  await startOne(first);
  await startOne(second);
  const sentinel = {
    name: NAME,
    port: firstPort,
    primaryPassword: secrets.redisPassword,
    quorum: QUORUM,
    downAfterMs: REDIS_DOWN_AFTER_MS,
  };
  await Promise.all(
    SENTINEL_MEMBERS.map((name) => {
      // Removes the state of an earlier start, which has other ports.
      rmSync(`${stateDirectory}/servers/${name}`, { recursive: true, force: true });
      return start(name, 'redis', { ports: { redis: sentinelPorts[name] ?? 0 }, redis: { password, sentinel } });
    }),
  );
  isUp = true;
  restarter.meanwhile(LEADER_LOOK_MS, async () => {
    const port = await findPrimary();
    leader = REDIS_MEMBERS.find((name) => announced[name] === port) ?? leader;
  });
  const login = `sentinel_password=${encodeURIComponent(password)}`;
  return { url: `redis+sentinel://${hostsOf(sentinelPorts)}/${NAME}?${login}`, leader: () => members[leader] };
}

/**
 * Returns the port that most Sentinels report.
 * @throws Error if no two agree
 */
async function primaryPort(sentinels: readonly number[], password: string): Promise<number> {
  const asked = await Promise.all(sentinels.map((port) => askSentinel(port, password, NAME).catch(() => null)));
  const most = asked.find((port) => port !== null && asked.filter((one) => one === port).length >= QUORUM);
  if (most === undefined || most === null) throw new Error('the Sentinels do not agree on a primary');
  return most;
}
