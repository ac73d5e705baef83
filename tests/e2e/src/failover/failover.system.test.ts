// Plays each row of docs/failover.md on the whole system, in three formats, and compares the cells.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { LedgerTransactionView, UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { type ProviderSimulator, type ScriptStep, startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { FORMATS, type Format } from '../../../../services/edge-proxy/test/formats.js';
import { applyObjects } from '../../test/apply-objects.js';
import { chat, errorCode, type TestResponse } from '../../test/call.js';
import { PRICES } from '../../test/prices.js';
import { type ReadHealth, restMsOf, watchHealth } from '../../test/source-health.js';
import { sharedSystem } from '../../test/system.js';

const RUN_MS_MAX = 180_000;
const HEALTH_MS_MAX = 150_000;
const PLAYS_AT_ONCE = 12;
/** Timeout of stalling sources, short so that no play waits long. */
const STALL_MS = 400;
/** Tolerance for rounding: the end of an attempt is reported in whole milliseconds. */
const REST_MS_OFF_MAX = 2;
/** A scripted source continues when the client has received its first chunk. */
const FIRST_SEEN = 'first seen';
const SOURCES = ['a', 'b'] as const;
type SourceName = (typeof SOURCES)[number];

/** The tokens that each source reports, and their charge at `PRICES` in nano-USD. */
const USAGE = { a: { input: 1_000, output: 20 }, b: { input: 1_000, output: 30 } };
const CHARGE_NANO_USD = {
  // 1,000 x 3,000 + 20 x 15,000 + 1,000 per request.
  a: 3_301_000n,
  // 1,000 x 3,000 + 30 x 15,000 + 1,000 per request.
  b: 3_451_000n,
};

type Steps = (play: Play) => readonly ScriptStep[];
const REFUSES = 'refuses connections';

/** How the sources behave for one request. A source without an entry responds. */
interface SourceBehaviours extends Partial<Record<SourceName, Steps | typeof REFUSES>> {
  readonly afterMs?: number;
}

const steps = (...all: ScriptStep[]) => (() => all) satisfies Steps;
const status = (code: number, headers: Record<string, string> = {}): Steps => steps({ status: code, headers });
const errorBody = (error: object): ScriptStep => ({ chunk: JSON.stringify({ error }) });
/** Events before the first content. */
const early = ({ path, first, delta }: Format): ScriptStep => ({
  chunk: path === '/v1/chat/completions' ? delta('') : `${first.split('\n\n')[0]}\n\n`,
});
/** The response begins, and in a stream the client has its first event before these steps. */
const begun = ({ format, kind }: Play, ...rest: ScriptStep[]): ScriptStep[] =>
  kind === 'plain' ? [{ chunk: '{"id":' }, ...rest] : [{ chunk: format.first }, { waitFor: FIRST_SEEN }, ...rest];
const RESET = steps({ end: 'reset' });
const STALL = steps({ end: 'stall' });
const FIVE_FAILURES = Array.from({ length: 5 }, () => ({ a: status(503) }));

