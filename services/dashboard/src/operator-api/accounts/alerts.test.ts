import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openSealed } from '@gateway/service-kit';
import { ACCOUNT, WEBHOOK } from '../../../test/examples.js';
import { errorOf, startOperatorWorld, type OperatorWorld, WEBHOOK_KEYS } from '../../../test/operator-world.js';

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  world.reset();
  world.scriptByName('accounts.get-account', () => ({ account: ACCOUNT }));
});

const sealedOf = () => world.asked.at(-1)?.body['sealedSecret'] as string;

test("putWebhook shows a new webhook's secret once and sends it sealed to billing", async () => {
  world.scriptByName('billing.put-webhook', () => ({ change: 'created', webhook: WEBHOOK }));
  const body = { url: WEBHOOK.url, enabled: false };
  const made = await world.send('PUT', '/accounts/acc_1/webhook', { body });
  const secret = made.body['secret'] as string;
  expect([made.status, secret]).toEqual([201, expect.stringMatching(/^whsec_[\w+/]{43}=$/)]);
  expect(openSealed(sealedOf(), 'webhook:acc_1', WEBHOOK_KEYS)).toBe(secret);
  expect(() => openSealed(sealedOf(), 'webhook:acc_2', WEBHOOK_KEYS)).toThrow();
  expect(world.asked.at(-1)?.body).toMatchObject({ account: 'acc_1', spec: body, author: { actor: 'operator:root' } });
  expect(JSON.stringify(world.asked)).not.toContain(secret);
  expect(JSON.stringify(world.log.lines)).not.toContain(secret);
});

test.each(['changed', 'unchanged'])('putWebhook shows no secret for a webhook that was %s', async (change) => {
  world.scriptByName('billing.put-webhook', () => ({ change, webhook: WEBHOOK }));
  const answer = await world.send('PUT', '/accounts/acc_1/webhook', { body: { url: WEBHOOK.url } });
  expect([answer.status, answer.body]).toEqual([200, { ...WEBHOOK, secret: null }]);
  expect(world.asked.at(-1)?.body).toMatchObject({ spec: { enabled: true } });
});

test('a rotation shows the new secret, but a repeated rotation shows none', async () => {
  for (const repeated of [false, true]) {
    world.scriptByName('billing.rotate-webhook-secret', () => ({ webhook: WEBHOOK, repeated }));
    const answer = await world.send('POST', '/accounts/acc_1/webhook/rotate-secret');
    const secret = answer.body['secret'];
    expect([answer.status, secret === null]).toEqual([200, repeated]);
    if (!repeated) expect(openSealed(sealedOf(), 'webhook:acc_1', WEBHOOK_KEYS)).toBe(secret);
  }
});

test.each([
  ['PUT', '/accounts/acc_9/webhook', { url: WEBHOOK.url }],
  ['GET', '/accounts/acc_9/webhook', undefined],
  ['DELETE', '/accounts/acc_9/webhook', undefined],
  ['POST', '/accounts/acc_9/webhook/rotate-secret', undefined],
  ['GET', '/accounts/acc_9/webhook/deliveries', undefined],
  ['GET', '/accounts/acc_9/alerts', undefined],
])('%s %s of an unknown account gets 404 and changes nothing', async (method, path, body) => {
  world.refuseByName('accounts.get-account', 'not_found');
  const answer = await world.send(method, path, { body });
  expect([answer.status, errorOf(answer).code]).toEqual([404, 'not_found']);
  expect(world.asked.map(({ name }) => name)).toEqual(['accounts.get-account']);
});
