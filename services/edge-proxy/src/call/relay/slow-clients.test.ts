import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import type { Socket } from 'node:net';
import { startEdgeWorld, TEST_KEY, type EdgeWorld } from '../../../test/edge-world.js';
import { FORMATS, type Format } from '../../../test/formats.js';
import { publishOwnModel } from '../../../test/own-models.js';
import { rawClient, type RawClient } from '../../../test/raw-answers.js';
import { onRequest, startRawProvider, type RawProvider } from '../../../test/raw-provider.js';

const CHAT = FORMATS[0] as Format;
const MIB = 1024 * 1024;
const DEADLINE_MS = 2_000;
/** Stall limit. A pause of half of it counts as long. */
const STALLED_MS = 4_000;
const PIECE = Buffer.alloc(64 * 1024, 'x');

let world: EdgeWorld;
const raw: RawProvider[] = [];
beforeAll(async () => {
  world = await startEdgeWorld({
    env: { GATEWAY_UPSTREAM_DEADLINE_MS: String(DEADLINE_MS), GATEWAY_HTTP_STALLED_MS: String(STALLED_MS) },
  });
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => Promise.all(raw.splice(0).map((provider) => provider.stop())));

/** Makes one call with a client that does not read. `serve` handles the provider's connection. */
async function callOf(stream: boolean, serve: (socket: Socket) => void): Promise<RawClient> {
  const provider = await startRawProvider((socket) => onRequest(socket, () => serve(socket)));
  raw.push(provider);
  const { model } = await publishOwnModel(world, { url: provider.url });
  const { body } = CHAT.request({ model, stream });
  const client = rawClient(
    world.edge.port,
    `POST ${CHAT.path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${TEST_KEY}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return client;
}

const eventOf = (client: RawClient) =>
  world.eventOf(/x-gateway-request-id: (\S+)/i.exec(client.wire())?.[1] ?? 'no id came');
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes `bytes` bytes as fast as they are read, then `end`. */
function writeAll(socket: Socket, bytes: number, end: string): void {
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= PIECE.length;
      if (!socket.write(PIECE)) return;
    }
    if (left > -MIB) socket.write(end);
    left = -Infinity;
  };
  socket.on('drain', more);
  more();
}

test('a non-streamed response that the client delayed past its deadline is charged', async () => {
  const begin = '{"choices":[{"index":0,"message":{"role":"assistant","content":"all of it"},"logprobs":"';
  const end = '"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}';
  const length = begin.length + 60 * MIB + end.length;
  const client = await callOf(false, (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${begin}`);
    writeAll(socket, 60 * MIB, end);
  });
  client.socket.pause();
  // Shorter than the stall limit.
  await sleep(DEADLINE_MS + 500);
  client.socket.resume();
  await client.closed;
  expect(client.wire()).toContain('all of it');
  expect(client.wire().length).toBeLessThan(length);
  const event = await eventOf(client);
  expect(event).toMatchObject({ outcome: 'settled', evidence: 'estimated', attempts: [{ outcome: 'abandoned' }] });
  expect(event.amountNanoUsd).toBeGreaterThan(0);
}, 60_000);

test.each([
  ['because the client reads nothing', true, 'settled', 'abandoned'],
  ['while the client reads', false, 'voided', 'broken'],
])(
  'a stream whose provider disconnects %s',
  async (_name, pauses, outcome, attempt) => {
    const text = CHAT.delta('x'.repeat(60_000));
    const piece = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    let hasGivenUp = false;
    const client = await callOf(true, (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      const giveUp = (): void => {
        hasGivenUp = true;
        socket.resetAndDestroy();
      };
      let timer = setTimeout(giveUp, STALLED_MS * 0.6);
      socket.on('drain', () => {
        // Like a server whose client has not read for too long.
        if (pauses) clearTimeout(timer);
        if (pauses) timer = setTimeout(giveUp, STALLED_MS * 0.6);
        while (!socket.destroyed && socket.write(piece));
      });
      while (!socket.destroyed && socket.write(piece));
    });
    if (pauses) {
      client.socket.pause();
      await until('the provider has disconnected', () => hasGivenUp);
      client.socket.resume();
    }
    await client.closed;
    expect(await eventOf(client)).toMatchObject({ outcome, attempts: [{ outcome: attempt }] });
  },
  60_000,
);