/** The requests of each row. Its cells have the expected results (docs/behaviour.md#failover). */
const FAILURES: Readonly<Record<string, readonly SourceBehaviours[]>> = {
  '429 with Retry-After': [{ a: status(429, { 'retry-after': '30' }) }],
  '429 without Retry-After': [{ a: status(429) }],
  500: [{ a: status(500) }],
  502: [{ a: status(502) }],
  503: [{ a: status(503) }],
  529: [{ a: status(529) }],
  'refused connection': [{ a: REFUSES }],
  'reset before the first byte': [{ a: RESET }],
  'reset of a reused connection before the first byte': [{}, { a: RESET }],
  'reset after the first byte': [{ a: (play) => begun(play, { end: 'reset' }) }],
  'stall before the headers': [{ a: STALL }],
  'stall after the first event': [{ a: (play) => begun(play, { end: 'stall' }) }],
  'error as the first event': [{ a: ({ format }) => [{ chunk: format.providerError }] }],
  'error or break before the first content of a stream': [
    { a: ({ format }) => [early(format), { chunk: format.providerError }] },
    { a: ({ format }) => [early(format), { end: 'reset' }] },
  ],
  'error in mid-stream': [{ a: (play) => begun(play, { chunk: play.format.providerError }) }],
  '200 with an error body': [
    {
      a: steps(
        { headers: { 'content-type': 'application/json' } },
        errorBody({ message: 'The server had an error.', type: 'server_error', code: 'server_error' }),
      ),
    },
  ],
  'truncated JSON': [
    {
      a: (play) =>
        play.kind === 'plain' ? begun(play) : begun(play, { chunk: play.format.delta('lo').slice(0, -20) }),
    },
  ],
  'broken SSE': [
    { a: steps({ headers: { 'content-type': 'text/event-stream' } }, { chunk: '<html>Bad gateway</html>' }) },
  ],
  'rejected credential (401)': [{ a: status(401) }],
  'unknown model (404)': [
    {
      a: ({ name }) => [
        { status: 404 },
        errorBody({
          message: `The model up-${name} does not exist.`,
          type: 'invalid_request_error',
          code: 'model_not_found',
        }),
      ],
    },
  ],
  'moderated prompt': [
    {
      a: steps(
        { status: 400 },
        errorBody({
          message: 'The prompt was flagged as unsafe.',
          type: 'invalid_request_error',
          code: 'content_policy_violation',
        }),
      ),
    },
  ],
  'both fail: refused connection, then 503': [{ a: REFUSES, b: status(503) }],
  'both fail: 401, then 429 with Retry-After': [{ a: status(401), b: status(429, { 'retry-after': '9' }) }],
  'both fail: 503, then 401': [{ a: status(503), b: status(401) }],
  'both fail: 500, then a stall before the headers': [{ a: status(500), b: STALL }],
  'both fail: reset, then a refused connection': [{ a: RESET, b: REFUSES }],
  'both fail: no connection to either': [{ a: REFUSES, b: REFUSES }],
  'alternating: 503, success, 500, success': [{ a: status(503) }, {}, { a: status(500) }, {}],
  'cooldown after a 429, then recovery': [{ a: status(429, { 'retry-after': '5' }) }, {}, { afterMs: 5_000 }],
  'five failures in a row': [...FIVE_FAILURES, {}],
  'five failures in a row, then recovery': [...FIVE_FAILURES, {}, { afterMs: 30_000 }],
};
/** The other sources keep the default timeouts, so that they can respond on a busy machine. */
const LIMITS: Readonly<Record<string, Partial<Record<SourceName, object>>>> = {
  'stall before the headers': { a: { headersTimeoutMs: STALL_MS } },
  'stall after the first event': { a: { silenceTimeoutMs: STALL_MS } },
  'both fail: 500, then a stall before the headers': { b: { headersTimeoutMs: STALL_MS } },
};

