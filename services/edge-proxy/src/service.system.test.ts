import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { edgeResyncRequest } from '@gateway/contracts/messages';
import { startTelemetry, type Telemetry } from '@gateway/service-kit';
import { until } from '@gateway/testkit';
import { begin, bytesOf, chat, send } from '../test/client.js';
import { startEdgeWorld, TEST_KEY, type EdgeWorld, type EdgeWorldOptions } from '../test/edge-world.js';
import { sendResyncRequest } from '../test/fake-admission.js';

const PATH = '/v1/chat/completions';
const MODEL = 'upstream-model';
const TIMEOUT_MS = 60_000;
/** Longer than the time after which the edge tries another replica. */
const SLOW_MS = 400;

let world: EdgeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
}, TIMEOUT_MS);
// Tests kill, stop and hang NATS.
const start = async (options: EdgeWorldOptions = {}): Promise<EdgeWorld> =>
  (world = await startEdgeWorld({ own: true, ...options }));

const delta = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const DONE = 'data: [DONE]\n\n';

// Covers an edge is cut off from NATS; NATS is gone
test(
  'running responses finish without NATS; the event is stored after it returns',
  async () => {
    const { edge, provider, restartNats, eventOf, log } = await start();
    provider.script({
      model: MODEL,
      steps: [{ chunk: delta('one') }, { waitFor: 'away' }, { chunk: delta('two') }, { chunk: DONE }],
    });
    const answer = await begin(edge.url, PATH, chat({ model: 'pub/model', stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await until('the stream has begun', () => seen === delta('one'));
    const restarted = restartNats({ kill: true });
    await until('the edge has noticed', () => log.some(({ text }) => /disconnect/i.test(text)));
    provider.release('away');
    await restarted;
    await until('the stream is complete', () => answer.complete);
    expect(seen).toBe(delta('one') + delta('two') + DONE);
    expect(await eventOf(String(answer.headers['x-gateway-request-id']))).toMatchObject({ outcome: 'settled' });
    await until('the edge admits again', async () => (await send(edge.url, PATH, chat())).status === 200);
  },
  TIMEOUT_MS,
);

test(
  'the last chunk is sent after 2 s if NATS hangs; the event is stored later',
  async () => {
    const { edge, provider, hangNats, eventOf, events } = await start();
    const metrics = startTelemetry({ service: 'edge-proxy', replica: 'e0', version: '0', otlpEndpoint: null });
    provider.script({ model: MODEL, steps: [{ chunk: delta('one') }, { waitFor: 'hung' }, { chunk: DONE }] });
    const answer = await begin(edge.url, PATH, chat({ stream: true }));
    const id = String(answer.headers['x-gateway-request-id']);
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await until('the stream has begun', () => seen === delta('one'));
    const resume = hangNats();
    try {
      const releasedAt = performance.now();
      provider.release('hung');
      await until('the stream is complete', () => answer.complete);
      expect(seen).toBe(delta('one') + DONE);
      expect(performance.now() - releasedAt).toBeGreaterThanOrEqual(1_990);
      expect(events.map((event) => event.id)).not.toContain(id);
      expect(await metricsOf(metrics)).toMatch(
        /^gateway_edge_last_chunk_unconfirmed_total\{[^}]*waited_for="record"[^}]*\} 1$/m,
      );
      const refused = await send(edge.url, PATH, chat());
      expect([refused.status, JSON.parse(refused.body.toString()).error.code]).toEqual([500, 'admission_error']);
    } finally {
      resume();
      await metrics.shutdown();
    }
    const stored = await eventOf(id);
    expect(stored).toMatchObject({ outcome: 'settled' });
    await until('the edge admits again', async () => (await send(edge.url, PATH, chat())).status === 200);
    // A hung server may have stored the first attempt. The ledger charges equal copies once.
    for (const copy of events.filter((event) => event.id === id)) expect(copy).toEqual(stored);
  },
  TIMEOUT_MS,
);

// Covers an edge is cut off from NATS; NATS is gone
test(
  'calls and the model list get 500 admission_error without NATS',
  async () => {
    const { edge, stopNats, log } = await start();
    await stopNats();
    await until('the edge has noticed', () => log.some(({ text }) => /disconnect/i.test(text)));
    const call = await send(edge.url, PATH, chat());
    expect([call.status, JSON.parse(call.body.toString()).error.code]).toEqual([500, 'admission_error']);
    const list = await send(edge.url, '/v1/models');
    expect([list.status, JSON.parse(list.body.toString()).error.code]).toEqual([500, 'lookup_failed']);
    const unknown = await send(edge.url, '/v1/nothing');
    expect(unknown.status).toBe(404);
  },
  TIMEOUT_MS,
);

// Covers r4
test(
  'the last chunk waits for the stored event and the release, up to a timeout',
  async () => {
    const { edge, provider, admission } = await start();
    admission.answersReleases = false;
    provider.script({ model: MODEL, steps: [{ chunk: delta('one') }, { chunk: DONE }] });
    const begunAt = performance.now();
    const answer = await send(edge.url, PATH, chat({ stream: true }));
    expect(answer.body.toString()).toBe(delta('one') + DONE);
    expect(performance.now() - begunAt).toBeGreaterThanOrEqual(199);
    const id = String(answer.headers['x-gateway-request-id']);
    await until(
      'heartbeat repeat the release',
      () => admission.heartbeats.filter(({ releases }) => releases.some((each) => each.id === id)).length > 1,
    );
  },
  TIMEOUT_MS,
);

// Covers a replica of admission is killed or hangs
test(
  'a hung admission replica causes one retry at another replica',
  async () => {
    const { edge, admission } = await start({ admissionReplicas: 2 });
    const warm = await Promise.all(Array.from({ length: 20 }, () => send(edge.url, PATH, chat())));
    expect(warm.every(({ status }) => status === 200)).toBe(true);
    admission.decide = (_entry, replica) => (replica === 'a0' ? null : undefined);
    admission.deliver = (answer, replica) => (replica === 'a0' ? undefined : answer());
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(edge.url, PATH, chat())));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const ids = admission.admits.filter(({ replica }) => replica === 'a0').map(({ entry }) => entry.id);
    expect(admission.admits.some(({ replica, entry }) => replica === 'a1' && ids.includes(entry.id))).toBe(true);
  },
  TIMEOUT_MS,
);

