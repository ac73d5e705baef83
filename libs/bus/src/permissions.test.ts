import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { connect, type NatsConnection } from 'nats';
import { startBusWorld, USAGE_SETTINGS, TEST_TIMEOUT_MS, until, type BusWorld } from '../test/bus-world.js';
import { TEST_BUCKETS, TEST_MESSAGES, unserved } from '../test/messages.js';
import { natsAuthorization, permissionsOf } from './index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

let world: BusWorld;
const raw: NatsConnection[] = [];

beforeAll(async () => {
  world = await startBusWorld();
  const [billing, catalog] = await Promise.all([world.connect('billing'), world.connect('catalog')]);
  await billing.ensureStream(USAGE_SETTINGS);
  await catalog.publishBucket('catalog', new Map([['a', 'b']]), 1);
});
afterAll(async () => {
  await Promise.all(raw.map((nats) => nats.close()));
  await world.stop();
});

/** Connects as a service without the bus and collects what the server refuses. */
async function intruder(service: ServiceName): Promise<{ nats: NatsConnection; refused: string[] }> {
  const url = new URL(world.urlFor(service));
  const nats = await connect({ servers: url.host, user: service, pass: decodeURIComponent(url.password) });
  raw.push(nats);
  const refused: string[] = [];
  void (async () => {
    for await (const { permissionContext } of nats.status()) {
      if (permissionContext) refused.push(`${permissionContext.operation} ${permissionContext.subject}`);
    }
  })();
  return { nats, refused };
}

const FORBIDDEN: readonly [ServiceName, 'publish' | 'subscription', string][] = [
  ['edge-proxy', 'subscription', '_INBOX_admission.>'],
  ['edge-proxy', 'subscription', '_INBOX_*.>'],
  ['edge-proxy', 'subscription', '_INBOX.>'],
  ['edge-proxy', 'subscription', '>'],
  ['edge-proxy', 'subscription', 'test.echo'],
  ['edge-proxy', 'subscription', 'test.recorded.0'],
  ['edge-proxy', 'subscription', '$KV.catalog.>'],
  ['edge-proxy', 'publish', '_INBOX_admission.abc.1'],
  ['edge-proxy', 'publish', 'test.notice.e0'],
  ['edge-proxy', 'publish', '$KV.catalog.head'],
  ['edge-proxy', 'publish', '$JS.API.STREAM.CREATE.USAGE'],
  ['edge-proxy', 'publish', '$JS.API.STREAM.DELETE.USAGE'],
  ['edge-proxy', 'publish', '$JS.API.STREAM.PURGE.USAGE'],
  ['edge-proxy', 'publish', '$JS.API.STREAM.CREATE.MINE'],
  ['edge-proxy', 'publish', '$JS.API.STREAM.MSG.GET.USAGE'],
  ['edge-proxy', 'publish', '$JS.API.DIRECT.GET.USAGE'],
  ['edge-proxy', 'publish', '$JS.API.CONSUMER.CREATE.USAGE'],
  ['edge-proxy', 'publish', '$JS.API.CONSUMER.DURABLE.CREATE.USAGE.shard-0'],
  ['edge-proxy', 'publish', '$JS.API.CONSUMER.MSG.NEXT.USAGE.shard-0'],
  ['edge-proxy', 'publish', '$JS.ACK.USAGE.shard-0.1.1.1.1.0'],
  ['edge-proxy', 'publish', '$JS.API.CONSUMER.CREATE.HEARTBEATS'],
  ['edge-proxy', 'publish', '$JS.API.STREAM.PURGE.KV_catalog'],
  ['edge-proxy', 'publish', '$JS.API.STREAM.PURGE.KV_notes'],
  ['edge-proxy', 'publish', '$JS.API.DIRECT.GET.KV_catalog.$KV.catalog.head'],
  ['admission', 'publish', '$KV.notes.entry.a'],
  ['admission', 'publish', '$JS.API.DIRECT.GET.KV_notes.$KV.notes.entry.a'],
  ['admission', 'publish', '$KV.catalog.entry.a'],
  ['admission', 'publish', '$JS.API.STREAM.PURGE.USAGE'],
  ['admission', 'publish', '$JS.API.CONSUMER.MSG.NEXT.USAGE.shard-0'],
  ['admission', 'publish', '_INBOX_edge-proxy.abc.1'],
  ['billing', 'publish', 'test.recorded.0'],
  ['billing', 'publish', '$JS.API.CONSUMER.DELETE.USAGE.shard-0'],
  ['billing', 'publish', '$JS.API.STREAM.PURGE.HEARTBEATS'],
  ['billing', 'publish', '$JS.API.CONSUMER.CREATE.KV_catalog'],
  ['catalog', 'publish', '$JS.API.STREAM.CREATE.KV_other'],
  ['catalog', 'publish', '$JS.API.STREAM.INFO.USAGE'],
  ['accounts', 'publish', 'test.echo'],
  ['dashboard', 'publish', '$KV.catalog.head'],
];

test('a service with no messages gets only its inbox, not every permission', () => {
  expect(permissionsOf('accounts', TEST_MESSAGES, TEST_BUCKETS)).toEqual({
    publish: [],
    subscribe: ['_INBOX_accounts.>'],
  });
});

