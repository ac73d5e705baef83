import { randomBytes } from 'node:crypto';
import { connectBus, natsAuthorization } from '@gateway/bus';
import { DATABASE_BUCKET, MESSAGES } from '@gateway/contracts/messages';
import { NATS_MEMBERS, hostsOf, poll, portsFor, portsFrom, type ClusterParts, type Group } from './topology.js';

const STREAMS_WAIT_MS = 60_000;
const ASK_MS = 2_000;
const DRAIN_MS = 1_000;

/** Starts a cluster of three servers. Resolves when it can create replicated streams. */
export async function startNats({ secrets, start, members, between }: ClusterParts): Promise<Group> {
  const { busPasswords } = secrets;
  const [ports, routes] = [await portsFor(NATS_MEMBERS), await portsFor(NATS_MEMBERS)];
  // A password for these servers only, which start together.
  const password = randomBytes(24).toString('hex');
  await Promise.all(
    NATS_MEMBERS.map(async (name) => {
      const others = Object.fromEntries(Object.entries(routes).filter(([other]) => other !== name));
      const ways = Object.values(await portsFrom(name, others, between));
      const routeUrls = ways.map((port) => `"nats-route://route:${password}@127.0.0.1:${port}"`);
      const config = [
        natsAuthorization(busPasswords, MESSAGES),
        'cluster {',
        '  name: gateway',
        `  listen: "127.0.0.1:${routes[name]}"`,
        `  authorization { user: route, password: "${password}", timeout: 2 }`,
        `  routes: [${routeUrls.join(', ')}]`,
        '  no_advertise: true',
        // Each server gets all routes in its configuration, so none needs advertised addresses.
        '  advertise: "127.0.0.1:1"',
        '}',
      ];
      const credentials = { user: 'dashboard', password: busPasswords.dashboard };
      await start(name, 'nats', {
        ports: { nats: ports[name] ?? 0 },
        nats: { name, credentials, config: config.join('\n') },
      });
    }),
  );
  await waitForStreams(`nats://billing:${busPasswords.billing}@${hostsOf(ports)}`);
  const all = NATS_MEMBERS.map((name) => members[name]);
  return {
    url: `nats://dashboard:${busPasswords.dashboard}@${hostsOf(ports)}`,
    leader: () => all.find((server) => server?.pid !== null) ?? all[0],
  };
}

/** Waits until a bucket can have a replica on each server: the cluster is then complete. */
async function waitForStreams(url: string): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const bus = await connectBus({ url, service: 'billing', replica: 'start', log, bucketReplicas: NATS_MEMBERS.length });
  let failure: unknown;
  const isComplete = await poll(STREAMS_WAIT_MS, () =>
    bus
      .lookUpBucket(DATABASE_BUCKET)
      .get('timelines', ASK_MS)
      .then(
        () => true,
        (error: unknown) => ((failure = error), null),
      ),
  );
  await bus.drain(DRAIN_MS);
  if (isComplete === null) throw new Error(`the NATS servers cannot create a replicated stream: ${String(failure)}`);
}