test.each([
  ['responded last', false],
  ['announced its stop', true],
])(
  'a lost admission replica that %s causes no refusal if the other one is slow',
  async (_name, isTold) => {
    const { edge, admission, admissionBuses } = await start({ admissionReplicas: 2 });
    await until('the leaving replica has responded last', async () => {
      await send(edge.url, PATH, chat());
      return admission.admits.at(-1)?.replica === 'a1' && admission.admits.some(({ replica }) => replica === 'a0');
    });
    const [slow, leaving] = admissionBuses;
    if (isTold) leaving?.publish(edgeResyncRequest, {}, { epochs: [], stopping: 'a1' });
    await leaving?.drain(1_000);
    admission.deliver = (answer) => void setTimeout(answer, SLOW_MS);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(edge.url, PATH, chat())));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(slow?.connected()).toBe(true);
  },
  TIMEOUT_MS,
);

test(
  'an admission that arrives too late is released',
  async () => {
    const { edge, admission, provider } = await start();
    const late: (() => void)[] = [];
    admission.deliver = (answer) => void late.push(answer);
    const answer = await send(edge.url, PATH, chat());
    expect([answer.status, JSON.parse(answer.body.toString()).error.code]).toEqual([500, 'admission_error']);
    admission.deliver = (answer) => answer();
    for (const answer of late) answer();
    const id = String(answer.headers['x-gateway-request-id']);
    await until('it was released blind', () =>
      admission.releases.some((release) => release.id === id && release.blind),
    );
    expect(provider.calls({ model: MODEL })).toHaveLength(0);
  },
  TIMEOUT_MS,
);

test(
  'a resync request is answered by a heartbeat with the new epoch',
  async () => {
    const { admission, admissionBuses } = await start({ env: { GATEWAY_HEARTBEAT_MS: '60000' } });
    await until('the first heartbeat', () => admission.heartbeats.length > 0);
    admission.epoch = 'run2-0001';
    const [bus] = admissionBuses;
    if (bus === undefined) throw new Error('there is no admission');
    sendResyncRequest(bus, admission);
    await until('the heartbeat contains it', () =>
      admission.heartbeats.some(({ epochs }) =>
        epochs.some(({ bucket, epoch }) => bucket === admission.bucket && epoch === admission.epoch),
      ),
    );
  },
  TIMEOUT_MS,
);

