import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ProviderProfile } from '@gateway/contracts/operator';
import { recordedShapes } from '../../../../services/edge-proxy/test/recorded-shapes.js';
import { applyObjects } from '../../test/apply-objects.js';
import { chat } from '../../test/call.js';
import { LEAST_BODY } from '../../test/contract-call.js';
import { startHttpServer, type HttpServer } from '../../test/http-server.js';
import { expectedOutcome, seenOutcome, type Seen, type Shape } from '../../test/shape-outcome.js';
import { shapePrices } from '../../test/shape-prices.js';
import { watchHealth } from '../../test/source-health.js';
import { sharedSystem } from '../../test/system.js';
import { readRecords } from '../evidence/read-evidence.js';

const PLAY_MS_MAX = 300_000;
const AT_ONCE = 16;
const HEALTH_MS_MAX = 200_000;
const RECORDED_WITHIN_MS = 60_000;
const PROFILES = recordedShapes();
const PLAYED = PROFILES.flatMap(([profile, shapes]) => shapes.map((shape) => ({ profile, shape: shape as Shape })));
/** The longest wait before a retry at the only source of a model. */
const RETRY_WAIT_MS_MAX = 2_000;
const REFUSED = 'a provider refused a request';

const seen = new Map<Shape, Seen>();
let provider: HttpServer;
beforeAll(async () => {
  // The first part of the path selects the response.
  provider = await startHttpServer((request, response) => {
    const shape = PLAYED[Number(request.url?.split('/')[1])]?.shape;
    request.resume();
    request.on('end', () => {
      if (shape === undefined) return response.destroy();
      const { status, headers, text, isStream } = shape;
      const type = { 'content-type': isStream ? 'text/event-stream' : 'application/json' };
      response.writeHead(status, { ...type, ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
    });
  });
  await playAll();
}, PLAY_MS_MAX);
afterAll(() => provider.close());

const modelOf = (at: number): string => `shape/model-${at}`;
const sourceOf = (at: number): string => `shape-${at}`;

/** Sends one request per shape. Each shape has its own source. */
async function playAll(): Promise<void> {
  const { operator, edgeUrls } = sharedSystem();
  const { account, secret } = await operator.account('1000000.00');
  await operator.limits(account, 1_000_000, 1_000);
  await applyObjects(operator, [
    ...(['openai', 'anthropic'] as const).map((format) => ({
      kind: 'provider',
      id: `shape-${format}`,
      spec: { name: `shapes of ${format}`, format },
    })),
    ...PLAYED.flatMap(({ profile, shape }, at) => objectsOf(profile, shape, at)),
  ]);
  const answers: Seen['answer'][] = [];
  const waiting = [...PLAYED.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, { shape }] = next;
      const url = `${edgeUrls[0]}${shape.endpoint}`;
      const headers = Object.fromEntries(shape.requestHeaders);
      answers[at] = await chat(url, secret, { model: modelOf(at), ...bodyOf(shape) }, headers);
    }
  };
  const outcomes = PLAYED.map(({ shape }) => expectedOutcome(shape));
  const attempts = PLAYED.flatMap(({ shape }, at) =>
    outcomes[at]?.health == null ? [] : [[sourceOf(at), attemptsOf(shape)] as const],
  );
  const [healths] = await Promise.all([
    watchHealth(operator, new Map(attempts), HEALTH_MS_MAX),
    ...Array.from({ length: AT_ONCE }, work),
  ]);
  const recorded = outcomes.filter(({ record }) => record !== null).length;
  // The tests report missing records.
  const records = await readRecords(
    () => operator.records(account),
    (all) => all.length >= recorded,
    RECORDED_WITHIN_MS,
  );
  const ofCall = new Map(records.map((record) => [record.requestId, record]));
  const lines = refusalsInLog();
  for (const [at, { shape }] of PLAYED.entries()) {
    const answer = answers[at] as Seen['answer'];
    const record = ofCall.get(answer.requestId);
    seen.set(shape, { answer, record, health: healths.get(sourceOf(at)), logged: lines.get(sourceOf(at)) });
  }
}

/**
 * Returns the expected number of attempts. A source that is busy or over a quota gets a retry if it
 * is the only one of its model and its cooldown is short.
 */
function attemptsOf({ status, expected: { errorClass, retryAfterMs } }: Shape): number {
  const isBusy = errorClass === 'quota' || status === 529 || (status === 503 && retryAfterMs != null);
  return status !== 200 && isBusy && (retryAfterMs ?? 0) <= RETRY_WAIT_MS_MAX ? 2 : 1;
}

function objectsOf(profile: ProviderProfile, shape: Shape, at: number): object[] {
  const kind = shape.endpoint === '/v1/embeddings' ? 'embedding' : 'chat';
  const prices = shapePrices(profile.pricing.tools.map(({ unit }) => unit));
  return [
    { kind: 'model', id: modelOf(at), spec: { displayName: shape.name, kind, prices } },
    {
      kind: 'source',
      id: sourceOf(at),
      spec: {
        modelId: modelOf(at),
        providerId: `shape-${profile.format}`,
        profile: profile.id,
        parameters: Object.fromEntries(Object.keys(profile.parameters).map((name) => [name, 'some'])),
        baseUrl: `${provider.url}/${at}`,
        upstreamModel: shape.expected.names ?? `model-of-shape-${at}`,
        endpoints: [shape.endpoint],
        // Some requests name stored responses, which this gateway does not know.
        foreignIds: 'forward',
        // Other tests cover the authentication of each profile.
        auth: { type: 'bearer' },
        credential: 'credential-of-shapes',
      },
    },
  ];
}

/**
 * Returns the request body without `extra_body`, which is an SDK option and not a field of the
 * request.
 */
function bodyOf({ endpoint, request, isStream }: Shape): object {
  const { model: _model, extra_body: _more, ...fields } = request;
  return { ...LEAST_BODY[endpoint], ...fields, ...(isStream ? { stream: true } : {}) };
}

/** Returns the edges' log lines about refused requests, by source. */
function refusalsInLog(): Map<string, NonNullable<Seen['logged']>> {
  const lines = [1, 2].flatMap((edge) =>
    readFileSync(`${process.env['GATEWAY_E2E_STATE']}/logs/edge-proxy-${edge}.jsonl`, 'utf8')
      .split('\n')
      .filter((line) => line.includes(REFUSED)),
  );
  const parsed = lines.map((line) => JSON.parse(line) as NonNullable<Seen['logged']> & { source: string });
  return new Map(parsed.map((line) => [line.source, line]));
}

describe.each(PROFILES.map(([profile, shapes]) => [profile.id, shapes as readonly Shape[]] as const))(
  '%s',
  (_id, shapes) => {
    test.each(shapes.map((shape) => [`${shape.name}, ${shape.endpoint}`, shape] as const))('%s', (_name, shape) => {
      const outcome = seen.get(shape) as Seen;
      if (outcome.record !== undefined) expect(outcome.record.attempts).toHaveLength(attemptsOf(shape));
      expect(seenOutcome(shape, outcome)).toEqual(expectedOutcome(shape));
    });
  },
);
