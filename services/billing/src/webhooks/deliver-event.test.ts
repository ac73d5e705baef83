import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { onPool } from '@gateway/postgres';
import { publicHalfOf, sealTo, Secret, type OpeningKeys } from '@gateway/service-kit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startLedger } from '../../test/ledger-world.js';
import { type Alert, toWebhookEvent } from '../alerts/rules.js';
import { deliverEvent, EVENT_AGE_MS_MAX, NotDeliveredError, signWebhook } from './deliver-event.js';
import { createDeliveryStore } from './delivery-store.js';
import { createSecretSeal, resealSecrets } from './secrets.js';
import type { WebhookRequest, WebhookSender } from './sender.js';
import { createWebhookStore } from './store.js';
import { AUTHOR } from '../../test/ledger-verbs.js';

const DAY_MS = 86_400_000;
const RAISED = Date.UTC(2026, 10, 20, 12);
const key = (fill: number) => new Secret(Buffer.alloc(32, fill));
const [old, current] = [key(1), key(2)];

const ledger = duringTests(startLedger);
let now = RAISED;
let answer: Awaited<ReturnType<WebhookSender['post']>> = { status: 200 };
const sent: WebhookRequest[] = [];
beforeEach(async () => {
  await ledger.empty();
  now = RAISED;
  answer = { status: 200 };
  sent.length = 0;
});

const put = (account: string, under = current) =>
  createWebhookStore(ledger.pool).putWebhook({
    account,
    author: AUTHOR,
    enabled: true,
    url: 'https://hooks.example.com/',
    sealedSecret: sealTo('whsec_1', `webhook:${account}`, publicHalfOf(under)),
  });

async function waiting(account: string): Promise<{ body: object; id: string }> {
  const alert: Alert = {
    id: randomUUID(),
    account,
    threshold: 50,
    limit: 100n,
    used: 50n,
    raisedAt: RAISED,
    subject: { kind: 'key_cap', keyId: 'key-1' },
    periodStart: Date.UTC(2026, 10, 1),
    periodEnd: Date.UTC(2026, 11, 1),
  };
  await onPool(ledger.pool).execute('INSERT INTO webhook_deliveries (event, account) VALUES ($1, $2)', [
    alert.id,
    account,
  ]);
  return { body: toWebhookEvent(alert), id: alert.id };
}

const keysOf = (previous: Secret<Buffer> | null = null): OpeningKeys => ({
  privateKey: { current, previous },
});
const deliver = (row: { body: object }, keys = keysOf()) =>
  deliverEvent(
    {
      store: createDeliveryStore(ledger.pool),
      seal: createSecretSeal(keys),
      sender: { post: async (request) => (sent.push(request), answer) },
      now: () => now,
    },
    row,
  );
const deliveries = (account: string) =>
  createDeliveryStore(ledger.pool).deliveries({ account, before: null, limit: 100 });

test('an event is attempted for three days', async () => {
  expect(EVENT_AGE_MS_MAX).toBe(3 * DAY_MS);
  await put('a');
  const row = await waiting('a');
  answer = { status: 500 };
  for (const at of [0, DAY_MS, EVENT_AGE_MS_MAX - 1]) {
    now = RAISED + at;
    await expect(deliver(row)).rejects.toThrow(NotDeliveredError);
  }
  now = RAISED + EVENT_AGE_MS_MAX;
  await deliver(row);
  expect(await deliveries('a')).toMatchObject([
    { state: 'failed', attempts: 4, lastAttempts: Array(4).fill({ status: 500 }) },
  ]);
  await deliver(row);
  expect(sent).toHaveLength(4);
});

test.each([100, 199, 300, 301, 404, 410, 500])('the status %d is a failure', async (status) => {
  await put('a');
  answer = { status };
  await expect(deliver(await waiting('a'))).rejects.toThrow(`status ${status}`);
});

test('a delivered event is not sent again', async () => {
  await put('a');
  const row = await waiting('a');
  await deliver(row);
  await deliver(row);
  expect(sent).toHaveLength(1);
  expect(await deliveries('a')).toMatchObject([{ state: 'delivered', attempts: 1 }]);
});

test('an event without a webhook is dropped', async () => {
  await put('b');
  const row = await waiting('a');
  await deliver(row);
  expect([sent, await deliveries('a')]).toMatchObject([[], [{ state: 'dropped', attempts: 0, lastAttempts: [] }]]);
});

test('signWebhook() reproduces the example of the Standard Webhooks specification', () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  expect(signWebhook(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}')).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('every attempt has a new signature and its own time', async () => {
  await put('a');
  const row = await waiting('a');
  answer = { failure: 'timeout' };
  await expect(deliver(row)).rejects.toThrow('timeout');
  now += 61_999;
  answer = { status: 204 };
  await deliver(row);
  const [first, second] = sent.map(({ headers }) => headers);
  expect(Number(second?.['webhook-timestamp']) - Number(first?.['webhook-timestamp'])).toBe(61);
  expect(second?.['webhook-signature']).not.toBe(first?.['webhook-signature']);
  expect(sent[0]?.body).toBe(sent[1]?.body);
});

test('a delivery shows the last twenty attempts and counts all', async () => {
  await put('a');
  const row = await waiting('a');
  answer = { failure: 'connection' };
  for (let attempt = 0; attempt < 23; attempt += 1) {
    now += 1_000;
    await expect(deliver(row)).rejects.toThrow();
  }
  const [delivery] = await deliveries('a');
  expect([delivery?.attempts, delivery?.lastAttempts.length]).toEqual([23, 20]);
  expect(delivery?.lastAttempts.at(-1)?.at).toBe(new Date(now).toISOString());
  expect(delivery?.lastAttempts[0]?.at).toBe(new Date(RAISED + 4_000).toISOString());
});

test('deliveries that ended 30 days ago are deleted when the next one ends', async () => {
  await put('a');
  const [first, second, other] = [await waiting('a'), await waiting('a'), await waiting('b')];
  await deliver(first);
  await deliver(other);
  await onPool(ledger.pool).execute(
    "UPDATE webhook_deliveries SET ended_at = now() - interval '31 days' WHERE ended_at IS NOT NULL",
  );
  await deliver(second);
  expect((await deliveries('a')).map(({ event }) => event)).toEqual([second.id]);
  expect(await deliveries('b')).toHaveLength(1);
});

test('secrets are resealed to the current key; an unreadable one sends nothing', async () => {
  await put('a', old);
  await put('b', current);
  await put('c', key(3));
  const keys = keysOf(old);
  const row = await waiting('a');
  await expect(deliver(row)).rejects.toThrow('secret_unreadable');
  const store = createWebhookStore(ledger.pool);
  expect(await resealSecrets(store, createSecretSeal(keys))).toEqual({ resealed: 1, unreadable: 1 });
  expect(await resealSecrets(store, createSecretSeal(keys))).toEqual({ resealed: 0, unreadable: 1 });
  await deliver(row);
  expect(sent).toHaveLength(1);
});

test('a sealed secret opens only for its own account', async () => {
  const sealed = sealTo('whsec_1', 'webhook:a', publicHalfOf(current));
  const { open } = createSecretSeal(keysOf());
  expect([open(sealed, 'a'), open(sealed, 'b')]).toEqual(['whsec_1', null]);
});
