import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { MESSAGES, type AnyMessage, type ServiceName } from '@gateway/contracts/messages';
import { startTestBus, until, type TestBus } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { z } from 'zod';
import { makeHostileBody, hostileBytes, hostileListBytes } from './hostile-messages.js';
import { isValid, makeSample, type JsonSchema } from './json-schema.js';
import { printFigures, readCaseCount } from './random-cases.js';

/** Messages of the short run in every test run; `npm run verify:fuzz -- fuzz` sets more. */
const MESSAGES_DEFAULT = 10_000;
const MESSAGES_FULL = 100_000;
/** One in this many messages is also sent to a live handler. */
const LIVE_EVERY = 20;
const AT_ONCE = 50;
const YIELD_EVERY = 200;
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 20_000;
/** The codes that a rejected or failed request may have. */
const FAULTS = new Set(['invalid_message', 'invalid_answer', 'too_large', 'fault']);

const messages = readCaseCount('GATEWAY_VERIFY_MESSAGES', MESSAGES_DEFAULT);
const seed = testSeed();

type RequestRow = Extract<AnyMessage, { kind: 'request' }>;
type PublishedRow = Extract<AnyMessage, { kind: 'published' }>;
const REQUESTS = MESSAGES.filter(
  (message): message is RequestRow => message.kind === 'request' && message.sentBy.length > 0,
);
const PUBLISHED = MESSAGES.filter((message): message is PublishedRow => message.kind === 'published');

let testBus: TestBus;
const buses = new Map<ServiceName, Bus>();
beforeAll(async () => {
  testBus = await startTestBus();
  for (const service of new Set(MESSAGES.flatMap(({ sentBy, servedBy }) => [...sentBy, ...servedBy]))) {
    buses.set(service, await testBus.connect(service));
  }
}, 60_000);
afterAll(() => testBus.stop(), 60_000);

const figures = { accepted: 0, refused: 0, live: 0, liveAccepted: 0, liveAnswers: 0, published: 0, publishedTaken: 0 };
const acceptedOf = new Map<string, number>();

test(
  `${messages} mutated messages: no handler accepts an invalid one (seed ${seed})`,
  async () => {
    const random = new SeededRandom(seed);
    const bus = buses.get('edge-proxy') as Bus;
    const handlers = MESSAGES.map((message) => ({ message, schema: schemaOf(message.body) }));
    for (let number = 0; number < messages; number += 1) {
      // Yield, since the server closes the connections of a blocked process.
      if (number % YIELD_EVERY === 0) await new Promise((resolve) => setImmediate(resolve));
      const { message, schema } = handlers[number % handlers.length] as (typeof handlers)[number];
      const bytes = bytesOf(message, schema, random);
      const decoded = decode(bus, message, bytes, number);
      if (!decoded.ok) figures.refused += 1;
      else {
        figures.accepted += 1;
        acceptedOf.set(message.name, (acceptedOf.get(message.name) ?? 0) + 1);
        requireValid(message, schema, bytes, decoded.body, number);
      }
    }
    expect(({} as { a?: number }).a).toBeUndefined();
    if (messages > MESSAGES_DEFAULT) printFigures({ seed, messages, kinds: MESSAGES.length, ...figures });
    // The generator must reach every handler.
    if (messages >= MESSAGES_FULL)
      expect(MESSAGES.map(({ name }) => name).filter((name) => !acceptedOf.has(name))).toEqual([]);
  },
  4 * HOUR_MS,
);

test(
  'services and callers receive only messages that match the schemas',
  async () => {
    const random = new SeededRandom(seed + 1);
    const problems: string[] = [];
    serveAll(random, problems);
    await until('every service is connected', () => [...buses.values()].every((bus) => bus.connected()));
    // Each service has its own connection, so the server may receive a subscription later than the
    // first message to it.
    for (const bus of buses.values()) await bus.listening();
    const count = Math.ceil(messages / LIVE_EVERY);
    for (let number = 0; number < count; number += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, count - number) }, () => sendOne(random, problems));
      await Promise.all(batch);
    }
    expect(problems).toEqual([]);
    // Each handler must still accept a valid message.
    for (const message of REQUESTS) await requireOpen(message, random);
    expect(figures.live).toBeGreaterThan(0);
  },
  4 * HOUR_MS,
);

const schemas = new Map<z.ZodType, JsonSchema>();

/** Returns the JSON Schema of a body as its sender writes it, without references. */
function schemaOf(body: z.ZodType): JsonSchema {
  const known = schemas.get(body);
  if (known !== undefined) return known;
  const schema: JsonSchema = z.toJSONSchema(body, { io: 'input', target: 'draft-7' });
  expect(JSON.stringify(schema)).not.toContain('"$ref"');
  schemas.set(body, schema);
  return schema;
}