test.each(FORBIDDEN)('%s is denied %s on %s', async (service, operation, subject) => {
  const { nats, refused } = await intruder(service);
  if (operation === 'publish') nats.publish(subject, 'x');
  else nats.subscribe(subject, { callback: () => undefined });
  await nats.flush();
  await until('refused', () => refused.length > 0);
  expect(refused).toEqual([`${operation} ${subject}`]);
});

test('a forbidden request fails at once with forbidden', async () => {
  const dashboard = await world.connect('dashboard');
  // A timeout would have another code.
  await expect(dashboard.streamState('USAGE')).rejects.toMatchObject({ code: 'forbidden' });
});

test('a service cannot reply for another service', async () => {
  const edge = await world.connect('edge-proxy');
  const [admission, billing] = [await intruder('admission'), await intruder('billing')];
  const inboxes: string[] = [];
  billing.nats.subscribe('test.unserved', { callback: (_error, message) => void inboxes.push(String(message.reply)) });
  await billing.nats.flush();
  const asked = edge.request(unserved, {}, { timeoutMs: 10_000 });
  await until('asked', () => inboxes.length === 1);
  const inbox = String(inboxes[0]);
  const answer = JSON.stringify({ who: 'admission', v: 1 });

  admission.nats.publish(inbox, answer);
  await until('refused', () => admission.refused.length > 0);
  expect(admission.refused).toEqual([`publish ${inbox}`]);
  // It may publish with the ending of a request that it serves, but the requester expects another
  // ending.
  admission.nats.publish(inbox.replace(/test\.unserved$/, 'test.echo'), answer);
  await admission.nats.flush();
  expect(admission.refused).toHaveLength(1);

  billing.nats.publish(inbox, JSON.stringify({ who: 'billing', v: 1 }));
  expect(await asked).toEqual({ who: 'billing' });
});

test('no service may delete streams or consumers or read other inboxes', () => {
  for (const messages of [MESSAGES, TEST_MESSAGES]) {
    for (const service of SERVICE_NAMES) {
      const { publish, subscribe } = permissionsOf(service, messages);
      expect(publish.filter((subject) => /^[>*]|DELETE|^\$JS\.API\.>|^\$SYS|^_INBOX.*>/.test(subject))).toEqual([]);
      expect(subscribe.filter((subject) => subject.startsWith('_INBOX'))).toEqual([`_INBOX_${service}.>`]);
      expect(subscribe.filter((subject) => /^[>*$]/.test(subject))).toEqual([]);
    }
  }
});

test('the permissions of a service are exactly those that its messages need', () => {
  expect(permissionsOf('edge-proxy', TEST_MESSAGES, TEST_BUCKETS)).toEqual({
    publish: [
      '$JS.API.CONSUMER.CREATE.KV_catalog',
      '$JS.API.CONSUMER.MSG.NEXT.KV_catalog.*',
      '$JS.API.DIRECT.GET.KV_notes.>',
      '$JS.API.STREAM.CREATE.KV_notes',
      '$JS.API.STREAM.INFO.HEARTBEATS',
      '$JS.API.STREAM.INFO.KV_notes',
      '$JS.API.STREAM.INFO.USAGE',
      '$JS.API.STREAM.MSG.GET.KV_notes',
      '$JS.API.STREAM.UPDATE.KV_notes',
      '$KV.notes.>',
      '_INBOX_admission.*.*.test.look-up',
      'test.count',
      'test.echo',
      'test.echo.*',
      'test.pulse.*',
      'test.recorded.*',
      'test.square',
      'test.square.*',
      'test.unserved',
    ],
    subscribe: ['_INBOX_edge-proxy.>', 'test.job', 'test.look-up', 'test.notice.*'],
  });
  expect(permissionsOf('billing', TEST_MESSAGES, TEST_BUCKETS)).toEqual({
    publish: [
      '$JS.ACK.USAGE.>',
      '$JS.API.CONSUMER.CREATE.USAGE',
      '$JS.API.CONSUMER.DURABLE.CREATE.USAGE.*',
      '$JS.API.CONSUMER.INFO.USAGE.*',
      '$JS.API.CONSUMER.MSG.NEXT.USAGE.*',
      '$JS.API.STREAM.CREATE.USAGE',
      '$JS.API.STREAM.INFO.USAGE',
      '$JS.API.STREAM.MSG.GET.USAGE',
      '$JS.API.STREAM.PURGE.USAGE',
      '$JS.API.STREAM.UPDATE.USAGE',
      '_INBOX_edge-proxy.*.*.test.unserved',
    ],
    subscribe: ['_INBOX_billing.>', 'test.recorded.*', 'test.unserved'],
  });
});

test('a password that the configuration cannot represent is refused', () => {
  const passwords = Object.fromEntries(SERVICE_NAMES.map((name) => [name, 'line\nbreak'])) as Record<
    ServiceName,
    string
  >;
  expect(() => natsAuthorization(passwords, TEST_MESSAGES)).toThrow('printable');
});
