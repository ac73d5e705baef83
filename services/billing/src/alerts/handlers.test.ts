import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import {
  alertRaised,
  billingAlerts,
  billingApplyCaps,
  billingAudit,
  billingDeleteWebhook,
  billingGetWebhook,
  billingPutWebhook,
  billingRotateWebhookSecret,
  billingWebhookDeliveries,
  usageEvents,
  type RaisedAlert,
} from '@gateway/contracts/messages';
import type { WebhookEvent } from '@gateway/contracts/operator';
import { onPool } from '@gateway/postgres';
import { publicHalfOf, sealTo } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { startBillingWorld, WEBHOOK_KEY } from '../../test/billing-world.js';
import { createHold, createSettledEvent } from '../../test/events.js';
import { readHighestOfBatches } from '../../test/highest-of-batches.js';
import { startWebhookReceiver } from '../../test/webhook-receiver.js';
import { AUTHOR } from '../../test/ledger-verbs.js';
import { signWebhook } from '../webhooks/deliver-event.js';

/** No receiver here hangs, so the timeout of a delivery may be shorter than the sender's. */
const OPTIONS = {
  privateAllowed: true,
  webhookTiming: { retryBaseMs: 20, retryMaxMs: 200, leaseMs: 10_000, deliverMs: 5_000 },
};
const SECRET = 'whsec_first';
/**
 * Longer than the leases of both outboxes. A delivery whose worker loses the database before it
 * records the result is repeated after the lease.
 */
const AFTER_LEASE_MS = 45_000;

const world = duringTests(startBillingWorld);
let edge: Bus;
let accountsBus: Bus;
let dashboard: Bus;
const receiver = duringTests(startWebhookReceiver);
/** Alerts that accounts received. */
const mailed: RaisedAlert[] = [];
let accountsAnswer = true;
let names = 0;
const fresh = (): string => `account-${(names += 1)}`;

beforeAll(async () => {
  [edge, accountsBus, dashboard] = await Promise.all([
    world.connect('edge-proxy'),
    world.connect('accounts'),
    world.connect('dashboard'),
  ]);
  accountsBus.serve(alertRaised, async (alert) => {
    if (!accountsAnswer) throw new Error('this test lets accounts fail');
    mailed.push(alert);
    return { accepted: true as const };
  });
  await Promise.all([world.start('one', undefined, OPTIONS), world.start('two', undefined, OPTIONS)]);
}, 60_000);
beforeEach(() => {
  accountsAnswer = true;
  receiver.answer = 204;
  receiver.received.length = 0;
  mailed.length = 0;
});

const capped = (account: string, capNanoUsd: number | null = 100, version = 1) =>
  accountsBus.request(billingApplyCaps, {
    account,
    caps: [{ kind: 'key', id: `key-${account}`, capNanoUsd, version }],
  });
const charge = (account: string, amount: number) =>
  edge.store(usageEvents, { group: 0 }, { events: [createSettledEvent(createHold(account), amount)] });
const put = async (account: string, spec: object = {}, secret = SECRET) =>
  dashboard.request(billingPutWebhook, {
    account,
    spec: { url: receiver.url, enabled: true, ...spec },
    sealedSecret: sealTo(secret, `webhook:${account}`, publicHalfOf(WEBHOOK_KEY)),
    author: AUTHOR,
  });
const alertsOf = async (account: string, limit = 50, cursor: string | null = null) =>
  expectAccepted(await dashboard.request(billingAlerts, { account, limit, cursor }));
const deliveriesOf = async (account: string, limit = 50, cursor: string | null = null) =>
  expectAccepted(await dashboard.request(billingWebhookDeliveries, { account, limit, cursor }));
const mailedOf = (account: string) =>
  mailed.filter((alert) => alert.account === account).map(({ threshold }) => threshold);
const eventOf = ({ body }: { body: string }) => JSON.parse(body) as WebhookEvent;
const thresholdsOf = (account: string) =>
  receiver.received
    .map(eventOf)
    .filter(({ data }) => data.accountId === account)
    .map(({ data }) => data.thresholdPercent);

