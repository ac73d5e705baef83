import { readFileSync } from 'node:fs';
import { beforeAll, expect, jest, test } from '@jest/globals';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { Pool } from 'undici';
import { readExpressions, findMetrics } from '../../../deploy/observe/test/read-observe.js';
import { chat, HELLO } from '../test/call.js';
import { sharedSystem } from '../test/system.js';

const system = sharedSystem();

/**
 * Series that a running system must export (GenAI usage and times, health, stores, waits), each
 * with one label value or none.
 */
const WANTED: Readonly<Record<string, readonly string[]>> = {
  'edge-proxy': [
    'gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_token_type="input"',
    'gen_ai_client_token_usage_count{gen_ai_operation_name="chat",gen_ai_token_type="output"',
    'gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",error_type=""',
    'gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat"',
    'gateway_edge_added_seconds_bucket{phase="before",le="0.05"',
    'gateway_edge_model_requests_total{model="',
    'gateway_edge_source_first_byte_seconds_count{source="',
    'gateway_edge_sources{state="healthy"',
    'gateway_edge_sources{state="cooling"',
    'gateway_edge_errors_total',
    'gateway_bus_requests_failed_total{message="admission.authorize",code="timeout"',
  ],
  admission: [
    'gateway_admission_decisions_total{outcome="admitted"',
    'gateway_admission_holds',
    'gateway_admission_redis_used_bytes',
    'gateway_admission_redis_max_bytes',
    'gateway_bus_messages_refused_total{message="admission.batch",reason="overloaded"',
  ],
  billing: [
    'gateway_billing_stream_bytes',
    'gateway_billing_stream_max_bytes',
    'gateway_billing_outbox_age_seconds{outbox="outbox"',
    'gateway_billing_outbox_age_seconds{outbox="webhook_outbox"',
    'gateway_billing_pool_connections{state="waiting"',
    'gateway_billing_invariant_violations',
    'gateway_billing_job_success_age_seconds{task="backup"',
    'gateway_billing_job_failed{task="audit"',
    'gateway_billing_lag_seconds',
  ],
  accounts: [
    'gateway_accounts_outbox_age_seconds{outbox="mail_outbox"',
    'gateway_accounts_pool_connections{state="idle"',
  ],
  catalog: ['gateway_catalog_pool_connections{state="busy"'],
};
const METRICS_PAGE = new URL('../../../docs/metrics.md', import.meta.url);
const PACKAGE = new URL('../../../package.json', import.meta.url);
/** Maximum number of series in one process without those of the catalog's entries. */
const SERIES_MAX = 1_500;
const OF_CATALOG = /[{,](?:source|model)="/;
const KEYS = 10_000;
const KEYS_AT_ONCE = 24;
/** Fewer unknown keys than an edge looks up for one network. */
const KEYS_OF_NETWORK = 100;
/** Allowed growth over all processes: new outcomes, and the effects of concurrent tests. */
const SERIES_MORE_MAX = 300;
/** Enough for ten thousand requests on a busy machine. */
const TEST_MS_MAX = 240_000;
jest.setTimeout(TEST_MS_MAX);

beforeAll(async () => {
  const simulator = await startProviderSimulator();
  try {
    const model = await system.operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, [simulator.urls[0]]);
    const { secret } = await system.operator.account('5.00');
    await until('each edge has served a stream', async () => {
      const body = { model: model.id, messages: HELLO, stream: true };
      const calls = system.edgeUrls.map((url) => chat(`${url}/v1/chat/completions`, secret, body));
      return (await Promise.all(calls)).every(({ status }) => status === 200);
    });
    await chat(`${system.chatBaseUrl}/chat/completions`, null, { model: model.id, messages: HELLO });
  } finally {
    await simulator.close();
  }
});

test('scraped series have documented labels, and rules and panels known metrics', async () => {
  const texts = (await scrapes()).map(({ text }) => text);
  const known = new Set(texts.flatMap((text) => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)));
  const page = readFileSync(METRICS_PAGE, 'utf8');
  const own = new Map(texts.flatMap(scrapedLabels).map(([name, labels]) => [`${name} ${labels}`, { name, labels }]));
  expect(own.size).toBeGreaterThan(100);
  const other = [...own].filter(([, { name, labels }]) => !listedLabels(page, name).includes(labels));
  expect(other.map(([series]) => series)).toEqual([]);
  const used = [...new Set(readExpressions().flatMap(findMetrics))];
  expect(used.length).toBeGreaterThan(50);
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});

