import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { PageSession } from '@gateway/contracts/pages';
import { DEMO_EMAIL, seedDemo } from '@gateway/local';
import { median, sumOf } from '@gateway/testkit';
import { listPayers } from '../billing/events.js';
import { EVENTS_FULL, SettlingSystem } from '../billing/settling.js';
import { type BenchContext, DIRECTORIES } from '../context.js';
import { createOperatorClient } from '../gateway/prepare.js';
import type { BenchOptions } from '../options.js';
import { type Report, table } from '../report.js';

/** Accounts whose calls are settled meanwhile. */
const SETTLING_ACCOUNTS = 1_000;
/** Interval of requests. Equals 25 open overviews with three requests each every 20 s. */
const EVERY_MS = 250;
const REQUESTS = 15;
const TIMED_OUT = 503;
const DAY_MS = 86_400_000;
const KIB = 1024;
/** Each hour has calls of each pair of key and model. */
const [KEYS, MODELS, MEMBERS] = [25, 8, 5];

interface Answer {
  readonly ms: number;
  readonly list: { readonly data?: readonly { readonly requestId: string }[]; readonly next_cursor: string };
}

/** Measures lists and charts of one account with all records, idle and while billing settles. */
export async function runDashboard(options: BenchOptions, context: BenchContext): Promise<Report> {
  const settling = await SettlingSystem.start(context);
  const person = await preparePerson(settling, options.records);
  context.log(`the account has ${options.records} records`);
  const cases = listCases(person, (await request(person, '/usage-records?limit=50', 50)).list);
  const idle: number[][] = [];
  for (const [, path, entriesMin] of cases) {
    context.signal.throwIfAborted();
    const times: number[] = [];
    for (let n = 0; n < REQUESTS; n += 1) times.push((await request(person, path, entriesMin)).ms);
    idle.push(times);
  }
  const busy: number[][] = cases.map(() => []);
  let isOver = false;
  const requestUntilOver = async (): Promise<void> => {
    for (let sent = 0; !isOver; sent += 1) {
      const at = sent % cases.length;
      const [, path = '', entriesMin = 0] = cases[at] ?? [];
      busy[at]?.push((await request(person, path, entriesMin)).ms);
      await delay(EVERY_MS);
    }
  };
  const series = { events: options.events, payers: listPayers(SETTLING_ACCOUNTS), size: EVENTS_FULL };
  const settled = settling.settle(series).finally(() => (isOver = true));
  const [{ perSecond }] = await Promise.all([settled, requestUntilOver()]);
  const rows = cases.map(([name], at) => {
    const times = idle[at] ?? [];
    return [name, median(times), Math.max(...times), median(busy[at] ?? [])];
  });
  return {
    title: `Lists and charts of the pages at ${options.records} usage records`,
    facts: [['Requests', `with a user's session, until the last byte; settled meanwhile ${perSecond.toFixed(0)} /s`]],
    sections: [
      table('Requests, ms', ['', 'idle: median', 'idle: longest', 'while billing settles'], rows),
      table('What a browser loads first, gzip', ['', 'KiB'], weighPages()),
    ],
    samples: { cases, idle, busy, perSecond },
  };
}

