import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PricedVersion } from '@gateway/contracts/messages';
import { parseUsd } from '@gateway/metering';
import { send } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { publishOwnModels, type OwnModel } from '../../../test/own-models.js';
import type { ProviderAnswer, QuotedPrice } from '../../../test/providers/fixture.js';
import { PROVIDER_ANSWERS } from '../../../test/providers/index.js';
import { onRequest, startRawProvider, type RawProvider } from '../../../test/raw-provider.js';

/** Each response passes through the edge about ten times. */
const TEST_MS_MAX = 60_000;

/** A provider that sends the configured response to each request. */
interface Played {
  readonly provider: RawProvider;
  answer: ProviderAnswer;
}

let world: EdgeWorld;
const played = new Map<string, Played>();
const models = new Map<string, OwnModel>();
beforeAll(async () => {
  world = await startEdgeWorld();
  for (const answer of PROVIDER_ANSWERS) played.set(answer.name, await play(answer));
  const sources = [...played.values()].map(({ provider, answer }) => [
    { url: provider.url, more: answer.settings ?? {} },
  ]);
  const own = await publishOwnModels(world, sources);
  for (const [at, { name, price }] of PROVIDER_ANSWERS.entries()) {
    const model = own[at] as OwnModel;
    models.set(name, model);
    world.admission.prices.set(model.model, versionOf(price));
  }
}, 60_000);
afterAll(async () => {
  await Promise.all([...played.values()].map(({ provider }) => provider.stop()));
  await world.stop();
}, 60_000);

async function play(answer: ProviderAnswer): Promise<Played> {
  const provider = await startRawProvider((socket) => onRequest(socket, () => socket.end(wireOf(state.answer))));
  const state: Played = { provider, answer };
  return state;
}

function wireOf({ plain, stream = [] }: ProviderAnswer): string {
  const sseEvents = stream.map((sseEvent) =>
    typeof sseEvent === 'string' ? sseEvent : `data: ${JSON.stringify(sseEvent)}\n\n`,
  );
  const body = plain === undefined ? sseEvents.join('') : JSON.stringify(plain);
  const type = plain === undefined ? 'text/event-stream' : 'application/json';
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`;
}

function versionOf(price: QuotedPrice): PricedVersion {
  const nanoUsd = (usd: string): number => Number(parseUsd(usd));
  const orNull = (usd: string | undefined): number | null => (usd === undefined ? null : nanoUsd(usd));
  const figures = {
    inputPerMillion: nanoUsd(price.input),
    cachedInputPerMillion: orNull(price.cachedInput),
    cacheWritePerMillion: orNull(price.cacheWrite),
    cacheWrite1hPerMillion: orNull(price.cacheWrite1h),
    outputPerMillion: nanoUsd(price.output),
    perCall: 0,
    tiers: [],
  };
  return { version: 'price-of-a-provider', figures };
}

/** Charge of a call with this response. */
async function chargeOf(answer: ProviderAnswer): Promise<{ nanoUsd: number; evidence: string }> {
  const { model } = models.get(answer.name) as OwnModel;
  (played.get(answer.name) as Played).answer = answer;
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const prompt = answer.endpoint === '/v1/responses' ? { input: 'Say hello.' } : { messages, max_tokens: 4_000 };
  const got = await send(world.edge.url, answer.endpoint, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...prompt, stream: answer.stream !== undefined }),
  });
  const { amountNanoUsd, evidence } = await world.eventOf(String(got.headers['x-gateway-request-id']));
  return { nanoUsd: amountNanoUsd, evidence };
}

const EACH = PROVIDER_ANSWERS.map((answer) => [answer.name, answer] as const);

test('every usage format has a source and a charge that matches its arithmetic', () => {
  for (const { name, published, arithmetic, nanoUsd, plain, stream } of PROVIDER_ANSWERS) {
    const products = arithmetic.map((line) => Number((line.split('=').at(-1) ?? '').replaceAll(/[ ,]/g, '')));
    expect([name, products.reduce((sum, each) => sum + each, 0)]).toEqual([name, nanoUsd]);
    expect([name, published.length > 20, (plain === undefined) !== (stream === undefined)]).toEqual([name, true, true]);
  }
  expect(new Set(PROVIDER_ANSWERS.map(({ name }) => name)).size).toBe(PROVIDER_ANSWERS.length);
});

// Covers i3
test.each(EACH)('%s: the charge equals the price of the provider', async (_name, answer) => {
  expect(await chargeOf(answer)).toEqual({ nanoUsd: answer.nanoUsd, evidence: 'reported' });
});

test.each(EACH)(
  '%s: a different count changes the charge',
  async (_name, answer) => {
    const paths = countsOf(answer);
    expect(Object.keys(answer.notCharged ?? {}).filter((path) => !paths.includes(path))).toEqual([]);
    for (const path of paths) {
      const { nanoUsd } = await chargeOf(withOtherCount(answer, path));
      const isSame = answer.notCharged?.[path] !== undefined;
      expect([path, nanoUsd === answer.nanoUsd]).toEqual([path, isSame]);
    }
  },
  TEST_MS_MAX,
);

type Walk = (usage: Record<string, unknown>) => void;

/** Visits every object named `usage` in a response. */
function eachUsage(value: unknown, walk: Walk): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'usage' && typeof inner === 'object' && inner !== null) walk(inner as Record<string, unknown>);
    else eachUsage(inner, walk);
  }
}

/** Paths of the integers in a usage. */
function countsOf(answer: ProviderAnswer): string[] {
  const paths = new Set<string>();
  const collect = (holder: object, before: string): void => {
    for (const [name, value] of Object.entries(holder)) {
      if (typeof value === 'object' && value !== null) collect(value as object, `${before}${name}.`);
      else if (Number.isInteger(value)) paths.add(before + name);
    }
  };
  changeUsages(answer, (usage) => collect(usage, ''));
  return [...paths];
}

/** The same response with this count reduced by one, or increased if it is zero. */
function withOtherCount(answer: ProviderAnswer, path: string): ProviderAnswer {
  const names = path.split('.');
  const last = names.pop() as string;
  return changeUsages(answer, (usage) => {
    let holder: unknown = usage;
    for (const name of names) holder = (holder as Record<string, unknown> | undefined)?.[name];
    const counts = holder as Record<string, number> | undefined;
    const count = counts?.[last];
    if (counts !== undefined && count !== undefined) counts[last] = count > 0 ? count - 1 : 1;
  });
}

/** A copy of the response with changed usages. Parses events that are given as text. */
function changeUsages(answer: ProviderAnswer, change: Walk): ProviderAnswer {
  const { plain, stream } = structuredClone(answer);
  eachUsage(plain, change);
  const sseEvents = stream?.map((sseEvent) => {
    if (typeof sseEvent !== 'string') {
      eachUsage(sseEvent, change);
      return sseEvent;
    }
    const [head = '', json] = sseEvent.split(/(?<=data: )(?=\{)/);
    if (json === undefined) return sseEvent;
    const data: unknown = JSON.parse(json);
    eachUsage(data, change);
    return `${head}${JSON.stringify(data)}\n\n`;
  });
  const body = plain === undefined ? { stream: sseEvents ?? [] } : { plain };
  const { plain: _plain, stream: _stream, ...rest } = answer;
  return { ...rest, ...body };
}
