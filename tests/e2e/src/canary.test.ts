// Searches all outputs for secrets and prompts: responses, logs, metrics, spans, bus messages,
// databases.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat } from '../test/call.js';
import { fetchSpans } from '../test/collected-spans.js';
import { sharedSystem } from '../test/system.js';

/** The edge, admission and billing. */
const SERVICES_OF_A_CALL = 3;
const SPAN_ERROR = 2;

const system = sharedSystem();
const simulator = await startProviderSimulator();
afterAll(() => simulator.close());

test('secrets, digests and prompts occur only in their intended places', async () => {
  const credential = `canary-${randomBytes(16).toString('hex')}`;
  const prompt = `canary-${randomBytes(16).toString('hex')}`;
  const trace = randomBytes(16).toString('hex');
  const { operator } = system;
  const answers: string[] = [];
  const model = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, simulator.urls, { credential });
  const upstream = `up-${model.id.slice('test/'.length)}`;
  const { account, key, secret } = await operator.account('5.00');
  const call = async (stream: boolean): Promise<void> => {
    const { text, headers } = await chat(
      `${system.chatBaseUrl}/chat/completions`,
      secret,
      { model: model.id, messages: [{ role: 'user', content: prompt }], stream },
      { traceparent: `00-${trace}-${'1'.repeat(16)}-01` },
    );
    answers.push(text, JSON.stringify(headers));
  };
  // Providers repeat the credential in error responses to plain and streamed requests.
  const text = `{"error":{"message":"Incorrect API key provided: ${credential}, sent as Bearer ${credential}"}}`;
  for (const status of [400, 401, 403, 422, 500]) {
    const head = { status, headers: { 'content-type': 'application/json' } };
    simulator.script({ model: upstream, times: 1, steps: [head, { chunk: text }, { end: 'normal' }] });
    await call(status === 401);
  }
  await call(false);
  await call(true);
  expect(
    simulator.calls({ model: upstream }).every(({ headers }) => JSON.stringify(headers).includes(credential)),
  ).toBe(true);
  const old = secret;
  const rotated = await operator.rotate(key);
  for (const path of [
    `/sources/${model.sources[0]}`,
    '/sources/health',
    `/accounts/${account}/keys`,
    `/audit?accountId=${account}`,
    `/audit?objectId=${model.sources[0]}`,
    `/usage-records?accountId=${account}`,
  ]) {
    answers.push(JSON.stringify((await operator.request('GET', path)).body));
  }
  const { digests, sealed } = await stored(key, model.sources[0] ?? '');
  expect(digests).toHaveLength(1);
  expect(sealed).toMatch(/^v2\./);
  const secrets = [credential, old.slice(-48), rotated.slice(-48), system.operatorToken];

  const places: Record<string, string> = {
    answers: answers.join('\n'),
    logs: logs(),
    metrics: await metrics(),
    spans: await spans(trace),
    events: await events(account),
    databases: await databases(),
  };
  // The digest of a key is only in the accounts database and in the limit store.
  const found = Object.entries(places).flatMap(([place, text]) => [
    ...secrets.flatMap((each, index) => (text.includes(each) ? [`${place}: secret ${index}`] : [])),
    ...(place !== 'databases' && digests.some((digest) => text.includes(digest)) ? [`${place}: a digest`] : []),
  ]);
  expect(found).toEqual([]);
  // The provider receives the prompt, and its response may repeat it.
  const { answers: _told, ...kept } = places;
  expect(simulator.calls({ model: upstream }).every(({ body }) => body.includes(prompt))).toBe(true);
  expect(Object.keys(kept).filter((place) => kept[place]?.includes(prompt))).toEqual([]);
  // The search finds text that is known to exist.
  expect(places['logs']).toContain('operator request');
  expect(places['metrics']).toContain('gateway_');
  expect(places['spans']).toContain(upstream);
  expect(places['events']).toContain('sealedCredential');
  expect(places['databases']).toContain(digests[0]);
});

function logs(): string {
  const folder = join(process.env['GATEWAY_E2E_STATE'] ?? '', 'logs');
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

async function metrics(): Promise<string> {
  const urls = Object.values(system.adminUrls).flat();
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  return texts.join('\n');
}

/**
 * Returns the spans of all services after those of this trace have arrived, including failed
 * attempts.
 */
async function spans(trace: string): Promise<string> {
  return until('the spans of the calls', async () => {
    const all = await fetchSpans(system);
    const own = all.filter(({ traceId }) => traceId === trace);
    const arrived = new Set(own.map(({ service }) => service));
    const failed = own.filter(({ status }) => status.code === SPAN_ERROR);
    return arrived.size >= SERVICES_OF_A_CALL && failed.length > 0 && JSON.stringify(all);
  });
}

/**
 * Returns the stored messages of the bus from the server's files: usage events, heartbeats and the
 * published catalog.
 */
async function events(account: string): Promise<string> {
  const folder = join(process.env['GATEWAY_E2E_STATE'] ?? '', 'servers', 'nats');
  return until('the events are in the files of the bus', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(({ name }) =>
      name.endsWith('.blk'),
    );
    const text = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1')).join('\n');
    return text.includes(account) && text;
  });
}

async function stored(key: string, source: string): Promise<{ digests: string[]; sealed: string }> {
  const client = new pg.Client({ connectionString: system.postgresUrl });
  await client.connect();
  try {
    const keys = await client.query<{ digest: string }>('SELECT digest FROM accounts.api_keys WHERE id = $1', [key]);
    const sources = await client.query<{ sealed_credential: string }>(
      'SELECT sealed_credential FROM catalog.sources WHERE id = $1',
      [source],
    );
    return {
      digests: keys.rows.map(({ digest }) => digest),
      sealed: sources.rows[0]?.sealed_credential ?? '',
    };
  } finally {
    await client.end();
  }
}

/** Returns all rows of all tables as text. */
async function databases(): Promise<string> {
  const client = new pg.Client({ connectionString: system.postgresUrl });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
        WHERE schemaname IN ('accounts', 'billing', 'catalog')`,
    );
    const texts: string[] = [];
    for (const { name } of tables.rows) {
      const { rows } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t LIMIT 50000`);
      texts.push(...rows.map(({ text }) => text));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}
