// Requests use up a cap. Alerts at shares of the cap are sent once each, by email and by webhook.
import { createHmac } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { AccountView, AlertView, WebhookDeliveryView, WebhookEvent } from '@gateway/contracts/operator';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat, HELLO } from '../test/call.js';
import { sharedSystem } from '../test/system.js';

const events: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
/** The customer's webhook receiver. */
const receiver = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text: string) => (body += text));
  request.on('end', () => {
    events.push({ headers: request.headers, body });
    response.writeHead(204).end();
  });
});
const system = sharedSystem();
const simulator = await startProviderSimulator();
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
afterAll(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
  await simulator.close();
});

/** Returns the emails to an address from the local mailbox. */
async function mailsTo(address: string): Promise<string[]> {
  const directory = `${process.env['GATEWAY_E2E_STATE']}/mailbox`;
  const names = (await readdir(directory)).filter((name) => name.endsWith('.eml')).sort();
  const mails = await Promise.all(names.map((name) => readFile(`${directory}/${name}`, 'utf8')));
  return mails.filter((mail) => mail.includes(`To: ${address}`));
}

/**
 * Whether billing knows the cap. The accounts service sends caps asynchronously, and only charges
 * after that raise alerts.
 */
async function knowsCap(key: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: system.postgresUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT FROM billing.spend_caps WHERE id = $1', [key]);
    return rowCount === 1;
  } finally {
    await client.end();
  }
}

test('a key cap posts four signed alerts, and emails the highest one of each request', async () => {
  const { operator } = system;
  const { account, key, secret } = await operator.account('1.00', { capUsd: '0.04' });
  const { email } = await operator.must<AccountView>('GET', `/accounts/${account}`);
  const model = await operator.model({ inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' }, [
    simulator.urls[0],
  ]);
  const { port } = receiver.address() as AddressInfo;
  const hook = await operator.must<{ secret: string }>('PUT', `/accounts/${account}/webhook`, {
    url: `http://127.0.0.1:${port}/events`,
  });
  await until('billing knows the cap', () => knowsCap(key));
  for (let call = 0; call < 4; call += 1) {
    const answer = await chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: model.id, messages: HELLO });
    expect(answer.status).toBe(200);
    await operator.record(answer.requestId);
  }
  const alerts = await until('all alerts are raised', async () => {
    const found = await operator.all<AlertView>(`/accounts/${account}/alerts`);
    return found.length === 4 && found.reverse();
  });
  expect(alerts).toMatchObject(
    [
      [50, '0.02'],
      [75, '0.03'],
      [90, '0.04'],
      [100, '0.04'],
    ].map(([thresholdPercent, used]) => ({
      thresholdPercent,
      used,
      limit: '0.04',
      accountId: account,
      subject: { kind: 'key_cap', keyId: key },
    })),
  );
  // The last request crosses two thresholds at the same time, and only the higher one is emailed.
  const mails = await until('all emails are sent', async () => {
    const found = await mailsTo(email);
    return found.length >= 3 && found;
  });
  expect(mails.map((mail) => /^Subject:\s+(\d+) %/m.exec(mail)?.[1]).sort()).toEqual(['100', '50', '75']);
  await until('all webhooks are delivered', async () => {
    const deliveries = await operator.all<WebhookDeliveryView>(`/accounts/${account}/webhook/deliveries`);
    return deliveries.length === 4 && deliveries.every(({ state }) => state === 'delivered');
  });
  expect(events.map(({ body }) => (JSON.parse(body) as WebhookEvent).data)).toEqual(alerts);
  for (const { headers, body } of events) {
    const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
    const key = Buffer.from(hook.secret.slice('whsec_'.length), 'base64');
    expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  }
});