test('an alert is listed, sent to accounts and posted with a verifiable signature', async () => {
  const account = fresh();
  await capped(account);
  expect(await put(account)).toMatchObject({ change: 'created', webhook: { accountId: account, enabled: true } });
  await charge(account, 60);
  const posted = await until('the event is posted', () => receiver.received[0]);
  await until('accounts gets the alert', () => mailed[0]);
  const { alerts } = await alertsOf(account);
  expect(alerts).toMatchObject([
    {
      accountId: account,
      subject: { kind: 'key_cap', keyId: `key-${account}` },
      thresholdPercent: 50,
      limit: '0.0000001',
      used: '0.00000006',
      periodStart: '2026-11-01T00:00:00.000Z',
      periodEnd: '2026-12-01T00:00:00.000Z',
    },
  ]);
  expect(mailed).toMatchObject([{ id: alerts[0]?.id, account, threshold: 50, limit: 100, used: 60 }]);
  const timestamp = Number(posted.headers['webhook-timestamp']);
  expect(Math.abs(timestamp - Date.now() / 1_000)).toBeLessThan(60);
  expect(posted).toMatchObject({
    path: '/hook?tenant=1',
    headers: {
      'content-type': 'application/json',
      ...signWebhook(SECRET, String(alerts[0]?.id), timestamp, posted.body),
    },
  });
  expect(eventOf(posted)).toEqual({
    id: alerts[0]?.id,
    type: 'alert.raised',
    createdAt: alerts[0]?.raisedAt,
    data: alerts[0],
  });
  const { deliveries } = await until('the delivery has ended', async () => {
    const page = await deliveriesOf(account);
    return page.deliveries[0]?.state === 'delivered' && page;
  });
  expect(deliveries).toMatchObject([
    { eventId: alerts[0]?.id, attempts: 1, lastAttempts: [{ failure: null, status: 204 }] },
  ]);
});

test('a failing receiver later gets every event in order, and blocks no other account', async () => {
  const [failing, other] = [fresh(), fresh()];
  await Promise.all([capped(failing), capped(other)]);
  await put(failing);
  receiver.answer = 500;
  await charge(failing, 50);
  await until('a first attempt has failed', () => thresholdsOf(failing).length > 0);
  // One at a time, because accounts gets only the highest alert of a batch.
  for (const [index, amount] of [25, 15, 10].entries()) {
    await until('the one before is raised', async () => (await alertsOf(failing)).alerts.length === index + 1);
    await charge(failing, amount);
  }
  await until('all four are raised', async () => (await alertsOf(failing)).alerts.length === 4);
  await until('several attempts have failed', async () => {
    const { deliveries } = await deliveriesOf(failing);
    return (deliveries.at(-1)?.attempts ?? 0) >= 3;
  });
  expect(new Set(thresholdsOf(failing))).toEqual(new Set([50]));
  await charge(other, 60);
  await until('the other account gets its alert', () => mailedOf(other).length === 1);
  receiver.received.length = 0;
  receiver.answer = 204;
  await until('all are delivered', async () => {
    const { deliveries } = await deliveriesOf(failing);
    return deliveries.every(({ state }) => state === 'delivered');
  });
  expect(thresholdsOf(failing)).toEqual([50, 75, 90, 100]);
  const { deliveries } = await deliveriesOf(failing);
  expect(deliveries.at(-1)?.lastAttempts[0]).toMatchObject({ failure: 'status', status: 500 });
  await until('accounts gets the last alert', () => mailedOf(failing).includes(100));
  expect(mailedOf(failing)).toEqual([50, 75, 90, 100]);
});

test('accounts receives an alert after an outage', async () => {
  const account = fresh();
  await capped(account);
  accountsAnswer = false;
  await charge(account, 80);
  await until('both are raised', async () => (await alertsOf(account)).alerts.length === 2);
  accountsAnswer = true;
  await until('accounts gets the alert', () => mailedOf(account).length > 0);
  expect(mailedOf(account)).toEqual([75]);
});

test('a charge that crosses every threshold is emailed once, as the highest', async () => {
  const account = fresh();
  await capped(account);
  await put(account);
  await charge(account, 100);
  await until('all are posted', () => thresholdsOf(account).length === 4);
  await until('accounts gets the alert', () => mailedOf(account).includes(100));
  expect((await alertsOf(account)).alerts.map(({ thresholdPercent }) => thresholdPercent)).toEqual([100, 90, 75, 50]);
  // The outbox keeps the order, so the next account's alert arrives after all alerts of this one.
  const next = fresh();
  await capped(next);
  await charge(next, 50);
  await until('the next alert arrives', () => mailedOf(next).length === 1);
  expect(mailedOf(account)).toEqual([100]);
});

