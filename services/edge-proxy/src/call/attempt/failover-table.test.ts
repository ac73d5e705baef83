import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { UsageEvent } from '@gateway/contracts/messages';
import { startProviderSimulator, type ProviderSimulator, type ScriptStep } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { begin, send } from '../../../test/client.js';
import { SOURCE_CREDENTIAL, startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { FORMATS, type Format } from '../../../test/formats.js';
import { publishOwnModels, type OwnModel, type OwnSource } from '../../../test/own-models.js';

/** The call deadline, 600 s in production, and the silence limit of a stream. */
const DEADLINE_MS = 2_500;
const OWN_LIMIT_MS = 700;

type Outcome = UsageEvent['attempts'][number]['outcome'];

/** A failure of a provider and its expected consequences (docs/behaviour.md#failover). */
interface Failure {
  readonly name: string;
  /** Script of the provider; absent: the source's address causes the failure. */
  readonly steps?: (format: Format) => ScriptStep[];
  readonly url?: string;
  readonly limits?: OwnSource['limits'];
  readonly only?: 'plain' | 'streamed';
  /** The failure needs a new connection. */
  readonly fresh?: true;
  /** Whether another source is tried. */
  readonly next: boolean;
  /** The client's error if this failure is final. */
  readonly status: number;
  readonly code: string;
  readonly retryAfter?: string | RegExp;
  /** The attempt record. */
  readonly outcome: Outcome;
  readonly providerStatus: number | null;
  readonly possiblyPaid: boolean;
}

const status = (
  code: number,
  answer: [next: boolean, status: number, code: string],
  more: Partial<Failure> = {},
): Failure => ({
  name: `${code}`,
  steps: () => [{ status: code, headers: { ...(code < 400 ? { location: 'http://127.0.0.1:1/' } : {}) } }],
  next: answer[0],
  status: answer[1],
  code: answer[2],
  outcome: 'rejected',
  providerStatus: code,
  possiblyPaid: false,
  ...more,
});

const limited = (name: string, header: string | undefined, retryAfter: string | RegExp | undefined): Failure => ({
  ...status(429, [true, 429, 'rate_limit_exceeded']),
  name: `429 with ${name}`,
  steps: () => [{ status: 429, headers: header === undefined ? {} : { 'retry-after': header } }],
  ...(retryAfter === undefined ? {} : { retryAfter }),
});

const broken = (name: string, next: boolean, more: Partial<Failure>): Failure => ({
  name,
  next,
  status: 504,
  code: 'upstream_timeout',
  outcome: 'broken',
  providerStatus: null,
  possiblyPaid: true,
  ...more,
});

const unreachable = (name: string, url: string): Failure =>
  broken(name, true, {
    url,
    status: 502,
    code: 'upstream_unreachable',
    outcome: 'unreachable',
    possiblyPaid: false,
  });

const unreadable = (name: string, more: Partial<Failure>): Failure =>
  broken(name, true, { status: 502, code: 'upstream_error', ...more });

/** Error body that providers send with status 200. */
const RATE_LIMIT = '{"type":"error","error":{"type":"rate_limit_error","code":429,"message":"slow down"}}';
const CREATED =
  'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1"}}\n\n';

/** Events of each format before the first text. */
const EMPTY_BEGINNING: Readonly<Record<Format['path'], string>> = {
  '/v1/chat/completions':
    'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n',
  '/v1/messages':
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":3}}}\n\n' +
    'event: ping\ndata: {"type":"ping"}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","content_block":{"type":"text","text":""}}\n\n',
  '/v1/responses': `${CREATED}data: {"type":"response.output_item.added","item":{"type":"message","content":[]}}\n\n`,
};

const limitedInside = (name: string, more: Partial<Failure>): Failure =>
  broken(name, true, { status: 429, code: 'rate_limit_exceeded', ...more });

const FAILURES: readonly Failure[] = [
  limited('a Retry-After in seconds', '7', '7'),
  limited('a Retry-After in fractions', '1.2', '2'),
  limited('a Retry-After that is a date', new Date(Date.now() + 3_600_000).toUTCString(), /^3\d{3}$/),
  limited('an invalid Retry-After', 'soon', undefined),
  limited('no Retry-After', undefined, undefined),
  status(502, [true, 502, 'upstream_error']),
  status(503, [true, 503, 'upstream_error']),
  status(504, [true, 504, 'upstream_error'], { possiblyPaid: true }),
  status(529, [true, 529, 'upstream_error']),
  status(500, [true, 500, 'upstream_error']),
  status(501, [true, 501, 'upstream_error']),
  status(400, [false, 400, 'invalid_request']),
  status(401, [true, 401, 'upstream_auth_error']),
  status(402, [true, 403, 'upstream_auth_error']),
  status(403, [true, 403, 'upstream_auth_error']),
  status(404, [true, 404, 'model_not_found']),
  status(408, [true, 504, 'upstream_timeout'], { possiblyPaid: true }),
  status(409, [false, 400, 'invalid_request']),
  status(413, [false, 413, 'request_entity_too_large']),
  status(422, [false, 400, 'invalid_request']),
  status(425, [true, 504, 'upstream_timeout']),
  status(301, [false, 502, 'upstream_error']),
  status(307, [false, 502, 'upstream_error']),
  status(204, [false, 502, 'upstream_error'], { possiblyPaid: true }),
  unreachable('refused connection', 'http://127.0.0.1:1'),
  // The label is longer than DNS allows, so no DNS server is queried.
  unreachable('unknown host', `http://${'x'.repeat(64)}.invalid`),
  unreachable('failed TLS handshake', 'https://LISTENER_B'),
  broken('reset before the head', true, { fresh: true, steps: () => [{ end: 'reset' }] }),
  broken('close before the head', true, { fresh: true, steps: () => [{ end: 'cut' }] }),
  broken("stall before the head beyond the source's limit", true, {
    limits: { headersTimeoutMs: OWN_LIMIT_MS },
    steps: () => [{ end: 'stall' }],
    outcome: 'timed_out',
  }),
  broken('stall before the head', false, { steps: () => [{ end: 'stall' }], outcome: 'timed_out' }),
  broken("stall before the first event beyond the source's limit", true, {
    only: 'streamed',
    limits: { firstEventTimeoutMs: OWN_LIMIT_MS },
    steps: () => [{ status: 200 }, { chunk: ': wait\n\n' }, { end: 'stall' }],
    outcome: 'timed_out',
  }),
  broken('stall after the head, with a limit for the head', false, {
    limits: { headersTimeoutMs: OWN_LIMIT_MS },
    steps: () => [{ status: 200 }, { end: 'stall' }],
    outcome: 'timed_out',
  }),
  broken('cut before the first event', true, {
    only: 'streamed',
    steps: () => [{ status: 200 }, { chunk: ': wait\n\n' }, { end: 'cut' }],
  }),
  broken('cut within a non-streamed body', true, { only: 'plain', steps: () => [{ chunk: '{"a":' }, { end: 'cut' }] }),
  broken('stall within a non-streamed body', false, {
    only: 'plain',
    steps: () => [{ chunk: '{"a":' }, { end: 'stall' }],
    outcome: 'timed_out',
  }),
  unreadable('wrong content type', {
    providerStatus: 200,
    steps: () => [{ status: 200, headers: { 'content-type': 'text/html' } }, { chunk: '<html>' }],
  }),
  unreadable('encoded body', {
    providerStatus: 200,
    steps: () => [{ status: 200, headers: { 'content-encoding': 'gzip' } }, { chunk: '{}' }],
  }),
  unreadable('malformed non-streamed body', { only: 'plain', steps: () => [{ chunk: '{"choices":' }] }),
  unreadable('error in a non-streamed body', {
    only: 'plain',
    steps: () => [{ chunk: '{"error":{"message":"no"}}' }],
  }),
  unreadable('unknown body format', {
    only: 'plain',
    steps: () => [{ chunk: '{"detail":"Internal Server Error"}' }],
  }),
  limitedInside('a non-streamed error', {
    only: 'plain',
    steps: () => [{ chunk: RATE_LIMIT }],
  }),
  limitedInside('a JSON error instead of a stream', {
    only: 'streamed',
    providerStatus: 200,
    steps: () => [{ headers: { 'content-type': 'application/json' } }, { chunk: RATE_LIMIT }],
  }),
  limitedInside('an error as the first event', {
    only: 'streamed',
    steps: ({ path }) => [
      { chunk: ': wait\n\n' },
      ...(path === '/v1/responses' ? [{ chunk: CREATED }] : []),
      { chunk: `event: error\ndata: ${RATE_LIMIT}\n\n` },
    ],
  }),
  limitedInside('an error after events without content', {
    only: 'streamed',
    steps: ({ path }) => [{ chunk: EMPTY_BEGINNING[path] }, { chunk: `event: error\ndata: ${RATE_LIMIT}\n\n` }],
  }),
  broken('cut after events without content', true, {
    only: 'streamed',
    steps: ({ path }) => [{ status: 200 }, { chunk: EMPTY_BEGINNING[path] }, { end: 'cut' }],
  }),
  unreadable('stream without an event', { only: 'streamed', steps: () => [{ chunk: ': nothing\n\n' }] }),
];

interface Cell {
  readonly failure: Failure;
  readonly format: Format;
  readonly streamed: boolean;
  readonly title: string;
}

const CELLS: readonly Cell[] = FORMATS.flatMap((format) =>
  FAILURES.flatMap((failure) =>
    ([false, true] as const)
      .filter((streamed) => failure.only === undefined || (failure.only === 'streamed') === streamed)
      .map((streamed) => ({
        failure,
        format,
        streamed,
        title: `${failure.name}, ${format.path} ${streamed ? 'streamed' : 'non-streamed'}`,
      })),
  ),
);

let world: EdgeWorld;
/** For each cell: a model whose first source fails, and one whose sources both fail. */
const own = new Map<Cell, readonly [OwnModel, OwnModel]>();
/** Providers without an earlier connection. */
const freshProviders: ProviderSimulator[] = [];
const providers = new Map<OwnModel, readonly [ProviderSimulator, ProviderSimulator]>();

beforeAll(async () => {
  world = await startEdgeWorld({ env: { GATEWAY_UPSTREAM_DEADLINE_MS: String(DEADLINE_MS) } });
  const [a, b] = world.provider.urls;
  const wanted: OwnSource[][] = [];
  const simulators: (readonly [ProviderSimulator, ProviderSimulator])[] = [];
  for (const { failure } of CELLS) {
    const fresh = failure.fresh === undefined ? world.provider : await startFresh();
    const failing = (url: string): OwnSource => ({
      url: failure.url?.replace('LISTENER_B', new URL(b).host) ?? url,
      ...(failure.limits === undefined ? {} : { limits: failure.limits }),
    });
    wanted.push([failing(fresh === world.provider ? a : fresh.urls[0]), { url: b }]);
    simulators.push([fresh, world.provider]);
    const both = failure.fresh === undefined ? world.provider : await startFresh();
    wanted.push([failing(both.urls[0]), failing(both.urls[1])]);
    simulators.push([both, both]);
  }
  const models = await publishOwnModels(world, wanted);
  models.forEach((model, at) => providers.set(model, simulators[at] as (typeof simulators)[number]));
  CELLS.forEach((cell, at) => own.set(cell, [models[2 * at] as OwnModel, models[2 * at + 1] as OwnModel]));
}, 60_000);

afterAll(async () => {
  await world.stop();
  await Promise.all(freshProviders.map((provider) => provider.close()));
}, 60_000);

async function startFresh(): Promise<ProviderSimulator> {
  const provider = await startProviderSimulator({ requireKey: SOURCE_CREDENTIAL });
  freshProviders.push(provider);
  return provider;
}

/** Runs all cells that wait for a timeout concurrently, when the first of them is run. */
function together(cells: readonly Cell[], check: (cell: Cell) => Promise<void>): (cell: Cell) => Promise<void> {
  const waiting = cells.filter(({ failure }) => failure.outcome === 'timed_out');
  const runs = new Map<Cell, Promise<void>>();
  return (cell) => {
    if (!waiting.includes(cell)) return check(cell);
    if (runs.size === 0) for (const each of waiting) runs.set(each, check(each));
    for (const run of runs.values()) run.catch(() => undefined);
    return runs.get(cell) as Promise<void>;
  };
}

describe('when the first source fails and the second is healthy', () => {
  const check = together(CELLS, async (cell) => {
    const { failure, format, streamed } = cell;
    const model = (own.get(cell) as readonly [OwnModel, OwnModel])[0];
    play(cell, model, 'a');
    const answer = await send(world.edge.url, format.path, format.request({ model: model.model, stream: streamed }));
    const id = String(answer.headers['x-gateway-request-id']);
    const event = await world.eventOf(id);
    expect(event.attempts[0]).toMatchObject(recordOf(failure, model.ids[0]));
    await expectOneRelease(id, failure.next ? 'ok' : 'void', event.amountNanoUsd);
    if (!failure.next) {
      expectError(cell, answer, id);
      expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0, source: null, usage: null });
      expect(event.attempts).toHaveLength(1);
      expect(world.provider.calls({ model: model.upstreamModel }).filter(({ listener }) => listener === 'b')).toEqual(
        [],
      );
      return;
    }
    expect(answer.status).toBe(200);
    expect(event.attempts).toHaveLength(2);
    expect(event.attempts[1]).toMatchObject({ source: model.ids[1], outcome: 'completed', status: 200 });
    expect(event).toMatchObject({ outcome: 'settled', evidence: 'reported', source: model.ids[1] });
    const { input, output } = event.usage ?? { input: 0, output: 0 };
    expect(input).toBeGreaterThan(0);
    expect(event.amountNanoUsd).toBe(input * 1_000 + output * 2_000);
  });
  test.each(CELLS.map((cell) => [cell.title, cell] as const))('%s', (_title, cell) => check(cell));
});