/** Returns the bytes of a message. Some packed ones are sent by name, which must be rejected. */
function bytesOf(message: AnyMessage, schema: JsonSchema, random: SeededRandom): Buffer {
  const packing = 'packed' in message ? message.packed?.body : undefined;
  if (packing === undefined || random.chance(0.05)) {
    return hostileBytes(makeHostileBody(schema, random), message.version, random);
  }
  return hostileListBytes(packing.pack(makeSample(schema, random), message.version), random);
}

function decode(bus: Bus, message: AnyMessage, bytes: Buffer, number: number): ReturnType<Bus['decode']> {
  try {
    return bus.decode(message, bytes);
  } catch (error) {
    throw new Error(`seed ${seed}, message ${number} (${message.name}): ${String(error)}\n${bytes.toString()}`);
  }
}

function requireValid(
  { name, version }: AnyMessage,
  schema: JsonSchema,
  bytes: Buffer,
  taken: unknown,
  number: number,
): void {
  // The handlers drop a member with the name `__proto__` and so do not check it.
  const sent = JSON.parse(bytes.toString(), (member, each: unknown) => (member === '__proto__' ? undefined : each)) as
    | Record<string, unknown>
    | unknown[];
  const { v, ...body } = Array.isArray(sent) ? { v: sent[0], ...(asSent(taken) as object) } : sent;
  if (v === version && isValid(schema, body)) return;
  throw new Error(`seed ${seed}, message ${number}: the handler of ${name} accepted\n${bytes.toString()}`);
}

/** Removes members that are undefined. */
function asSent(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body));
}

/** Registers the handlers of each service. Their answers may be invalid too. */
function serveAll(random: SeededRandom, problems: string[]): void {
  const take = ({ name, body: schema }: AnyMessage, body: unknown): void => {
    if (!isValid(schemaOf(schema), asSent(body)))
      problems.push(`${name} received ${JSON.stringify(body).slice(0, 500)}`);
  };
  for (const message of REQUESTS) {
    const bus = busOf(message.servedBy[0]);
    bus.serve(message, async (body) => {
      take(message, body);
      figures.liveAccepted += 1;
      const answer = schemaOf(message.answer);
      return makeHostileBody(answer, random) as never;
    });
  }
  for (const message of PUBLISHED) {
    if (message.subject.includes('{') || message.servedBy.length === 0) continue;
    busOf(message.servedBy[0]).subscribe(message, (body) => {
      take(message, body);
      figures.publishedTaken += 1;
    });
  }
}

function busOf(service: ServiceName | undefined): Bus {
  const bus = service === undefined ? undefined : buses.get(service);
  if (bus === undefined) throw new Error('this service has no bus');
  return bus;
}

async function sendOne(random: SeededRandom, problems: string[]): Promise<void> {
  const published = PUBLISHED.filter(({ subject, servedBy }) => !subject.includes('{') && servedBy.length > 0);
  figures.live += 1;
  if (random.chance(0.1) && published.length > 0) {
    const message = random.pick(published);
    figures.published += 1;
    try {
      busOf(message.sentBy[0]).publish(message, {}, makeHostileBody(schemaOf(message.body), random) as never);
    } catch (error) {
      requireFault(error, problems, message.name);
    }
    return;
  }
  const message = random.pick(REQUESTS);
  const sent = random.chance(0.95) ? message : { ...message, version: message.version + 1 };
  const body = makeHostileBody(schemaOf(message.body), random);
  try {
    const answer: unknown = await busOf(message.sentBy[0]).request(sent, body as never, { timeoutMs: TIMEOUT_MS });
    figures.liveAnswers += 1;
    if (!isValid(schemaOf(message.answer), asSent(answer)))
      problems.push(`the caller of ${message.name} received ${JSON.stringify(answer)}`);
  } catch (error) {
    requireFault(error, problems, message.name);
  }
}

function requireFault(error: unknown, problems: string[], name: string): void {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!FAULTS.has(code)) problems.push(`${name} failed with ${String(error)}`);
}

/** Checks that a valid message reaches the handler. Its answer may be rejected. */
async function requireOpen(message: RequestRow, random: SeededRandom): Promise<void> {
  const before = figures.liveAccepted;
  await until(`the handler of ${message.name} opens`, async () => {
    const body = makeSample(schemaOf(message.body), random);
    await busOf(message.sentBy[0])
      .request(message, body as never, { timeoutMs: TIMEOUT_MS })
      .catch(() => undefined);
    return figures.liveAccepted > before;
  });
}