test('each alert is raised and delivered once while replicas and connections break', async () => {
  const accounts = Array.from({ length: 8 }, fresh);
  await Promise.all(accounts.map((account) => capped(account, 1_000)));
  await Promise.all(accounts.map((account) => put(account)));
  const third = await world.start('three', undefined, OPTIONS);
  const charging = (async () => {
    for (let round = 0; round < 25; round += 1) await Promise.all(accounts.map((account) => charge(account, 45)));
  })();
  const ending = (async () => {
    for (let round = 0; round < 10; round += 1) {
      // Terminates every database connection. Running transactions may or may not have committed.
      await onPool(world.ledger.admin).query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE usename = 'gateway_billing' AND datname = current_database()`,
      );
      await until(
        'some events are settled',
        async () => (await alertsOf(accounts[0] as string).catch(() => null)) !== null,
      );
    }
  })();
  await Promise.all([charging, ending]);
  await third.stop();
  for (const account of accounts) {
    const ended = async (): Promise<boolean> => {
      const { deliveries } = await deliveriesOf(account);
      return (
        deliveries.length === 4 &&
        deliveries.every(({ state }) => state === 'delivered') &&
        mailedOf(account).includes(100)
      );
    };
    await until('both deliveries have ended', ended, AFTER_LEASE_MS);
    const { alerts } = await alertsOf(account);
    expect(alerts.map(({ thresholdPercent }) => thresholdPercent)).toEqual([100, 90, 75, 50]);
    expect([...new Set(mailedOf(account))]).toEqual(await readHighestOfBatches(world.ledger.pool, account));
    // A webhook gets each event at least once, with the same ID; without repetitions the events are
    // in order.
    expect([...new Set(thresholdsOf(account))]).toEqual([50, 75, 90, 100]);
    const ids = receiver.received.map(eventOf).filter(({ data }) => data.accountId === account);
    expect(new Set(ids.map(({ id }) => id)).size).toBe(4);
  }
}, 120_000);

describe('webhooks', () => {
  test('can be put, shown, changed and deleted, with audit entries and without secrets', async () => {
    const account = fresh();
    const of = { account };
    expect(await dashboard.request(billingGetWebhook, of)).toMatchObject({ refused: { code: 'not_found' } });
    expect(await put(account)).toMatchObject({ change: 'created' });
    expect(await put(account)).toMatchObject({ change: 'unchanged' });
    expect(await put(account, { enabled: false })).toMatchObject({ change: 'changed' });
    expect(await dashboard.request(billingGetWebhook, of)).toMatchObject({
      webhook: { accountId: account, url: receiver.url, enabled: false },
    });
    const gone = { account, author: AUTHOR };
    expect(await dashboard.request(billingDeleteWebhook, gone)).toEqual({ deleted: true });
    expect(await dashboard.request(billingDeleteWebhook, gone)).toMatchObject({ refused: { code: 'not_found' } });
    const { entries } = expectAccepted(
      await dashboard.request(billingAudit, { account, object: null, cursor: null, limit: 50 }),
    );
    expect(entries.map(({ action }) => action)).toEqual(['delete_webhook', 'put_webhook', 'put_webhook']);
    expect(JSON.stringify(entries)).not.toContain('sealed');
  });

  test('cannot be put for a closed account', async () => {
    const account = fresh();
    await put(account);
    await onPool(world.ledger.admin).execute('UPDATE accounts SET closed_at = now() WHERE account = $1', [account]);
    expect(await put(account, { enabled: false })).toMatchObject({ refused: { code: 'state_conflict' } });
  });

  test('sign with the rotated secret; a repeated command does not rotate again', async () => {
    const account = fresh();
    await capped(account);
    await put(account);
    const [first, second] = ['0193a1b2-0000-7000-8000-000000000001', '0193a1b2-0000-7000-8000-000000000002'] as const;
    const rotate = (command: string, secret: string) =>
      dashboard.request(billingRotateWebhookSecret, {
        account,
        sealedSecret: sealTo(secret, `webhook:${account}`, publicHalfOf(WEBHOOK_KEY)),
        author: AUTHOR,
        command,
      });
    expect(await rotate(first, 'whsec_second')).toMatchObject({ repeated: false });
    expect(await rotate(first, 'whsec_third')).toMatchObject({ repeated: true });
    expect(await rotate(second, 'whsec_fourth')).toMatchObject({ repeated: false });
    expect(await rotate(first, 'whsec_fifth')).toMatchObject({ repeated: true });
    await put(account, { url: `${receiver.url}&changed=1` }, 'whsec_sixth');
    await charge(account, 50);
    const posted = await until('the event is posted', () => receiver.received[0]);
    const { 'webhook-id': id, 'webhook-timestamp': timestamp } = posted.headers;
    expect(posted.headers).toMatchObject(signWebhook('whsec_fourth', String(id), Number(timestamp), posted.body));
  });

  test.each([
    ['disabled', (account: string) => put(account, { enabled: false })],
    ['deleted', (account: string) => dashboard.request(billingDeleteWebhook, { account, author: AUTHOR })],
  ])('drop waiting events when they are %s', async (_what, end) => {
    const account = fresh();
    await capped(account);
    await put(account);
    receiver.answer = 503;
    await charge(account, 80);
    await until('an attempt has failed', () => thresholdsOf(account).length > 0);
    await end(account);
    await until('the waiting events are dropped', async () => {
      const { deliveries } = await deliveriesOf(account);
      return deliveries.length === 2 && deliveries.every(({ state }) => state === 'dropped');
    });
    receiver.answer = 204;
    await put(account);
    receiver.received.length = 0;
    await charge(account, 10);
    await until('the next one is posted', () => thresholdsOf(account).length > 0);
    expect(thresholdsOf(account)).toEqual([90]);
  });

  test('send a waiting event to a new address immediately', async () => {
    const account = fresh();
    await capped(account);
    await put(account, { url: `http://127.0.0.1:1/` });
    await charge(account, 50);
    await until('an attempt has failed', async () => ((await deliveriesOf(account)).deliveries[0]?.attempts ?? 0) > 0);
    await put(account);
    await until('it is posted', () => thresholdsOf(account).length === 1);
    const [delivery] = (
      await until('it has ended', async () => {
        const page = await deliveriesOf(account);
        return page.deliveries[0]?.state === 'delivered' && page;
      })
    ).deliveries;
    expect(delivery?.lastAttempts[0]).toMatchObject({ failure: 'connection', status: null });
  });

  test.each(['https://169.254.169.254/', 'http://example.com/', 'https://a:b@example.com/'])(
    'refuse %s',
    async (url) => {
      const refusedHere = url.startsWith('https') ? await putStrictly(url) : await put(fresh(), { url });
      expect(refusedHere).toMatchObject({ refused: { code: 'invalid_request', param: 'url' } });
    },
  );

  async function putStrictly(url: string) {
    const { putWebhook } = await import('../webhooks/handlers.js');
    const deps = { privateAllowed: false, store: null as never };
    return putWebhook(deps, { account: 'a', spec: { url, enabled: true }, sealedSecret: 's', author: AUTHOR });
  }
});

test('lists are paged, newest first, and refuse the cursor of another list', async () => {
  const account = fresh();
  await capped(account);
  await put(account);
  await charge(account, 100);
  await until('all are raised', async () => (await alertsOf(account)).alerts.length === 4);
  const first = await alertsOf(account, 3);
  const second = await alertsOf(account, 3, first.nextCursor);
  expect([...first.alerts, ...second.alerts].map(({ thresholdPercent }) => thresholdPercent)).toEqual([
    100, 90, 75, 50,
  ]);
  expect(second.nextCursor).toBeNull();
  const page = await deliveriesOf(account, 3);
  expect((await deliveriesOf(account, 3, page.nextCursor)).deliveries).toHaveLength(1);
  expect(await dashboard.request(billingAlerts, { account, limit: 3, cursor: 'elsewhere' })).toMatchObject({
    refused: { code: 'invalid_request', param: 'cursor' },
  });
});
