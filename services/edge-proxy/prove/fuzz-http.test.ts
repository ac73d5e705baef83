import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { chat, send as request } from '../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../test/edge-world.js';
import { publishOwnModel } from '../test/own-models.js';
import { rawClient, readAnswers, type RawAnswer, type RawClient } from '../test/raw-answers.js';
import { HELD_ANSWERS, REQUEST_BODIES } from '../src/memory/held-bytes.js';
import { casesOfRun, table, writeReport } from './figures.js';
import { httpCase, type HttpCase } from './fuzz-http-cases.js';

/** An answer of every endpoint. */
/** Ends with the final marker of every endpoint that streams. */
const STREAM =
  [
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: {"type":"response.completed","response":{}}',
    'data: {"type":"message_stop"}',
    'data: [DONE]',
  ].join('\n\n') + '\n\n';
const ANSWER = '{"choices":[{"index":0,"finish_reason":"stop"}],"content":[],"data":[],"output":[],"input_tokens":1}';

/** Cases of the short run, which every test run does; `npm run prove:fuzz` sets more. */
const CASES_DEFAULT = 1_500;
/** A shorter run is printed, but does not replace the committed figures. */
const CASES_FULL = 50_000;
const HOUR_MS = 3_600_000;
/** Connections at one time. */
const WAVE = 256;
/**
 * How often it is looked whether a wave is over; a connection that is not answered by then is
 * stuck.
 */
const LOOKS_MAX = 500;
/** Statuses that a client can be answered here: the provider is well. */
const STATUSES = new Set([200, 400, 401, 404, 408, 413, 431]);
/**
 * What an edge answers whose machine has no time for it; what fails inside of it is logged, and
 * looked for there.
 */
const OVERLOAD = 'admission_error';

const cases = casesOfRun('GATEWAY_PROVE_HTTP_CASES', CASES_DEFAULT);
const seed = testSeed();