test('each service exports its required series and release within the series limit', async () => {
  const release = (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version;
  // Some values are updated only every few seconds.
  let missing: string[] = [];
  await until('all required series', async () => {
    missing = missingOf(await scrapes());
    return missing.length === 0;
  }).catch(() => undefined);
  expect(missing).toEqual([]);
  for (const { service, text } of await scrapes()) {
    if (!(service in WANTED)) continue;
    expect([service, text.includes(`service_version="${release}"`)]).toEqual([service, true]);
    expect(seriesOf(text)).toBeLessThan(SERIES_MAX);
  }
});

test('ten thousand keys and models do not add series', async () => {
  const before = await seriesTotal();
  const statuses = new Map<number, number>();
  const [url] = system.edgeUrls;
  const callAll = async (pool: Pool, from: number, to: number): Promise<void> => {
    for (let key = from; key < to; key += KEYS_AT_ONCE) {
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${makeSecret(DEFAULT_KEY_PREFIX)}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: `series/${key}`, messages: HELLO }),
      });
      await body.dump();
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
    }
  };
  for (let begin = 0; begin < KEYS; begin += KEYS_OF_NETWORK) {
    const localAddress = `127.0.1.${1 + begin / KEYS_OF_NETWORK}`;
    const pool = new Pool(url ?? '', { connections: KEYS_AT_ONCE, localAddress });
    const end = begin + KEYS_OF_NETWORK;
    await Promise.all(Array.from({ length: KEYS_AT_ONCE }, (_unused, worker) => callAll(pool, begin + worker, end)));
    await pool.close();
  }
  // A busy machine may refuse some requests because of overload.
  expect([...statuses.keys()].filter((status) => status !== 401 && status !== 500)).toEqual([]);
  expect(statuses.get(401)).toBeGreaterThan(KEYS / 10);
  expect((await seriesTotal()) - before).toBeLessThan(SERIES_MORE_MAX);
  expect((await scrapes()).filter(({ text }) => text.includes('="series/'))).toEqual([]);
});

/** Returns the required series that no replica of the service exports. */
function missingOf(all: readonly { service: string; text: string }[]): string[] {
  return Object.entries(WANTED).flatMap(([service, wanted]) => {
    const texts = all.filter((one) => one.service === service).map(({ text }) => text);
    return wanted.filter((series) => !texts.some((text) => text.includes(`\n${series}`)));
  });
}

async function seriesTotal(): Promise<number> {
  return (await scrapes()).reduce((total, { text }) => total + seriesOf(text), 0);
}

function seriesOf(text: string): number {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#') && !OF_CATALOG.test(line)).length;
}

/** Returns each own metric of a scrape with each combination of labels of its series, sorted. */
function scrapedLabels(text: string): [name: string, labels: string][] {
  return [...text.matchAll(/^# TYPE ((?:gateway|gen_ai)_\S+) (\w+)/gm)].flatMap(([, name = '', type]) => {
    const suffix = type === 'histogram' ? '_(?:bucket|sum|count)' : '';
    const series = text.matchAll(new RegExp(`^${name}${suffix}(?:\\{(.*)\\})? `, 'gm'));
    return [...series].map(([, labels = '']): [string, string] => [name, sortedLabels(labels, /(\w+)="/g)]);
  });
}

/** Returns the sorted labels of each row of docs/metrics.md that lists a metric of this name. */
function listedLabels(page: string, name: string): string[] {
  const rows = [...page.matchAll(/^\| `([^`]+)` \| \w+ \| ([^|]*) \|/gm)];
  const exact = rows.filter(([, listed]) => listed === name);
  // A part in angle brackets stands for any word.
  const isLike = (listed = '') => new RegExp(`^${listed.replace(/<\w+>/g, '[a-z_]+')}$`).test(name);
  const found = exact.length > 0 ? exact : rows.filter(([, listed]) => isLike(listed));
  return found.map(([, , labels = '']) => sortedLabels(labels, /`(\w+)`/g));
}

function sortedLabels(text: string, pattern: RegExp): string {
  const labels = [...text.matchAll(pattern)].map(([, label]) => label);
  return labels
    .filter((label) => label !== 'le')
    .sort()
    .join();
}

async function scrapes(): Promise<{ service: string; text: string }[]> {
  const urls = Object.entries(system.adminUrls).flatMap(([service, all]) => all.map((url) => ({ service, url })));
  return Promise.all(
    urls.map(async ({ service, url }) => ({ service, text: await (await fetch(`${url}/metrics`)).text() })),
  );
}