// Covers an edge is told to stop
test(
  'a stop lets running responses finish and sends a last heartbeat',
  async () => {
    const { edge, provider, admission, events, mirrored } = await start({ env: { GATEWAY_DRAIN_MS: '30000' } });
    provider.script({ model: MODEL, steps: [{ chunk: delta('one') }, { waitFor: 'stop' }, { chunk: DONE }] });
    const finishes = await begin(edge.url, PATH, chat({ stream: true }));
    const finished = bytesOf(finishes);
    const stopped = edge.stop();
    await expect(send(edge.url, PATH, chat())).rejects.toThrow();
    provider.release('stop');
    expect((await finished).toString()).toBe(delta('one') + DONE);
    await stopped;
    await until('the last heartbeat', () => admission.heartbeats.at(-1)?.last === true);
    expect(admission.heartbeats.at(-1)).toMatchObject({ calls: [], releases: [] });
    await until('the catalog no longer waits for it', () => mirrored.at(-1)?.last === true);
    await until('its record', () => events.length > 0);
    expect(events).toMatchObject([{ id: finishes.headers['x-gateway-request-id'], outcome: 'settled' }]);
  },
  TIMEOUT_MS,
);

// Covers an edge is told to stop
test(
  'a stop cuts calls after the drain time and refuses bodies that arrive later',
  async () => {
    const { edge, provider, admission, events } = await start({ env: { GATEWAY_DRAIN_MS: '300' } });
    provider.script({ model: MODEL, steps: [{ chunk: delta('one') }, { end: 'stall' }] });
    const { headers, body } = chat({ stream: true });
    const text = String(body);
    const options = { method: 'POST', headers: { ...headers, authorization: `Bearer ${TEST_KEY}` } };
    const late = request(new URL(PATH, edge.url), { ...options, agent: false });
    const answered = once(late, 'response') as Promise<[IncomingMessage]>;
    late.setHeader('content-length', Buffer.byteLength(text));
    late.write(text.slice(0, -1));
    await once(late, 'socket').then(([socket]: Socket[]) => once(socket as Socket, 'connect'));
    // The edge has read the head of the new request before this response.
    const stalls = await begin(edge.url, PATH, chat({ stream: true }));
    let cutText = '';
    stalls.on('data', (chunk: Buffer) => (cutText += chunk.toString()));
    const cut = once(stalls, 'error');
    const stopped = edge.stop();
    await cut;
    expect(cutText).toContain('"error"');
    late.end(text.slice(-1));
    const [answer] = await answered;
    expect([answer.statusCode, (await bytesOf(answer)).toString()]).toEqual([
      500,
      expect.stringContaining('admission_error'),
    ]);
    const id = String(answer.headers['x-gateway-request-id']);
    await stopped;
    await until('the cut call has a record', () => events.length > 0);
    expect(events).toMatchObject([{ id: stalls.headers['x-gateway-request-id'], outcome: 'voided' }]);
    expect(admission.releases.find((release) => release.id === id)).toMatchObject({ outcome: 'void' });
    expect(admission.heartbeats.at(-1)).toMatchObject({ calls: [], releases: [], last: true });
  },
  TIMEOUT_MS,
);

test(
  'a request on an idle connection is served during a stop and closes it',
  async () => {
    const { edge } = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<unknown>();
    agent.on('free', (socket) => sockets.add(socket));
    expect((await send(edge.url, PATH, { ...chat(), agent })).status).toBe(200);
    await until('the connection is kept', () => sockets.size === 1);
    const stopped = edge.stop();
    await expect(send(edge.url, PATH, chat())).rejects.toThrow('ECONNREFUSED');
    const answer = await send(edge.url, PATH, { ...chat(), agent });
    expect(answer.status).toBe(200);
    expect(answer.headers.connection).toBe('close');
    await expect(send(edge.url, PATH, { ...chat(), agent })).rejects.toThrow('ECONNREFUSED');
    await stopped;
  },
  TIMEOUT_MS,
);

/** Returns the metrics of this process in the scrape format. */
async function metricsOf({ metrics }: Telemetry): Promise<string> {
  const server = createServer(metrics).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { body } = await send(`http://127.0.0.1:${port}`, '/metrics', { key: null });
  server.close();
  return body.toString();
}
