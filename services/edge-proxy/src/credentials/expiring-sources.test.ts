import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import type { CatalogSource } from '@gateway/contracts/messages';
import { chat, send, type Answer } from '../../test/client.js';
import { SOURCE_CREDENTIAL, startEdgeWorld, type EdgeWorld } from '../../test/edge-world.js';
import { publishOwnModel, type OwnSource } from '../../test/own-models.js';
import { isSigned } from '../../test/sigv4-server.js';
import {
  findBearer,
  startGuardedProvider,
  startTokenEndpoint,
  type GuardedProvider,
  type TokenEndpoint,
} from '../../test/token-endpoint.js';

const PATH = '/v1/chat/completions';
const ENTRA: Partial<CatalogSource> = {
  auth: { type: 'entra', scope: 'https://cognitiveservices.azure.com/.default' },
};

let world: EdgeWorld;
let endpoint: TokenEndpoint;
let provider: GuardedProvider;
let applications = 0;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
beforeEach(async () => {
  endpoint = await startTokenEndpoint();
  provider = await startGuardedProvider((request) => endpoint.isGood(findBearer(request)));
});
afterEach(async () => {
  await Promise.all([endpoint.stop(), provider.stop()]);
});

/** Returns an Entra ID application that no other test uses. */
function application(): string {
  applications += 1;
  return JSON.stringify({
    tenantId: 'tenant',
    clientId: `client-${applications}`,
    clientSecret: 'secret-of-the-client',
    authorityHost: endpoint.url,
  });
}

const entraSource = (credential = application()): OwnSource => ({ url: provider.url, credential, more: ENTRA });
/** A source with a fixed key, which accepts every call. */
const spare = (): OwnSource => ({ url: world.provider.urls[0] });

async function attemptsOf(answer: Answer): Promise<object[]> {
  return (await world.eventOf(String(answer.headers['x-gateway-request-id']))).attempts;
}

function sendMany(model: string, calls: number): Promise<Answer[]> {
  return Promise.all(Array.from({ length: calls }, () => send(world.edge.url, PATH, chat({ model }))));
}

test('200 concurrent calls and a second source with the credential fetch one token', async () => {
  const credential = application();
  const { model } = await publishOwnModel(world, entraSource(credential));
  const answers = await sendMany(model, 200);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const other = await publishOwnModel(world, entraSource(credential));
  expect((await send(world.edge.url, PATH, chat({ model: other.model }))).status).toBe(200);
  expect(endpoint.asked).toHaveLength(1);
  expect(provider.asked.every(({ headers }) => headers.authorization === 'Bearer token-1')).toBe(true);
});

test('tokens that expire under load cause no failed call', async () => {
  endpoint.lifeS = 3;
  const { model } = await publishOwnModel(world, entraSource());
  const statuses = new Set<number>();
  const load = async (): Promise<void> => {
    while (endpoint.asked.length < 3) statuses.add((await send(world.edge.url, PATH, chat({ model }))).status);
  };
  await Promise.all(Array.from({ length: 8 }, load));
  expect(statuses).toEqual(new Set([200]));
});

test('a refused token is replaced once, and the calls are retried at the same source', async () => {
  const { model, ids } = await publishOwnModel(world, entraSource(), spare());
  await send(world.edge.url, PATH, chat({ model }));
  endpoint.revoke();
  const answers = await sendMany(model, 20);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(endpoint.asked).toHaveLength(2);
  const all = (await Promise.all(answers.map(attemptsOf))).flat();
  expect(all.filter((attempt) => 'source' in attempt && attempt.source !== ids[0])).toEqual([]);
  expect(all).toContainEqual(expect.objectContaining({ outcome: 'rejected', status: 401 }));
});

test('a source that also refuses the new token fails over to the next source', async () => {
  const strict = await startGuardedProvider(() => false);
  try {
    const { model, ids } = await publishOwnModel(world, { ...entraSource(), url: strict.url }, spare());
    const answer = await send(world.edge.url, PATH, chat({ model }));
    expect(answer.status).toBe(200);
    expect(await attemptsOf(answer)).toMatchObject([
      { source: ids[0], outcome: 'rejected', status: 401 },
      { source: ids[0], outcome: 'rejected', status: 401 },
      { source: ids[1], outcome: 'completed' },
    ]);
    const ofIt = world.log.filter(({ facts }) => 'source' in facts && facts.source === ids[0]);
    expect(ofIt.filter(({ text }) => text.includes('a provider refuses our credentials'))).toHaveLength(1);
    expect(endpoint.asked).toHaveLength(2);
  } finally {
    await strict.stop();
  }
});

test('a source without a token counts as unreachable, and no secret is logged', async () => {
  endpoint.answers = 'fail';
  const { model, ids } = await publishOwnModel(world, entraSource(), spare());
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(answer.status).toBe(200);
  expect(await attemptsOf(answer)).toMatchObject([
    { source: ids[0], outcome: 'unreachable', status: null, possiblyPaid: false },
    { source: ids[1], outcome: 'completed' },
  ]);
  expect(provider.asked).toEqual([]);
  expect(world.log).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      text: 'expiring credential cannot be refreshed',
      facts: { auth: 'entra', reason: 'the token endpoint returned 500 temporarily_unavailable', times: 1 },
    }),
  );
  expect(JSON.stringify(world.log)).not.toMatch(/secret-of-the-client|token-\d/);
});

