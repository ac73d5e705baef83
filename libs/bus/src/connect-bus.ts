import type { ServiceName } from '@gateway/contracts/messages';
import type { COMMON_FIELDS, ServiceContext, Timer } from '@gateway/service-kit';
import { createRequester } from './requests/ask.js';
import type { Bus, BusOptions } from './bus.js';
import { openConnection, type Link } from './connection.js';
import { startConsumer } from './streams/consume.js';
import { readDelivery } from './streams/delivery.js';
import { Subscriptions } from './requests/subscriptions.js';
import { loadLast } from './buckets/load-last.js';
import { startMirror } from './buckets/mirror-bucket.js';
import { createLookUpBuckets } from './buckets/look-up-bucket.js';
import { createPublisher } from './streams/publish.js';
import { createBucketPublisher } from './buckets/publish-bucket.js';
import { ReplyInbox } from './requests/reply-inbox.js';
import { createRequestServer } from './requests/serve.js';
import { createStore } from './streams/store.js';
import { createStreamClient } from './streams/streams.js';
import { decodeMessage, encodeBody } from './wire.js';

/**
 * Connects a process to the bus. Rejects with a BusFault if NATS is not reachable within
 * `waitForFirstConnectMs` or refuses the user. After the first connection it reconnects
 * indefinitely.
 */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const link = await openConnection(options);
  const inbox = new ReplyInbox(link);
  const subscriptions = new Subscriptions(link);
  const readers = new Set<{ stop(): Promise<void> }>();
  const kept = <T extends { stop(): Promise<void> }>(reader: T): T => {
    readers.add(reader);
    return reader;
  };
  let draining: Promise<void> | undefined;

  return {
    service: link.service,
    replica: link.replica,
    connected: link.connected,
    onReconnect: link.onReconnect,
    onDisconnect: link.onDisconnect,
    ...createRequester(link, inbox),
    ...createPublisher(link, subscriptions),
    ...createStore(link, inbox),
    ...createRequestServer(link, subscriptions),
    ...createStreamClient(inbox),
    ...createBucketPublisher(link, inbox, options.bucketReplicas ?? 1),
    ...createLookUpBuckets(inbox, options.bucketReplicas ?? 1),
    encode: encodeBody,
    decode: decodeMessage,
    consume: (consumption) => kept(startConsumer(link, inbox, consumption)),
    lastPerSubject: async (stream, filterSubject, { headersOnly = false } = {}) =>
      (await loadLast(link, inbox, stream, filterSubject, headersOnly)).map(readDelivery),
    mirrorBucket: (bucket, onSwap) => kept(startMirror(link, inbox, bucket, onSwap)),
    listening: () => (link.connected() ? link.nats.flush().catch(() => undefined) : Promise.resolve()),
    drain: (timeoutMs) => (draining ??= drain(link, inbox, subscriptions, readers, timeoutMs)),
  };
}

type ServiceBusContext = Pick<
  ServiceContext<Pick<typeof COMMON_FIELDS, 'GATEWAY_NATS_URL' | 'GATEWAY_STREAM_REPLICAS'>>,
  'config' | 'replica' | 'log' | 'clock'
>;

/** Connects a service with the settings of its environment, like {@link connectBus}. */
export function connectService(service: ServiceName, { config, replica, log, clock }: ServiceBusContext): Promise<Bus> {
  const url = config.GATEWAY_NATS_URL.reveal();
  return connectBus({ url, service, replica, log, clock, bucketReplicas: config.GATEWAY_STREAM_REPLICAS });
}

async function drain(
  link: Link,
  inbox: ReplyInbox,
  subscriptions: Subscriptions,
  readers: ReadonlySet<{ stop(): Promise<void> }>,
  timeoutMs: number,
): Promise<void> {
  let timer: Timer | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = link.clock.setTimer(timeoutMs, () => resolve('late'));
  });
  const quiet = (async () => {
    await Promise.all([subscriptions.close(), ...[...readers].map((reader) => reader.stop())]);
    if (link.connected()) await link.nats.flush();
  })();
  const end = await Promise.race([quiet.catch((error: unknown) => error), late]);
  timer?.cancel();
  if (end !== undefined) link.log.warn({ end, timeoutMs }, 'the bus was not drained');
  inbox.stop();
  await link.nats.close();
}
