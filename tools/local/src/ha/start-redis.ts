import { rmSync } from 'node:fs';
import { askSentinel } from '@gateway/servers';
import { pause } from '@gateway/service-kit';
import { admissionUser } from '@gateway/setup';
import type { Secrets } from '../secrets.js';
import { LEADER_LOOK_MS, LOOK_MS, portsFor, portsFrom, type ClusterParts } from './members.js';
import * as topology from './topology.js';

const REDIS_PRIMARY_WAIT_MS = 15_000;

/** Starts a primary, its replica, and three Sentinels. */
export async function startRedis(
  stateDirectory: string,
  secrets: Secrets,
  { start, members, restarter, between }: ClusterParts,
) {
  const [names, sentinels] = [topology.REDIS_MEMBERS, topology.SENTINEL_MEMBERS];
  const [ports, sentinelPorts] = [await portsFor(names), await portsFor(sentinels)];
  // The ports that Sentinels announce.
  const announced = await portsFrom('all', ports, between);
  const firstPort = announced[names[0]] ?? 0;
  const users = [admissionUser(secrets.admissionRedisPassword)];
  const password = secrets.admissionRedisPassword;
  let leader: string = names[0];
  let isUp = false;
  const look = async (): Promise<void> => {
    const port = await primaryPort(Object.values(sentinelPorts), password);
    leader = names.find((name) => announced[name] === port) ?? leader;
  };
  const startOne = (name: string): Promise<void> =>
    start(name, 'redis', {
      ports: { redis: ports[name] ?? 0 },
      redis: {
        password: secrets.redisPassword,
        users,
        announcePort: announced[name] ?? 0,
        follows: async () => {
          if (!isUp) return name === names[0] ? null : firstPort;
          // A restarted primary is empty, so the Sentinels get time to promote another one.
          const untilMs = performance.now() + REDIS_PRIMARY_WAIT_MS;
          for (;;) {
            const port = await primaryPort(Object.values(sentinelPorts), password).catch(() => null);
            if (port !== null && port !== announced[name]) return port;
            if (performance.now() > untilMs) return null;
            await pause(LOOK_MS);
          }
        },
      },
    });
  await startOne(names[0]);
  await startOne(names[1]);
  await Promise.all(
    sentinels.map((name) => {
      // Removes the state of an earlier start, which has other ports.
      rmSync(`${stateDirectory}/servers/${name}`, { recursive: true, force: true });
      return start(name, 'redis', {
        ports: { redis: sentinelPorts[name] ?? 0 },
        redis: {
          password,
          sentinel: {
            name: topology.REDIS_NAME,
            port: firstPort,
            primaryPassword: secrets.redisPassword,
            quorum: topology.SENTINEL_QUORUM,
            downAfterMs: topology.REDIS_DOWN_AFTER_MS,
          },
        },
      });
    }),
  );
  isUp = true;
  restarter.meanwhile(LEADER_LOOK_MS, look);
  const hosts = sentinels.map((name) => `127.0.0.1:${sentinelPorts[name]}`).join(',');
  const url = `redis+sentinel://${hosts}/${topology.REDIS_NAME}?sentinel_password=${encodeURIComponent(password)}`;
  return { url, leader: () => members[leader] };
}

/**
 * Returns the port that most Sentinels report.
 * @throws Error if no two agree
 */
async function primaryPort(sentinels: readonly number[], password: string): Promise<number> {
  const asked = sentinels.map((port) => askSentinel(port, password, topology.REDIS_NAME).catch(() => null));
  const named = (await Promise.all(asked)).filter((port) => port !== null);
  const most = named.find((port) => named.filter((one) => one === port).length >= topology.SENTINEL_QUORUM);
  if (most === undefined) throw new Error('the Sentinels do not agree on a primary');
  return most;
}
