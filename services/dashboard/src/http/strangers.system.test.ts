import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { liveBytes, until } from '@gateway/testkit';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { PAGE_EXAMPLES } from '../../test/page-examples.js';
import { DASHBOARD_ORIGIN, PEOPLE, startPagesWorld, type PagesWorld } from '../../test/pages-world.js';
import { REQUESTS_OPEN_MAX } from './listener.js';

const STALLED_MS = 1_000;
/** More than the socket buffers of both sides hold. */
const LARGE_BYTES = 16 * 1024 * 1024;
/** Attacks and good requests come from different networks. */
const ATTACKER = '127.0.0.1';
const GOOD = '127.0.0.2';
const BUSY = '127.0.0.3';

let world: PagesWorld;
let proxied: PagesWorld;
const sockets: Socket[] = [];

beforeAll(async () => {
  world = await startPagesWorld({}, { stalledMsMax: STALLED_MS, largeFileBytes: LARGE_BYTES });
  proxied = await startPagesWorld({ GATEWAY_DASHBOARD_PROXIES: 1 });
});
beforeEach(() => {
  world.reset();
  proxied.reset();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await until('nothing is open', () => world.dashboard.requestsOpen() + proxied.dashboard.requestsOpen() === 0);
});
afterAll(async () => {
  await world.stop();
  await proxied.stop();
});

/** Opens a connection and sends `bytes`. Collects the response if `reads` is true. */
async function open(of: PagesWorld, from: string, bytes: string, reads = true): Promise<{ text: () => string }> {
  const { hostname, port } = new URL(of.dashboard.pagesUrl);
  const socket = connect({ host: hostname, port: Number(port), localAddress: from });
  sockets.push(socket);
  let answered = '';
  socket.on('error', () => undefined);
  if (reads) socket.setEncoding('utf8').on('data', (part: string) => (answered += part));
  else socket.pause();
  await once(socket, 'connect');
  socket.write(bytes);
  return { text: () => answered };
}

const post = (path: string, headers: readonly string[], body = ''): string =>
  [`POST ${path} HTTP/1.1`, 'host: x', 'content-type: application/json', ...headers, '', body].join('\r\n');
const get = (path: string, headers: readonly string[] = []): string =>
  [`GET ${path} HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n');
const cookieOf = (who: keyof typeof PEOPLE): string => `cookie: gw_session=${PEOPLE[who].cookie}`;

async function statusFrom(of: PagesWorld, from: string, bytes: string): Promise<number> {
  const answer = await open(of, from, bytes);
  await until('an answer', () => answer.text().includes('\r\n\r\n'));
  return Number(/^HTTP\/1.1 (\d+)/.exec(answer.text())?.[1]);
}

test('the dashboard responds during 200 posts without a body', async () => {
  const silent = post('/api/sign-in', ['content-length: 50']);
  await Promise.all(Array.from({ length: 200 }, () => open(world, ATTACKER, silent)));
  await until('some of them are open', () => world.dashboard.requestsOpen() > 0);
  expect(world.dashboard.requestsOpen()).toBeLessThan(REQUESTS_OPEN_MAX / 2);
  expect(await statusFrom(world, GOOD, get('/api/config'))).toBe(200);
  expect(await statusFrom(world, GOOD, get('/'))).toBe(200);
});

test('200 stalled posts of one client behind a proxy do not block other clients', async () => {
  const silent = post('/api/sign-in', ['content-length: 50', 'x-forwarded-for: 192.0.2.1']);
  await Promise.all(Array.from({ length: 200 }, () => open(proxied, ATTACKER, silent)));
  await until('some of them are open', () => proxied.dashboard.requestsOpen() > 0);
  expect(proxied.dashboard.requestsOpen()).toBeLessThan(REQUESTS_OPEN_MAX / 2);
  const other = ['x-forwarded-for: 192.0.2.2:4711'];
  expect(await statusFrom(proxied, ATTACKER, get('/api/config', other))).toBe(200);
});

test('requests whose body is awaited take no place', async () => {
  const silent = post('/api/sign-in', ['content-length: 50']);
  await Promise.all(Array.from({ length: 20 }, () => open(world, ATTACKER, silent)));
  await until('all of them are open', () => world.dashboard.requestsOpen() === 20);
  expect(await statusFrom(world, ATTACKER, get('/api/config'))).toBe(200);
});

test('a route without a session limits the size and the duration of a body', async () => {
  const large = post('/api/sign-in', ['content-length: 4097']);
  expect(await statusFrom(world, GOOD, large)).toBe(400);
  const began = performance.now();
  const slow = await open(world, GOOD, post('/api/sign-in', ['content-length: 50'], '{'));
  await until('it is refused', () => slow.text().includes('did not arrive within 5 seconds'));
  expect(performance.now() - began).toBeGreaterThan(4_500);
});

test('connections of one network are bounded and other networks still connect', async () => {
  await Promise.all(Array.from({ length: 600 }, () => open(world, ATTACKER, 'GET / HTTP/1.1\r\n').catch(() => null)));
  expect(await statusFrom(world, GOOD, get('/api/config'))).toBe(200);
});

test("requests above a client's places wait without delaying other clients", async () => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  world.scriptByName('accounts.find-session', async () => {
    await released;
    return { session: PEOPLE.owner.session };
  });
  const waiting = await Promise.all(
    Array.from({ length: 20 }, () => open(world, BUSY, get('/api/session', [cookieOf('owner')]))),
  );
  await until('all are there', () => world.dashboard.requestsOpen() === 20);
  await until('eight are at work', () => world.asked.length === 8);
  expect(await statusFrom(world, GOOD, get('/api/config'))).toBe(200);
  expect(world.asked.length).toBe(8);
  release();
  await until('all are answered', () => waiting.every(({ text }) => text().startsWith('HTTP/1.1 200')));
});

test('a response is aborted with its connection if the client reads nothing', async () => {
  // Concurrently, because each is aborted one second after it arrived.
  await Promise.all(Array.from({ length: 8 }, () => open(world, ATTACKER, get('/assets/large-1234.js'), false)));
  await until('they are open', () => world.dashboard.requestsOpen() === 8);
  await until('they are given up', () => world.dashboard.requestsOpen() === 0);
  expect(await statusFrom(world, ATTACKER, get('/api/config'))).toBe(200);
});

test('a body in one-byte chunks is counted and holds little more than its bytes', async () => {
  const CHUNKS = 60_000;
  const { path } = PAGE_EXAMPLES['playground'] as { path: string };
  const headers = [
    cookieOf('owner'),
    `origin: ${DASHBOARD_ORIGIN}`,
    `x-csrf-token: ${world.secrets.csrfTokenOf(PEOPLE.owner.cookie)}`,
    'transfer-encoding: chunked',
  ];
  const before = liveBytes();
  const sent = await open(world, GOOD, post(`/api${path.replace('{account}', 'acc_1')}`, headers));
  const socket = sockets.at(-1) as Socket;
  for (let n = 0; n < CHUNKS; n += 1_000) {
    if (!socket.write('1\r\n \r\n'.repeat(1_000))) await once(socket, 'drain');
  }
  await until('all chunks are there', () => world.dashboard.bodyBytesHeld() >= CHUNKS);
  const held = liveBytes() - before;
  expect(world.dashboard.bodyBytesHeld()).toBeLessThan(4 * CHUNKS);
  expect(held / CHUNKS).toBeLessThanOrEqual(64);
  expect(sent.text()).toBe('');
  socket.destroy();
  await until('nothing is counted', () => world.dashboard.bodyBytesHeld() === 0);
});
