import { createServer, type AddressInfo, type LookupFunction } from 'node:net';
import { beforeEach, expect, test } from '@jest/globals';
import { duringTests } from '@gateway/testkit/during-tests';
import { startWebhookReceiver } from '../../test/webhook-receiver.js';
import { createWebhookSender } from './sender.js';

const receiver = duringTests(startWebhookReceiver);
beforeEach(() => {
  receiver.received.length = 0;
  receiver.answer = 204;
});

const request = (url = receiver.url) => ({ url, headers: { 'x-one': '1' }, body: '{"a":1}' });

/** A resolver that returns these addresses, one list per lookup. */
function resolver(...answers: (readonly string[])[]): LookupFunction & { asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, options, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    process.nextTick(() =>
      options.all === true ? callback(null, found) : callback(null, found[0]?.address ?? '', found[0]?.family),
    );
  };
  return Object.assign(lookup, { asked });
}

test.each([200, 204, 299, 302, 307, 404, 500])(
  'post() returns the status %d and follows no redirect',
  async (status) => {
    receiver.answer = (response) => response.writeHead(status, { location: `${receiver.url}/other` }).end('x');
    expect(await createWebhookSender({ privateAllowed: true }).post(request())).toEqual({ status });
    expect(receiver.received).toMatchObject([{ path: '/hook?tenant=1', body: '{"a":1}', headers: { 'x-one': '1' } }]);
  },
);

test('post() returns after the headers, even if the body never ends', async () => {
  receiver.answer = (response) => void response.writeHead(200).write('begun');
  expect(await createWebhookSender({ privateAllowed: true }).post(request())).toEqual({ status: 200 });
});

test('post() reports timeouts, refused connections and other protocols', async () => {
  const sender = createWebhookSender({ privateAllowed: true, timeoutMs: 100 });
  receiver.answer = () => undefined;
  expect(await sender.post(request())).toEqual({ failure: 'timeout' });
  const other = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .resume()
      .end('SSH-2.0\r\n'),
  );
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  expect(await sender.post(request(`http://127.0.0.1:${port}/`))).toEqual({ failure: 'connection' });
  await new Promise((resolve) => other.close(resolve));
  expect(await sender.post(request(`http://127.0.0.1:${port}/`))).toEqual({ failure: 'connection' });
});

test.each(['127.0.0.1', 'localhost', '[::1]', '169.254.169.254', '2130706433', '[::ffff:127.0.0.1]'])(
  'post() to %s is refused when private addresses are not allowed',
  async (host) => {
    const sender = createWebhookSender({ privateAllowed: false, timeoutMs: 2_000 });
    expect(await sender.post(request(`http://${host}:${receiver.port}/`))).toEqual({ failure: 'private_address' });
    expect(receiver.received).toEqual([]);
  },
);

test.each([
  ['a name with a private address', ['127.0.0.1']],
  ['the metadata service', ['169.254.169.254']],
  ['an IPv4 address in IPv6', ['::ffff:127.0.0.1']],
  ['a private address among public ones', ['1.1.1.1', '127.0.0.1']],
  ['an address with a zone', ['fe80::1%lo']],
])('post() refuses %s after the lookup', async (_what, addresses) => {
  const sender = createWebhookSender({ privateAllowed: false, timeoutMs: 2_000, lookup: resolver(addresses) });
  const answer = await sender.post(request(`http://hooks.example.com:${receiver.port}/`));
  expect(answer).toEqual({ failure: 'private_address' });
  expect(receiver.received).toEqual([]);
});

test('post() looks up the name once and connects only to the checked addresses', async () => {
  const lookup = resolver(['192.0.2.1'], ['127.0.0.1']);
  const sender = createWebhookSender({ privateAllowed: false, timeoutMs: 300, lookup });
  const url = `http://rebinding.example.com:${receiver.port}/`;
  expect(await sender.post(request(url))).toEqual({ failure: 'private_address' });
  expect(await sender.post(request(url))).toEqual({ failure: 'private_address' });
  expect(lookup.asked).toEqual(['rebinding.example.com', 'rebinding.example.com']);
  const allowed = createWebhookSender({ privateAllowed: true, lookup: resolver(['127.0.0.1'], ['192.0.2.1']) });
  expect(await allowed.post(request(url))).toEqual({ status: 204 });
  expect(receiver.received).toHaveLength(1);
});