const [, , ...ROWS] = readFileSync(new URL('../../../../docs/failover.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

interface Cells {
  readonly client: readonly string[];
  readonly queried: readonly string[];
  readonly charge: readonly string[];
  readonly health: string;
}

/** One row in one format, plain or streamed. Sources, models and providers have its name. */
interface Play {
  readonly failure: string;
  readonly format: Format;
  readonly kind: 'plain' | 'streamed';
  readonly name: string;
  readonly expected: Cells;
}

const PLAYS: readonly Play[] = ROWS.flatMap(([, failure = '', client = '', queried = '', charge = '', health = '']) =>
  FORMATS.flatMap((format) =>
    (['plain', 'streamed'] as const).flatMap((kind) => {
      const ofRequests = [client, queried, charge].map((cell) => textsOf(cell, kind, FAILURES[failure]?.length ?? 0));
      const [clients, sources, charges] = ofRequests;
      if (clients === undefined || sources === undefined || charges === undefined) return [];
      const expected = { client: clients, queried: sources, charge: charges, health };
      return [{ failure, format, kind, name: `failover-${randomBytes(6).toString('hex')}`, expected }];
    }),
  ),
);

/**
 * Returns the texts of a cell for each request, or undefined if it has none for this kind. One text
 * without `/` is that of all requests.
 */
function textsOf(cell: string, kind: Play['kind'], requests: number): string[] | undefined {
  const part = /^(plain|streamed): /.test(cell)
    ? cell
        .split('; ')
        .find((one) => one.startsWith(kind))
        ?.slice(kind.length + 2)
    : cell;
  const texts = part?.split(' / ').flatMap((text) => {
    const [, times = '1', one = ''] = /^(?:(\d+) × )?(.*)$/.exec(text) ?? [];
    return Array.from({ length: Number(times) }, () => one);
  });
  return texts?.length === 1 ? Array.from({ length: requests }, () => texts[0] ?? '') : texts;
}

interface SeenCall {
  readonly answer: TestResponse;
  /** The sources that received the request. They do not see refused connections. */
  readonly reached: readonly SourceName[];
}

const seen = new Map<Play, Cells>();
const providers = new Map<Play, ProviderSimulator>();

beforeAll(async () => {
  const { operator, edgeUrls } = sharedSystem();
  const { account, secret } = await operator.account('1000.00');
  await operator.limits(account, 1_000_000, 1_000);
  // Each play has its own providers, so that its first connection is a new one.
  for (const play of PLAYS) providers.set(play, await startProviderSimulator());
  await applyObjects(operator, [
    { kind: 'provider', id: 'failover', spec: { name: 'failover', format: 'openai' } },
    ...PLAYS.flatMap(objectsOf),
  ]);
  const attempts = new Map(PLAYS.map((play) => [`${play.name}-a`, attemptsAtA(play)]));
  const calls = new Map<Play, SeenCall[]>();
  // Plays with waiting times start first.
  const waiting = [...PLAYS].sort((one, other) => waitOf(other) - waitOf(one));
  const work = async (): Promise<void> => {
    for (let play = waiting.shift(); play !== undefined; play = waiting.shift()) {
      // One edge, because each edge has its own health of a source.
      calls.set(play, await playCalls(play, `${edgeUrls[0]}${play.format.path}`, secret));
    }
  };
  const [healths] = await Promise.all([
    watchHealth(operator, attempts, HEALTH_MS_MAX),
    ...Array.from({ length: PLAYS_AT_ONCE }, work),
  ]);
  const records = await until('all requests have a record', async () => {
    const all = await operator.records(account);
    return all.length >= [...calls.values()].flat().length && new Map(all.map((record) => [record.requestId, record]));
  });
  const taken = new Map<string | null, bigint>();
  for (const { requestId, entries } of await operator.all<LedgerTransactionView>(`/accounts/${account}/ledger`)) {
    const amounts = entries.filter(({ ledgerAccount }) => ledgerAccount === `wallet:${account}`);
    const sum = amounts.reduce((all, { amountUsd }) => all - parseUsd(amountUsd), taken.get(requestId) ?? 0n);
    taken.set(requestId, sum);
  }
  for (const play of PLAYS) {
    const own = (calls.get(play) ?? []).map((call) => ({ ...call, record: records.get(call.answer.requestId) }));
    seen.set(play, {
      client: own.map(({ answer }) => describeAnswer(play, answer)),
      queried: own.map(({ record, reached }, request) => describeQueried(play, record, reached, request)),
      charge: own.map(({ record }) => describeCharge(record, taken.get(record?.requestId ?? '') ?? 0n)),
      health: describeHealth(healths.get(`${play.name}-a`), play.expected.health),
    });
  }
}, RUN_MS_MAX);
afterAll(() => Promise.all([...providers.values()].map((provider) => provider.close())));

function objectsOf(play: Play): object[] {
  const { name, format, failure } = play;
  const model = `failover/${name}`;
  const source = (id: SourceName, priority: number): object => ({
    modelId: model,
    providerId: 'failover',
    baseUrl: providers.get(play)?.urls[priority],
    upstreamModel: `up-${name}`,
    endpoints: [format.path],
    priority,
    credential: `credential-of-${name}-${id}`,
    limits: LIMITS[failure]?.[id],
  });
  return [
    { kind: 'model', id: model, spec: { displayName: model, kind: 'chat', prices: PRICES } },
    ...SOURCES.map((id, priority) => ({ kind: 'source', id: `${name}-${id}`, spec: source(id, priority) })),
  ];
}

function attemptsAtA({ expected: { queried } }: Play): number {
  return queried.flatMap((sources) => sources.split(', ')).filter((source) => source === 'a').length;
}

function waitOf({ failure }: Play): number {
  return (FAILURES[failure] ?? []).reduce((sum, { afterMs = 0 }) => sum + afterMs, 0);
}

async function playCalls(play: Play, url: string, secret: string): Promise<SeenCall[]> {
  const { failure, format, kind, name } = play;
  const provider = providers.get(play) as ProviderSimulator;
  const calls: SeenCall[] = [];
  for (const { afterMs = 0, ...behaviours } of FAILURES[failure] ?? []) {
    await delay(afterMs);
    for (const listener of SOURCES) {
      const act = behaviours[listener];
      if (act === REFUSES) await provider.closeListener(listener);
      else if (act !== undefined) provider.script({ model: `up-${name}`, listener, steps: [...act(play)] });
      // A second attempt succeeds.
      provider.script({ model: `up-${name}`, listener, steps: [{ usage: USAGE[listener] }] });
    }
    const before = provider.calls().length;
    const { body } = format.request({ model: `failover/${name}`, stream: kind === 'streamed' });
    const release = (): void => provider.release(FIRST_SEEN);
    const answer = await chat(url, secret, JSON.parse(body) as Record<string, unknown>, {}, release);
    // The record exists only after the response has ended, so the next request can reuse its
    // connection.
    if (play.expected.charge[calls.length] === 'usage of a')
      await sharedSystem().operator.usageRecord(answer.requestId);
    const reached = provider.calls().slice(before);
    calls.push({ answer, reached: reached.map(({ listener }) => listener) });
    provider.clearScripts();
  }
  return calls;
}

function describeAnswer({ format, kind }: Play, { status, headers, text, cut }: TestResponse): string {
  const retryAfter = headers['retry-after'];
  if (status !== 200) {
    return `${status} \`${errorCode(text)}\`${retryAfter === undefined ? '' : `, Retry-After ${String(retryAfter)}`}`;
  }
  const error = kind === 'plain' ? null : endingOf(format, text);
  // The Responses format ends such a stream normally, with its own events.
  if (error !== null)
    return `a partial response, then ${error}${cut === format.cutEndsNormally ? ', wrongly' : ''}, cut`;
  if (cut) return 'cut without an error';
  return kind === 'plain' || text.includes(format.done.split('\n')[0] ?? '') ? 'the response' : 'no final marker';
}

/** Returns the error that ends a stream, or null. */
function endingOf({ path, providerError, relaysErrors }: Format, text: string): string | null {
  if (relaysErrors && text.endsWith(providerError)) return "the provider's error";
  const last = text.split('\n\n').findLast((sseEvent) => sseEvent.includes('data: ')) ?? '';
  const code = /"code":"(\w+)"/.exec(last)?.[1];
  if (code === undefined) return null;
  return path === '/v1/messages' && code === 'upstream_error' ? "the provider's error" : `\`${code}\``;
}

function describeQueried(
  { failure, name }: Play,
  record: UsageRecordView | undefined,
  reached: readonly SourceName[],
  request: number,
): string {
  const queried = record?.attempts.map(({ sourceId }) => (sourceId === `${name}-a` ? 'a' : 'b')) ?? [];
  const behaviours = FAILURES[failure]?.[request];
  const expected = queried.filter((source) => behaviours?.[source] !== REFUSES).join(', ');
  const others = reached.join(', ');
  return others === expected ? queried.join(', ') : `${queried.join(', ')}, but the providers saw ${others}`;
}

function describeCharge(record: UsageRecordView | undefined, takenNanoUsd: bigint): string {
  const { chargedUsd = '0', outcome, evidence } = record ?? {};
  const facts = `${parseUsd(chargedUsd)} charged, ${takenNanoUsd} taken, ${outcome}, ${evidence}`;
  const settled = (nanoUsd: bigint): string => `${nanoUsd} charged, ${nanoUsd} taken, settled, reported`;
  const source = SOURCES.find((name) => facts === settled(CHARGE_NANO_USD[name]));
  if (source !== undefined) return `usage of ${source}`;
  return facts === '0 charged, 0 taken, voided, none' ? '0' : facts;
}

function describeHealth(health: ReadHealth | undefined, expected: string): string {
  if (health === undefined) return 'not reported';
  const { state, failuresInARow: failures, lastOutcome } = health;
  const seconds = /(\d+) s$/.exec(expected)?.[1];
  const restMs = restMsOf(health, seconds === undefined ? null : Number(seconds) * 1_000);
  const rounded = Math.round((restMs ?? 0) / 1_000) * 1_000;
  const length = Math.abs((restMs ?? 0) - rounded) <= REST_MS_OFF_MAX ? `${rounded / 1_000} s` : `${restMs} ms`;
  return [
    `\`${lastOutcome}\``,
    ...(failures === 0 ? [] : [`${failures} failure${failures === 1 ? '' : 's'}`]),
    ...(restMs === null && state === 'healthy' ? [] : [`${state === 'open' ? 'open' : 'cooldown'} ${length}`]),
  ].join(', ');
}

test('the page has one row for each failure', () => {
  expect(ROWS.map(([, failure]) => failure).sort()).toEqual(Object.keys(FAILURES).sort());
  // 27 rows with both kinds of requests and 4 with streamed ones, in three formats.
  expect(PLAYS).toHaveLength(174);
});

// Covers i3; i4; i5
test.each(PLAYS.map((play) => [`${play.failure}, ${play.format.path} ${play.kind}`, play] as const))(
  '%s',
  (_title, play) => {
    expect(seen.get(play)).toEqual(play.expected);
  },
);
