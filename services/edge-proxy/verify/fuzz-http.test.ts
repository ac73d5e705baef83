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
import { rawClient, readAnswers, type RawResponse, type RawClient } from '../test/raw-answers.js';
import { HELD_RESPONSES, REQUEST_BODIES } from '../src/memory/held-bytes.js';
import { httpCase, type HttpCase } from './fuzz-http-cases.js';
import { printFigures, readCaseCount } from './random-cases.js';

/** Ends with the final markers of all endpoints that stream. */
const STREAM =
  [
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: {"type":"response.completed","response":{}}',
    'data: {"type":"message_stop"}',
    'data: [DONE]',
  ].join('\n\n') + '\n\n';
const ANSWER = '{"choices":[{"index":0,"finish_reason":"stop"}],"content":[],"data":[],"output":[],"input_tokens":1}';

/** Cases of the short run in every test run; `npm run verify:fuzz -- fuzz` sets more. */
const CASES_DEFAULT = 1_500;
const HOUR_MS = 3_600_000;
/** Most connections at one time. */
const WAVE = 256;
/** Most checks of whether a wave is over. A connection without a response after that is stuck. */
const LOOKS_MAX = 500;
/** Statuses that a client can receive here, where the provider is healthy. */
const STATUSES = new Set([200, 400, 401, 404, 408, 413, 431]);
/** Code of an overloaded edge's response. Internal faults are found in the log. */
const OVERLOAD = 'admission_error';

const cases = readCaseCount('GATEWAY_VERIFY_HTTP_CASES', CASES_DEFAULT);
const seed = testSeed();

let world: EdgeWorld;
let provider: Server;
let asked = 0;
let soundCalls = 0;
let model = '';
beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_READ_AFTER_DISCONNECT_MS: '500' } });
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
  /** Whether the fuzzer closed it because no more bytes arrived. */
  isLeft: boolean;
}

test(
  `${cases} mutated requests get a specified response or a closed connection (seed ${seed})`,
  async () => {
    const random = new SeededRandom(seed);
    const figures = { seed, cases, connections: 0, calls: 0, bytes: 0, peakRss: 0 };
    const answers: Record<string, number> = {};
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
      for (const sent of wave)
        for (const answer of check(sent))
          if (sent.client.wire() !== '') answers[answer.status] = (answers[answer.status] ?? 0) + 1;
      figures.connections += wave.length;
      figures.calls += await checkWave();
      figures.peakRss = Math.max(figures.peakRss, process.memoryUsage.rss());
    }
    expect(Object.keys(answers)).not.toEqual([]);
    if (cases > CASES_DEFAULT) printFigures({ ...figures, answers });
  },
  4 * HOUR_MS,
);

/** Sends the bytes in one packet or in two. */
function send(number: number, own: readonly HttpCase[], bytes: Buffer, random: SeededRandom): Sent {
  const cut = random.chance(0.3) ? random.below(bytes.length + 1) : bytes.length;
  const client = rawClient(world.edge.port, bytes.subarray(0, cut));
  if (cut < bytes.length)
    client.socket.once('connect', () => setImmediate(() => client.socket.write(bytes.subarray(cut))));
  const sent: Sent = { number, cases: own, client, bytes: bytes.length, isClosed: false, isLeft: false };
  void client.closed.then(() => (sent.isClosed = true));
  return sent;
}

/** Waits until each connection is closed, or closes it when no more bytes arrive. */
async function playWave(wave: readonly Sent[]): Promise<void> {
  const isSent = ({ client: { socket }, isClosed, bytes }: Sent): boolean =>
    isClosed || (socket.bytesWritten >= bytes && socket.writableLength === 0);
  await until('everything is sent', () => wave.every(isSent));
  const seen = (): number =>
    wave.reduce((sum, { client, isClosed }) => sum + client.wire().length + Number(isClosed), 0);
  for (let looks = 0, before = -1; ; looks += 1) {
    // Two complete calls pass through the same queues, so all responses to the wave are here now.
    await wholeCall();
    await wholeCall();
    const open = wave.filter(({ isClosed }) => !isClosed);
    const isOver = seen() === before && isIdle() && open.every((sent) => !isWhole(sent) || isAnswered(sent));
    before = seen();
    const [stuck] = open;
    if (looks > LOOKS_MAX && stuck !== undefined) throw new Error(describeProblem(stuck, 'it has no response'));
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
      throw new Error(`seed ${seed}: a valid call between the waves is answered ${status}: ${body.toString()}`);
    return true;
  };
  await until('a valid call between the waves is answered', isAnswered).catch((error: unknown) => {
    const log = world.log.slice(-5).map((line) => inspect(line));
    throw new Error(`seed ${seed}: ${String(error)}\n${refused}\n${log.join('\n')}`);
  });
}

/** Returns whether every admitted call has been released. */
function isIdle(): boolean {
  return world.admission.releases.length >= world.admission.holds.size;
}

/** Returns the responses of a connection. Throws on anything that is not specified. */
function check(sent: Sent): readonly RawResponse[] {
  const answers = answersOf(sent);
  let isSure = true;
  for (const [at, answer] of answers.entries()) {
    const isOverloaded = answer.status === 500 && answer.body.includes(`"code":"${OVERLOAD}"`);
    if (!STATUSES.has(answer.status) && !isOverloaded)
      throw new Error(describeProblem(sent, `status ${answer.status}`));
    if (!answer.isComplete && !sent.isLeft && answer.status !== 200)
      throw new Error(describeProblem(sent, 'incomplete response'));
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

/** Returns whether none of its requests was mutated. */
function isWhole(sent: Sent): boolean {
  return sent.cases.every(({ status }) => status !== null);
}

/** Whether all its requests are answered, or all up to one that closed the connection. */
function isAnswered(sent: Sent): boolean {
  const answers = answersOf(sent);
  if (answers.some(({ isComplete }) => !isComplete)) return false;
  return answers.length === sent.cases.length || answers.at(-1)?.headers.get('connection') === 'close';
}

function answersOf(sent: Sent): RawResponse[] {
  const wire = sent.client.wire();
  try {
    return readAnswers(wire);
  } catch (error) {
    throw new Error(describeProblem(sent, String(error)));
  }
}

/** Checks that a wave left no call, byte or fault. Returns the provider's requests. */
async function checkWave(): Promise<number> {
  const { admission } = world;
  await until('every admitted call is released', isIdle);
  const fault = world.log.find(({ level }) => level === 'error');
  if (fault !== undefined) throw new Error(`seed ${seed}: ${fault.text}: ${inspect(fault.facts)}`);
  for (const held of [REQUEST_BODIES, HELD_RESPONSES]) {
    await until('no byte is held', () => held.held === 0);
  }
  // Subtract the complete calls between the waves, which are admitted too.
  const admitted = admission.admits.filter(({ entry }) => entry.bodyRefusal === null).length - soundCalls;
  soundCalls = 0;
  const calls = asked;
  if (calls > admitted)
    throw new Error(`seed ${seed}: the provider received ${calls} requests for ${admitted} admissions`);
  asked = 0;
  admission.holds.clear();
  for (const list of [admission.admits, admission.batches, admission.releases, world.events, world.log as unknown[]])
    list.length = 0;
  return calls;
}

function describeProblem({ number, cases: own, client, isLeft }: Sent, problem: string): string {
  const sent = own.map(({ bytes, status }) => [status, bytes.toString('latin1').slice(0, 2_000)]);
  return `seed ${seed}, case ${number}: ${problem}\n${JSON.stringify({ sent, isLeft, got: client.wire().slice(0, 2_000) })}`;
}