let world: EdgeWorld;
let provider: Server;
let asked = 0;
let soundCalls = 0;
let model = '';
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_READ_ON_MS: '500' } });
  provider = createServer((request, response) => {
    asked += 1;
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
    request.on('end', () => {
      const isStream = /"stream":true/.test(body);
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      response.end(isStream ? STREAM : ANSWER);
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  ({ model } = await publishOwnModel(world, { url, more: { streamUsage: false } }));
}, 60_000);
afterAll(async () => {
  await world.stop();
  provider.closeAllConnections();
  await new Promise((resolve) => provider.close(resolve));
}, 60_000);

interface Sent {
  readonly number: number;
  readonly cases: readonly HttpCase[];
  readonly client: RawClient;
  readonly bytes: number;
  isClosed: boolean;
  /** By the fuzzer, because nothing more came. */
  isLeft: boolean;
}

test(
  `${cases} requests over raw sockets, mutated: the specified answer or a closed connection (seed ${seed})`,
  async () => {
    const random = new SeededRandom(seed);
    const figures = { connections: 0, answers: new Map<string, number>(), calls: 0, bytes: 0, peakRss: 0 };
    const startedAt = performance.now();
    for (let number = 0; number < cases;) {
      const wave: Sent[] = [];
      while (wave.length < WAVE && number < cases) {
        const own = Array.from({ length: Math.min(cases - number, 1 + random.below(4)) }, () =>
          httpCase(random, model),
        );
        const bytes = Buffer.concat(own.map((each) => each.bytes));
        figures.bytes += bytes.length;
        wave.push(send(number, own, bytes, random));
        number += own.length;
      }
      await playWave(wave);
      for (const sent of wave) for (const answer of check(sent)) countAnswer(figures.answers, answer, sent);
      figures.connections += wave.length;
      figures.calls += await checkWave();
      figures.peakRss = Math.max(figures.peakRss, process.memoryUsage.rss());
    }
    if (cases > CASES_DEFAULT) report(figures, performance.now() - startedAt);
  },
  4 * HOUR_MS,
);

/** In one packet, or cut somewhere. */
function send(number: number, own: readonly HttpCase[], bytes: Buffer, random: SeededRandom): Sent {
  const cut = random.chance(0.3) ? random.below(bytes.length + 1) : bytes.length;
  const client = rawClient(world.edge.port, bytes.subarray(0, cut));
  if (cut < bytes.length)
    client.socket.once('connect', () => setImmediate(() => client.socket.write(bytes.subarray(cut))));
  const sent: Sent = { number, cases: own, client, bytes: bytes.length, isClosed: false, isLeft: false };
  void client.closed.then(() => (sent.isClosed = true));
  return sent;
}

/** Until every connection is closed, or has been left because nothing more comes. */
async function playWave(wave: readonly Sent[]): Promise<void> {
  const isSent = ({ client: { socket }, isClosed, bytes }: Sent): boolean =>
    isClosed || (socket.bytesWritten >= bytes && socket.writableLength === 0);
  await until('everything is sent', () => wave.every(isSent));
  const seen = (): number =>
    wave.reduce((sum, { client, isClosed }) => sum + client.wire().length + Number(isClosed), 0);
  for (let looks = 0, before = -1; ; looks += 1) {
    // Two whole calls later whatever could be answered is: they go the same ways, behind what was
    // sent.
    await wholeCall();
    await wholeCall();
    const open = wave.filter(({ isClosed }) => !isClosed);
    const isOver = seen() === before && isIdle() && open.every((sent) => !isWhole(sent) || isAnswered(sent));
    before = seen();
    const [stuck] = open;
    if (looks > LOOKS_MAX && stuck !== undefined) throw new Error(describeProblem(stuck, 'it is not answered'));
    if (!isOver) continue;
    for (const sent of open) {
      sent.isLeft = true;
      sent.client.socket.destroy();
    }
    return void (await Promise.all(wave.map(({ client }) => client.closed)));
  }
}

async function wholeCall(): Promise<void> {
  let refused = '';
  const isAnswered = async (): Promise<boolean> => {
    const { status, body } = await request(world.edge.url, '/v1/chat/completions', chat({ model }));
    if (status === 500) {
      refused = body.toString();
      return false;
    }
    asked -= 1;
    soundCalls += 1;
    if (status !== 200)
      throw new Error(`seed ${seed}: a sound call between the waves is answered ${status}: ${body.toString()}`);
    return true;
  };
  await until('a sound call between the waves is answered', isAnswered).catch((error: unknown) => {
    const log = world.log.slice(-5).map((line) => inspect(line));
    throw new Error(`seed ${seed}: ${String(error)}\n${refused}\n${log.join('\n')}`);
  });
}

/** No admitted call is without its release. */
function isIdle(): boolean {
  return world.admission.releases.length >= world.admission.holds.size;
}

/** The answers of a connection. Throws on anything that is not specified. */
function check(sent: Sent): readonly RawAnswer[] {
  const answers = answersOf(sent);
  let isSure = true;
  for (const [at, answer] of answers.entries()) {
    const isOverloaded = answer.status === 500 && answer.body.includes(`"code":"${OVERLOAD}"`);
    if (!STATUSES.has(answer.status) && !isOverloaded)
      throw new Error(describeProblem(sent, `status ${answer.status}`));
    if (!answer.isComplete && !sent.isLeft && answer.status !== 200)
      throw new Error(describeProblem(sent, 'half an answer'));
    const expected = sent.cases[at]?.status ?? null;
    isSure &&= expected !== null && !isOverloaded;
    if (isSure && answer.status !== expected) {
      throw new Error(describeProblem(sent, `request ${at} is answered ${answer.status} instead of ${expected}`));
    }
    const id = answer.headers.get('x-gateway-request-id') ?? '';
    if (answer.status >= 400 && !isOverloaded && world.admission.holds.has(id)) {
      throw new Error(describeProblem(sent, `a refused request was admitted: ${answer.status}`));
    }
  }
  if (isWhole(sent) && !isAnswered(sent)) throw new Error(describeProblem(sent, `${answers.length} answers`));
  return answers;
}

/** No request of it was mutated. */
function isWhole(sent: Sent): boolean {
  return sent.cases.every(({ status }) => status !== null);
}

/** Every request of it, or each up to one whose answer closes the connection. */
function isAnswered(sent: Sent): boolean {
  const answers = answersOf(sent);
  if (answers.some(({ isComplete }) => !isComplete)) return false;
  return answers.length === sent.cases.length || answers.at(-1)?.headers.get('connection') === 'close';
}

function answersOf(sent: Sent): RawAnswer[] {
  const wire = sent.client.wire();
  try {
    return readAnswers(wire);
  } catch (error) {
    throw new Error(describeProblem(sent, String(error)));
  }
}

/**
 * Nothing is left of a wave: no call, no byte, no fault. Gives how often the provider was asked.
 */
async function checkWave(): Promise<number> {
  const { admission } = world;
  await until('every admitted call is given back', isIdle);
  const fault = world.log.find(({ level }) => level === 'error');
  if (fault !== undefined) throw new Error(`seed ${seed}: ${fault.text}: ${inspect(fault.facts)}`);
  for (const held of [REQUEST_BODIES, HELD_ANSWERS]) {
    await until('no byte is held', () => held.held === 0);
  }
  // Sound calls between the waves are among the admissions, and not among those asked for here.
  const admitted = admission.admits.filter(({ entry }) => entry.bodyRefusal === null).length - soundCalls;
  soundCalls = 0;
  const calls = asked;
  if (calls > admitted)
    throw new Error(`seed ${seed}: the provider was asked ${calls} times for ${admitted} admissions`);
  asked = 0;
  admission.holds.clear();
  for (const list of [admission.admits, admission.batches, admission.releases, world.events, world.log as unknown[]])
    list.length = 0;
  return calls;
}

function countAnswer(answers: Map<string, number>, { status }: RawAnswer, { client }: Sent): void {
  if (client.wire() === '') return;
  answers.set(String(status), (answers.get(String(status)) ?? 0) + 1);
}

function describeProblem({ number, cases: own, client, isLeft }: Sent, problem: string): string {
  const sent = own.map(({ bytes, status }) => [status, bytes.toString('latin1').slice(0, 2_000)]);
  return `seed ${seed}, case ${number}: ${problem}\n${JSON.stringify({ sent, isLeft, got: client.wire().slice(0, 2_000) })}`;
}

interface Figures {
  readonly connections: number;
  readonly answers: ReadonlyMap<string, number>;
  readonly calls: number;
  readonly bytes: number;
  readonly peakRss: number;
}

function report({ connections, answers, calls, bytes, peakRss }: Figures, ms: number): void {
  const answered = [...answers.values()].reduce((sum, count) => sum + count, 0);
  const text = `Requests of the API's grammar, six in ten of them mutated, one to four on a connection, one packet or cut anywhere. Each
answer is one of the specified statuses with both ids, the unmutated ones exactly what they must be, or the connection is
closed. No refused request was admitted, the provider was never asked for one; after each ${WAVE} connections no call, no
byte and no fault is left.

${table([
  ['', ''],
  ['requests', cases.toLocaleString('en')],
  ['seed', String(seed)],
  ['connections', connections.toLocaleString('en')],
  ['bytes sent', bytes.toLocaleString('en')],
  ['answers', answered.toLocaleString('en')],
  ...[...answers]
    .sort()
    .map(
      ([status, count]) =>
        [`answered ${status}${status === '500' ? ' (overload)' : ''}`, count.toLocaleString('en')] as const,
    ),
  ['calls of the provider', calls.toLocaleString('en')],
  ['deviations', '0'],
  ['most resident memory, edge and fuzzer', `${Math.round(peakRss / 2 ** 20).toLocaleString('en')} MiB`],
  ['time', `${(ms / 1000).toFixed(0)} s`],
])}
`;
  writeReport('fuzz-http', text, cases >= CASES_FULL);
  expect(answered).toBeGreaterThan(0);
}