describe('when both sources fail', () => {
  const cells = CELLS.filter(({ failure }) => failure.next);
  const check = together(cells, async (cell) => {
    const { failure, format, streamed } = cell;
    const model = (own.get(cell) as readonly [OwnModel, OwnModel])[1];
    play(cell, model, 'a');
    play(cell, model, 'b');
    const answer = await send(world.edge.url, format.path, format.request({ model: model.model, stream: streamed }));
    const id = String(answer.headers['x-gateway-request-id']);
    expectError(cell, answer, id);
    const event = await world.eventOf(id);
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0, source: null, evidence: 'none' });
    expect(event.attempts).toHaveLength(2);
    model.ids.forEach((source, at) => expect(event.attempts[at]).toMatchObject(recordOf(failure, source)));
    await expectOneRelease(id, 'void', 0);
  });
  test.each(cells.map((cell) => [cell.title, cell] as const))('%s', (_title, cell) => check(cell));
});

describe.each(FORMATS)('$path: after the first byte was sent to the client', (format) => {
  test.each(['cut', 'reset', 'stall', 'error'] as const)(
    'a %s ends the call without trying another source',
    async (how) => {
      const [a, b] = world.provider.urls;
      const [model] = await publishOwnModels(world, [[{ url: a }, { url: b }]]);
      if (model === undefined) throw new Error('there is no model');
      const admission = `go-${model.upstreamModel}`;
      const ending: ScriptStep[] = how === 'error' ? [{ chunk: format.providerError }] : [{ end: how }];
      world.provider.script({
        model: model.upstreamModel,
        steps: [{ chunk: format.first }, { waitFor: admission }, ...ending],
      });
      const answer = await begin(world.edge.url, format.path, format.request({ model: model.model, stream: true }));
      const id = String(answer.headers['x-gateway-request-id']);
      let seen = '';
      answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
      const over = new Promise<string>((resolve) => {
        answer.on('end', () => resolve('ended'));
        answer.on('error', () => resolve('destroyed'));
      });
      await until('the client has the first event', () => seen === format.first);
      world.provider.release(admission);
      expect(await over).toBe(format.cutEndsNormally ? 'ended' : 'destroyed');
      const rest = seen.slice(format.first.length);
      if (how === 'error' && format.relaysErrors) expect(rest).toBe(format.providerError);
      else expect(rest).toMatch(format.cutEnding);
      const event = await world.eventOf(id);
      expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0, status: 200, source: model.ids[0] });
      expect(event.attempts).toMatchObject([
        { source: model.ids[0], outcome: how === 'stall' ? 'timed_out' : 'broken', possiblyPaid: true },
      ]);
      expect(world.provider.calls({ model: model.upstreamModel })).toHaveLength(1);
      await expectOneRelease(id, 'void', 0);
    },
  );

  test('comments are sent after a delay; then no other source is tried', async () => {
    const [a, b] = world.provider.urls;
    const [model] = await publishOwnModels(world, [[{ url: a }, { url: b }]]);
    if (model === undefined) throw new Error('there is no model');
    const admission = `go-${model.upstreamModel}`;
    const comment = ': still queued\n\n';
    world.provider.script({
      model: model.upstreamModel,
      steps: [{ chunk: comment }, { waitFor: admission }, { chunk: format.providerError }],
    });
    const answer = await begin(world.edge.url, format.path, format.request({ model: model.model, stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    const over = new Promise((resolve) => answer.on('close', resolve).on('error', resolve));
    await until('the client has the comment', () => seen === comment);
    world.provider.release(admission);
    await over;
    const rest = seen.slice(comment.length);
    if (format.relaysErrors) expect(rest).toBe(format.providerError);
    else expect(rest).toMatch(format.cutEnding);
    expect((await world.eventOf(String(answer.headers['x-gateway-request-id']))).attempts).toHaveLength(1);
  });

  test.each([1, 2])('a reset on a reused connection, %i times, is retried once', async (times) => {
    const provider = await startFresh();
    const [model] = await publishOwnModels(world, [[{ url: provider.urls[0] }, { url: world.provider.urls[1] }]]);
    if (model === undefined) throw new Error('there is no model');
    for (const streamed of [false, true]) {
      const request = format.request({ model: model.model, stream: streamed });
      expect((await send(world.edge.url, format.path, request)).status).toBe(200);
      provider.script({ model: model.upstreamModel, times, steps: [{ end: 'reset' }] });
      const answer = await send(world.edge.url, format.path, request);
      expect(answer.status).toBe(200);
      const { attempts } = await world.eventOf(String(answer.headers['x-gateway-request-id']));
      const first = { source: model.ids[0], outcome: 'broken', possiblyPaid: true };
      expect(attempts).toMatchObject(
        times === 1
          ? [first, { source: model.ids[0], outcome: 'completed' }]
          : [first, first, { source: model.ids[1], outcome: 'completed' }],
      );
    }
  });
});

function play({ failure, format }: Cell, model: OwnModel, listener: 'a' | 'b'): void {
  if (failure.steps === undefined) return;
  const [first, second] = providers.get(model) as readonly [ProviderSimulator, ProviderSimulator];
  const provider = listener === 'a' ? first : second;
  provider.script({ model: model.upstreamModel, listener, steps: failure.steps(format) });
}

function recordOf({ outcome, providerStatus, possiblyPaid }: Failure, source: string | undefined): object {
  return { source, provider: 'prov-1', outcome, status: providerStatus, possiblyPaid, usage: null };
}

function expectError({ failure, format }: Cell, answer: Awaited<ReturnType<typeof send>>, id: string): void {
  const body = JSON.parse(answer.body.toString());
  expect([answer.status, body.error.code]).toEqual([failure.status, failure.code]);
  expect(format.path === '/v1/messages' ? body.request_id : body.error.request_id).toBe(id);
  if (failure.retryAfter === undefined) expect(answer.headers['retry-after']).toBeUndefined();
  else expect(answer.headers['retry-after']).toMatch(failure.retryAfter);
  expect(answer.headers['location']).toBeUndefined();
}

/** Expects one release of the slot and the hold. A heartbeat may repeat an unanswered release. */
async function expectOneRelease(id: string, outcome: 'ok' | 'void', amountNanoUsd: number): Promise<void> {
  await until('the hold is released', () => world.admission.releases.some((release) => release.id === id));
  for (const release of world.admission.releases.filter((each) => each.id === id)) {
    expect(release).toMatchObject({ blind: false, outcome, amountNanoUsd, hold: world.admission.holds.get(id) });
  }
}
