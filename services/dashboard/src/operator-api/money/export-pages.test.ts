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

/** Five pages, the texts `0`, `1`, … repeated, each named by the one before. */
function scriptPages(bytes: number): string {
  const texts = IDS.map((_id, index) => String(index).repeat(bytes));
  world.scriptByName(EXPORT, (body) => {
    const index = IDS.indexOf((body as Asked).after ?? '') + 1;
    return exportPage(texts[index] as string, IDS[index] as string, index < IDS.length - 1);
  });
  return texts.join('');
}

/** The head of an answer, whose body is not read yet. */
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

test('pages become one file, which ends with its checksum', async () => {
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

test('a cursor is where the file goes on; its head says whether a CSV has one', async () => {
  scriptPages(1);
  const rest = await open(`/exports/usage-records?cursor=${IDS[2] as string}`);
  expect(rest.headers['content-type']).toBe('text/csv; charset=utf-8; header=absent');
  expect(await bodyOf(rest)).toBe('34');
  const whole = await open('/exports/usage-records');
  expect(whole.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
  expect(await bodyOf(whole)).toBe('01234');
});

test('HEAD asks whether there is a file and reads nothing more of it', async () => {
  scriptPages(1);
  const response = await open(PATH, 'HEAD');
  expect([response.statusCode, await bodyOf(response), asked().length]).toEqual([200, '', 1]);
});

test('what goes wrong before the file begins is an answer', async () => {
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
  ['cannot be had', () => Promise.reject(new BusFault('disconnected', 'billing is away'))],
  ['is refused', () => ({ refused: { code: 'not_found', message: 'gone', param: null } })],
  ['was damaged', () => ({ ...exportPage('x', IDS[1] as string), sha256: '0'.repeat(64) })],
])('a file whose second page %s is broken off: it does not end like a whole one', async (_name, second) => {
  world.scriptByName(EXPORT, (body) =>
    (body as Asked).after === null ? exportPage('first', IDS[0] as string, true) : second(),
  );
  const response = await open(PATH);
  await expect(bodyOf(response)).rejects.toThrow('aborted');
  expect(response.trailers).toEqual({});
});

/**
 * A connection that has asked for the file over HTTP/1.0; nothing is read of it yet. It reads by
 * single bytes: a reset that comes with a read that is not full would be an end for libuv.
 */
async function openHttp10(at: OperatorWorld): Promise<Socket> {
  const onread = { buffer: Buffer.alloc(1), callback: () => true };
  const socket = connect({ port: at.dashboard.operatorPort, host: '127.0.0.1', onread }).pause();
  await once(socket, 'connect');
  socket.write(`GET /operator/v1${PATH} HTTP/1.0\r\nauthorization: Bearer ${ROOT_TOKEN}\r\n\r\n`);
  return socket;
}

/** How a connection ends that is read to its end: `end`, or the code of its error. */
async function endOf(socket: Socket): Promise<string | undefined> {
  const end = new Promise<string | undefined>((resolve) => {
    socket.once('end', () => resolve('end'));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });
  socket.resume();
  return end;
}

test('over HTTP/1.0 a whole file ends with its connection, and one that cannot be finished with a reset', async () => {
  scriptPages(1);
  expect(await endOf(await openHttp10(world))).toBe('end');
  world.scriptByName(EXPORT, (body) => {
    if ((body as Asked).after === null) return exportPage('first', IDS[0] as string, true);
    throw new BusFault('disconnected', 'billing is away');
  });
  expect(await endOf(await openHttp10(world))).toBe('ECONNRESET');
});

test('over HTTP/1.0 a file that its client has not taken for too long ends with a reset', async () => {
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

test('pages are asked for as the client takes them, and no more when it has gone', async () => {
  let pages = 0;
  world.scriptByName(EXPORT, () => {
    pages += 1;
    return exportPage('x'.repeat(500_000), IDS[0] as string, true);
  });
  const response = await open(PATH);
  // What fits into the buffers of both sockets, and then nothing.
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

test('every line of a large file is sent once, however slowly it is read', async () => {
  const whole = scriptPages(450_000);
  const response = await open(PATH);
  let read = '';
  for await (const chunk of response) {
    read += (chunk as Buffer).toString('utf8');
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(read === whole).toBe(true);
});
