import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { BusFault } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { until } from '@gateway/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { exportPage } from '../../../test/examples.js';
import { errorOf, ROOT_TOKEN, startOperatorWorld, type OperatorWorld } from '../../../test/operator-world.js';
import { CONTENT_SHA256 } from '../../http/send-file.js';

const EXPORT = 'billing.export-usage-records';
const PATH = '/exports/usage-records?format=jsonl';
const IDS = Array.from({ length: 5 }, () => makeUuidV7(Date.now()));

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

type Asked = { after: string | null };
const asked = () => world.asked.map(({ body }) => body as unknown as Asked);

/**
 * Scripts five pages with the texts `0`, `1`, … repeated. The ID of each page requests the next
 * one.
 */
function scriptPages(bytes: number): string {
  const texts = IDS.map((_id, index) => String(index).repeat(bytes));
  world.scriptByName(EXPORT, (body) => {
    const index = IDS.indexOf((body as Asked).after ?? '') + 1;
    return exportPage(texts[index] as string, IDS[index] as string, index < IDS.length - 1);
  });
  return texts.join('');
}

/** Sends a request and returns its response with the body unread. */
async function open(path: string, method = 'GET'): Promise<IncomingMessage> {
  const sent = request(`${world.dashboard.operatorUrl}/operator/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${ROOT_TOKEN}` },
    agent: false,
  }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

test('pages become one file that ends with its checksum', async () => {
  const whole = scriptPages(300_000);
  const response = await open(`${PATH}&accountId=acc_1&to=2026-12-01T00:00:00Z`);
  expect(response.headers).toMatchObject({
    'content-type': 'application/x-ndjson; charset=utf-8',
    'content-disposition': 'attachment; filename="usage-records.jsonl"',
    'transfer-encoding': 'chunked',
    trailer: CONTENT_SHA256,
  });
  expect(await bodyOf(response)).toBe(whole);
  expect(response.trailers[CONTENT_SHA256]).toBe(createHash('sha256').update(whole).digest('hex'));
  const question = { account: 'acc_1', from: null, to: Date.UTC(2026, 11, 1), format: 'jsonl' };
  expect(asked()).toEqual([null, ...IDS.slice(0, 4)].map((after) => ({ ...question, after })));
});

test('a file continues after a cursor and declares whether a CSV has a header', async () => {
  scriptPages(1);
  const rest = await open(`/exports/usage-records?cursor=${IDS[2] as string}`);
  expect(rest.headers['content-type']).toBe('text/csv; charset=utf-8; header=absent');
  expect(await bodyOf(rest)).toBe('34');
  const whole = await open('/exports/usage-records');
  expect(whole.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  expect(await bodyOf(whole)).toBe('01234');
});

test('HEAD requests one page and sends no body', async () => {
  scriptPages(1);
  const response = await open(PATH, 'HEAD');
  expect([response.statusCode, await bodyOf(response), asked().length]).toEqual([200, '', 1]);
});

test('an error before the file begins is an error response', async () => {
  world.refuseByName(EXPORT, 'invalid_request');
  const refused = await world.send('GET', PATH);
  expect([refused.status, errorOf(refused).code]).toEqual([400, 'invalid_request']);
  world.away('billing');
  expect((await world.send('GET', PATH)).status).toBe(503);
  const answers = await Promise.all(
    ['cursor=nothing', 'format=xml', 'limit=5'].map((query) => world.send('GET', `/exports/usage-records?${query}`)),
  );
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
});

test.each<[string, () => unknown]>([
  ['is unavailable', () => Promise.reject(new BusFault('disconnected', 'billing is away'))],
  ['is refused', () => ({ refused: { code: 'not_found', message: 'gone', param: null } })],
  ['was damaged', () => ({ ...exportPage('x', IDS[1] as string), sha256: '0'.repeat(64) })],
])('a file whose second page %s is aborted', async (_name, second) => {
  world.scriptByName(EXPORT, (body) =>
    (body as Asked).after === null ? exportPage('first', IDS[0] as string, true) : second(),
  );
  const response = await open(PATH);
  await expect(bodyOf(response)).rejects.toThrow('aborted');
  expect(response.trailers).toEqual({});
});

/**
 * Opens a connection that requests the file over HTTP/1.0 and reads nothing yet. It reads single
 * bytes, because libuv treats a reset after a partly filled read as a normal end.
 */
async function openHttp10(at: OperatorWorld): Promise<Socket> {
  const onread = { buffer: Buffer.alloc(1), callback: () => true };
  const socket = connect({ port: at.dashboard.operatorPort, host: '127.0.0.1', onread }).pause();
  await once(socket, 'connect');
  socket.write(`GET /operator/v1${PATH} HTTP/1.0\r\nauthorization: Bearer ${ROOT_TOKEN}\r\n\r\n`);
  return socket;
}

/** Reads a connection to its end and returns `end` or the error code. */
async function endOf(socket: Socket): Promise<string | undefined> {
  const end = new Promise<string | undefined>((resolve) => {
    socket.once('end', () => resolve('end'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });
  socket.resume();
  return end;
}

test('over HTTP/1.0 a complete file ends normally and an incomplete one with a reset', async () => {
  scriptPages(1);
  expect(await endOf(await openHttp10(world))).toBe('end');
  world.scriptByName(EXPORT, (body) => {
    if ((body as Asked).after === null) return exportPage('first', IDS[0] as string, true);
    throw new BusFault('disconnected', 'billing is away');
  });
  expect(await endOf(await openHttp10(world))).toBe('ECONNRESET');
});

test('over HTTP/1.0 a file whose client stops reading ends with a reset', async () => {
  const impatient = await startOperatorWorld(undefined, { options: { stalledMsMax: 200 } });
  try {
    impatient.scriptByName(EXPORT, () => exportPage('x'.repeat(500_000), IDS[0] as string, true));
    const socket = await openHttp10(impatient);
    await until('it is asked for', () => impatient.asked.length > 0);
    await until('it is given up', () => impatient.dashboard.requestsOpen() === 0);
    expect(await endOf(socket)).toBe('ECONNRESET');
  } finally {
    await impatient.stop();
  }
});

test('pages are requested as the client reads, and no more after it disconnects', async () => {
  let pages = 0;
  world.scriptByName(EXPORT, () => {
    pages += 1;
    return exportPage('x'.repeat(500_000), IDS[0] as string, true);
  });
  const response = await open(PATH);
  // Waits until both socket buffers are full and no page is requested any more.
  let before = -1;
  await until('it stands still', async () => {
    const still = pages === before;
    before = pages;
    await new Promise((resolve) => setTimeout(resolve, 150));
    return still && pages === before;
  });
  expect(pages).toBeLessThan(40);
  response.destroy();
  await until('the place is free', async () => {
    const metrics = world.dashboard.requestsOpen();
    return Promise.resolve(metrics === 0);
  });
  const left = pages;
  await world.send('GET', '/openapi.json');
  expect(pages - left).toBeLessThanOrEqual(1);
});

test('a slow reader receives every line of a large file once', async () => {
  const whole = scriptPages(450_000);
  const response = await open(PATH);
  let read = '';
  for await (const chunk of response) {
    read += (chunk as Buffer).toString('utf8');
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(read === whole).toBe(true);
});