test('a token that does not arrive in time counts as an unreachable source', async () => {
  endpoint.answers = 'hang';
  const source = { ...entraSource(), limits: { headersTimeoutMs: 700 } };
  const { model, ids } = await publishOwnModel(world, source, spare());
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(await attemptsOf(answer)).toMatchObject([
    { source: ids[0], outcome: 'unreachable' },
    { source: ids[1], outcome: 'completed' },
  ]);
  endpoint.releaseHeld();
  expect((await send(world.edge.url, PATH, chat({ model }))).status).toBe(200);
  expect([endpoint.asked.length, provider.asked.length]).toEqual([1, 1]);
});

test('a client that disconnects while a token is fetched leaves no hold', async () => {
  endpoint.answers = 'hang';
  const { model } = await publishOwnModel(world, entraSource());
  const leaving = new AbortController();
  const asked = send(world.edge.url, PATH, { ...chat({ model }), signal: leaving.signal });
  await until('the token is requested', () => endpoint.asked.length === 1);
  const released = world.admission.releases.length;
  leaving.abort();
  await expect(asked).rejects.toThrow();
  await until('the hold is released', () => world.admission.releases.length > released);
  endpoint.releaseHeld();
  endpoint.answers = 'issue';
  expect((await send(world.edge.url, PATH, chat({ model }))).status).toBe(200);
  expect([endpoint.asked.length, provider.asked.length]).toEqual([1, 1]);
});

test('requests to an AWS source are signed over the bytes that it receives', async () => {
  const aws = await startGuardedProvider((request) =>
    isSigned(request, (id) => (id === 'AKID' ? 'secret' : undefined)),
  );
  try {
    const { model } = await publishOwnModel(world, {
      url: aws.url,
      credential: JSON.stringify({ accessKeyId: 'AKID', secretAccessKey: 'secret', sessionToken: 'session' }),
      more: {
        auth: { type: 'sigv4', service: 'bedrock', region: 'eu-west-1' },
        paths: { [PATH]: '/openai/v1/chat/completions' },
      },
    });
    const long = 'x'.repeat(700_000);
    for (const content of ['short', long]) {
      const answer = await send(world.edge.url, PATH, chat({ model, messages: [{ role: 'user', content }] }));
      expect(answer.status).toBe(200);
    }
    expect(aws.asked.map(({ headers }) => headers['x-amz-security-token'])).toEqual(['session', 'session']);
  } finally {
    await aws.stop();
  }
});

test.each([
  { name: 'lacks a member', credential: '{"tenantId":"t","clientId":"c"}', told: 'clientSecret' },
  { name: 'needs a disallowed environment', credential: null, told: 'GATEWAY_CLOUD_CREDENTIALS' },
])('a source whose credential $name is left out and logged', async ({ credential, told }) => {
  const { model, ids } = await publishOwnModel(world, { url: provider.url, credential, more: ENTRA }, spare());
  const answer = await send(world.edge.url, PATH, chat({ model }));
  expect(await attemptsOf(answer)).toMatchObject([{ source: ids[1], outcome: 'completed' }]);
  const lines = world.log.filter(
    ({ text, facts }) =>
      text === 'a catalog entry cannot be used' && 'key' in facts && facts.key === `source.${ids[0]}`,
  );
  expect(lines.map(({ facts }) => String((facts as { err: Error }).err.message))).toEqual([
    expect.stringContaining(told),
  ]);
});

test('a fixed key is sent as it is', async () => {
  const keyed = await startGuardedProvider((request) => findBearer(request) === SOURCE_CREDENTIAL);
  try {
    const { model } = await publishOwnModel(world, { url: keyed.url });
    expect((await send(world.edge.url, PATH, chat({ model }))).status).toBe(200);
  } finally {
    await keyed.stop();
  }
});

test('a refused key has its own cooldown, and the call is retried with another key', async () => {
  const keyed = await startGuardedProvider((request) => findBearer(request) === 'good');
  try {
    const { model, ids } = await publishOwnModel(
      world,
      { url: keyed.url, credential: '["withdrawn","good"]' },
      spare(),
    );
    const first = await send(world.edge.url, PATH, chat({ model }));
    expect(await attemptsOf(first)).toMatchObject([
      { source: ids[0], outcome: 'rejected', status: 401 },
      { source: ids[0], outcome: 'completed' },
    ]);
    for (let call = 0; call < 3; call += 1) await send(world.edge.url, PATH, chat({ model }));
    expect(keyed.asked.map(findBearer)).toEqual(['withdrawn', 'good', 'good', 'good', 'good']);
  } finally {
    await keyed.stop();
  }
});
