import { randomBytes } from 'node:crypto';
import { connectBus, natsAuthorization } from '@gateway/bus';
import { DATABASE_BUCKET, MESSAGES } from '@gateway/contracts/messages';
import { changeUrl, pause } from '@gateway/service-kit';
import type { Secrets } from '../secrets.js';
import { LOOK_MS, portsFor, portsFrom, type Between, type Start } from './members.js';
import * as topology from './topology.js';

const STREAMS_WAIT_MS = 60_000;
const ASK_MS = 2_000;
const DRAIN_MS = 1_000;

/** Starts a cluster of three servers. Resolves when it can create replicated streams. */
export async function startNats(secrets: Secrets, start: Start, between: Between): Promise<{ url: string }> {
  const names = topology.NATS_MEMBERS;
  const [ports, routes] = [await portsFor(names), await portsFor(names)];
  const credentials = { user: 'dashboard', password: secrets.busPasswords.dashboard };
  // A password for these servers only, which start together.
  const password = randomBytes(24).toString('hex');
  await Promise.all(
    names.map(async (name) => {
      const others = Object.fromEntries(Object.entries(routes).filter(([other]) => other !== name));
      const ways = Object.values(await portsFrom(name, others, between));
      const routeUrls = ways.map((port) => `"nats-route://route:${password}@127.0.0.1:${port}"`);
      await start(name, 'nats', {
        ports: { nats: ports[name] ?? 0 },
        nats: {
          name,
          credentials,
          config: [
            natsAuthorization(secrets.busPasswords, MESSAGES),
            'cluster {',
            '  name: gateway',
            `  listen: "127.0.0.1:${routes[name]}"`,
            `  authorization { user: route, password: "${password}", timeout: 2 }`,
            `  routes: [${routeUrls.join(', ')}]`,
            '  no_advertise: true',
            // Each server gets all routes in its configuration, so none needs advertised addresses.
            '  advertise: "127.0.0.1:1"',
            '}',
          ].join('\n'),
        },
      });
    }),
  );
  const hosts = names.map((name) => `127.0.0.1:${ports[name]}`).join(',');
  const url = `nats://${credentials.user}:${credentials.password}@${hosts}`;
  await waitForStreams(
    changeUrl(url, (own) => Object.assign(own, { username: 'billing', password: secrets.busPasswords.billing })),
  );
  return { url };
}

/** Waits until a bucket can have a replica on each server: the cluster is then complete. */
async function waitForStreams(url: string): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const bucketReplicas = topology.NATS_MEMBERS.length;
  const bus = await connectBus({ url, service: 'billing', replica: 'start', log, bucketReplicas });
  try {
    const untilMs = performance.now() + STREAMS_WAIT_MS;
    for (;;) {
      const failure = await bus
        .lookUpBucket(DATABASE_BUCKET)
        .get('timelines', ASK_MS)
        .then(() => null, String);
      if (failure === null) return;
      if (performance.now() > untilMs)
        throw new Error(`the NATS servers cannot create a replicated stream: ${failure}`);
      await pause(LOOK_MS);
    }
  } finally {
    await bus.drain(DRAIN_MS);
  }
}