/** Returns the lists and charts of the pages: name, path and the least number of entries. */
function listCases({ keys, models }: Person, first: Answer['list']) {
  const now = Date.now();
  const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
  const list = (more: string): string => `/usage-records?limit=50&${more}`;
  const series = (days: number, by: string) =>
    `/usage-series?from=${iso(now - days * DAY_MS)}&to=${iso(now + DAY_MS)}&by=${by}&groupBy=model`;
  const cases: [name: string, path: string, entriesMin: number][] = [
    ['Usage: newest 50', '/usage-records?limit=50', 50],
    ['Usage: next 50', list(`cursor=${encodeURIComponent(first.next_cursor)}`), 50],
    ['Usage: 50 of ten days ago', list(`to=${iso(now - 10 * DAY_MS)}`), 50],
    ['Usage: of one key', list(`keyId=${keys[7]}`), 50],
    ['Usage: of one model', list(`modelId=${encodeURIComponent(models[3] ?? '')}`), 50],
    ['Usage: an outcome that no call has', list('outcome=expired'), 0],
    ['Usage: one call with its ledger', `/usage-records/${first.data?.[0]?.requestId}`, 0],
    ['Overview: 90 days by day and model', series(90, 'day'), 100],
    ['Overview: 7 days by hour and model', series(7, 'hour'), 500],
    ['Overview: windows, wallet and plan', '/overview', 0],
    ['Keys with their month', '/keys?limit=200', keys.length],
    ['Billing: ledger, newest 50', '/ledger?limit=50', 50],
    ['Billing: statement of the month', `/statement?month=${new Date(now).toISOString().slice(0, 7)}`, 0],
  ];
  return cases;
}

/**
 * Returns infinite milliseconds if the gateway timed out.
 * @throws Error for another error or too few entries, which would count as fast
 */
async function request(person: Person, path: string, entriesMin: number): Promise<Answer> {
  const begunMs = performance.now();
  const response = await fetch(`${person.url}${path}`, { headers: { cookie: person.cookie } });
  const text = await response.text();
  const ms = performance.now() - begunMs;
  const list = JSON.parse(text) as Answer['list'];
  if (response.status === TIMED_OUT) return { ms: Number.POSITIVE_INFINITY, list };
  if (response.status !== 200 || (list.data?.length ?? 0) < entriesMin)
    throw new Error(`${path}: ${response.status}, ${list.data?.length} of ${entriesMin} entries`);
  return { ms, list };
}

/** Returns the compressed KiB of the scripts and styles that `index.html` loads for each page. */
function weighPages(): [string, number][] {
  const dist = `${DIRECTORIES.checkout}/services/dashboard/web/dist`;
  const html = readFileSync(`${dist}/index.html`, 'utf8');
  return ['js', 'css'].map((type) => {
    const files = [...html.matchAll(/"(\/assets\/[\w.-]+)"/g)].flatMap(([, file = '']) =>
      file.endsWith(type) ? [file] : [],
    );
    return [type, sumOf(files.map((file) => gzipSync(readFileSync(`${dist}${file}`)).length)) / KIB];
  });
}

/** A user with a session, whose account has all usage records. */
interface Person {
  /** Of the account in the pages' API. */
  readonly url: string;
  readonly cookie: string;
  readonly keys: readonly string[];
  readonly models: readonly string[];
}

/** Signs the demo user in, adds keys, and settles calls with them. */
async function preparePerson(settling: SettlingSystem, records: number): Promise<Person> {
  const { system } = settling;
  const { password } = await seedDemo(system, system.stateDirectory, true);
  const { dashboardUrl, pids } = system.running();
  const response = await fetch(`${dashboardUrl}/api/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: DEMO_EMAIL, password }),
  });
  const { accounts } = (await response.json()) as PageSession;
  const [account, member] = [accounts[0]?.id ?? '', accounts[0]?.memberId ?? ''];
  const api = createOperatorClient(pids);
  await api('PUT', `/accounts/${account}/limits`, { requestsPerMinute: 600, concurrency: 10, maxActiveKeys: 1_000 });
  const keys: string[] = [];
  for (let key = 0; key < KEYS; key += 1)
    keys.push((await api<{ id: string }>('POST', `/accounts/${account}/keys`, { name: `key ${key}` })).id);
  const members = [member, ...Array.from({ length: MEMBERS - 1 }, (_, n) => `mem_bench_${n}`)];
  const models = Array.from({ length: MODELS }, (_, n) => `acme/model-${n}`);
  const payers = keys.flatMap((key, n) =>
    models.map((model) => ({ account, key, member: members[n % MEMBERS] ?? '', model })),
  );
  await settling.fill(records, payers);
  const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0]);
  return { url: `${dashboardUrl}/api/accounts/${account}`, cookie: cookies.join('; '), keys, models };
}
