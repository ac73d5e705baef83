// `npm run bench:billing [-- --events N] [--earlier N,M]`: events per second from the stream to the committed ledger, by one
// billing process, with 1,000 accounts and with one, after N and after M earlier records; and how fast a backlog is caught up
// while events go on arriving. Writes prove/bench.md unless --dry.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connectBus, natsAuthorization } from '@gateway/bus';
import { makeUuidV7, shardOfAccount, SHARDS_TOTAL } from '@gateway/contracts/ids';
import { MESSAGES, SERVICE_NAMES, usageRecorded } from '@gateway/contracts/messages';
import { createPool, migrate } from '@gateway/postgres';
import { freePort, startServers } from '@gateway/servers';

/** Of whatever else runs here: figures of a busy machine are not those of the program. */
const loadBefore = loadavg()[0];
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    earlier: { type: 'string', default: '100000,2000000' },
    live: { type: 'string', default: '1000' },
    backlog: { type: 'string', default: '60' },
    dry: { type: 'boolean', default: false },
  },
});
const eventsMeasured = Number(values.events);
const earlierCounts = values.earlier.split(',').map(Number);
/** Events a second that go on arriving, and the seconds for which billing was away. */
const [liveRate, backlogSeconds] = [Number(values.live), Number(values.backlog)];
/** As an edge under load sends them, and one with a call now and then. */
const [EVENTS_FULL, EVENTS_LIVE] = [100, 5];
const STORES_AT_ONCE = 8;
/** The metrics are made by the process that is measured: rarely enough to cost it nothing. */
const LOOK_MS = 200;
const ACCOUNTS = 1_000;
/** What the stream holds at once while earlier records are made. */
const ROUND_EVENTS = 100_000;
const EXPECTED_PER_SECOND = 15_000;
const FLAT_WITHIN = 1.3;

const ADMIN_PORT = await freePort();
const log = { info() {}, warn: console.warn, error: console.error };
const stateDirectory = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
const passwords = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `password-${name}`]));
const role = { name: 'gateway_billing', password: 'password-of-the-role' };
const { postgres, nats } = await startServers(['postgres', 'nats'], {
  stateDirectory,
  durable: true,
  env: { ...process.env, GATEWAY_MIGRATION_URL: '', GATEWAY_POSTGRES_URL: '', GATEWAY_NATS_URL: '' },
  postgres: { superuserPassword: 'password-of-postgres' },
  nats: {
    config: natsAuthorization(passwords, MESSAGES),
    credentials: { user: 'dashboard', password: passwords.dashboard },
  },
});
const migrations = new URL('../migrations/', import.meta.url);
const readers = { finance: { name: 'gateway_finance', password: 'password-of-finance' } };
await migrate({ migrationUrl: postgres.url, schema: 'billing', directory: migrations, role, readers, log });

const natsUrlOf = (service) => `nats://${service}:${passwords[service]}@127.0.0.1:${new URL(nats.url).port}`;
const roleUrl = Object.assign(new URL(postgres.url), { username: role.name, password: role.password }).href;
const pool = createPool(roleUrl, { applicationName: 'bench', log });
const edge = await connectBus({ url: natsUrlOf('edge-proxy'), service: 'edge-proxy', replica: 'bench', log });
const { amount, price, usage } = callFigures();
let billing = startProcess();
await until(async () => (await fetchText('readyz')).includes('"ready":true'));
await stopProcess();

const rows = [];
for (const earlier of earlierCounts) {
  while ((await counted()) < earlier) await settleAll(Math.min(ROUND_EVENTS, earlier - (await counted())), ACCOUNTS);
  for (const accounts of [ACCOUNTS, 1]) {
    const figures = await settleAll(eventsMeasured, accounts);
    rows.push({ earlier, accounts, ...figures });
    console.log(lineOf(rows.at(-1)));
  }
}
const caughtUp = await catchUp();
console.log(caughtUp.text);
await edge.drain(5_000);
await pool.end();
await Promise.all([postgres.stop(), nats.stop()]);
rmSync(stateDirectory, { recursive: true, force: true });
const report = render();
if (values.dry) console.log(report);
else writeFileSync(new URL('../prove/bench.md', import.meta.url), report);

/** Queues events while billing is away, then measures until all of them are committed. */
async function settleAll(events, accounts) {
  await publish(events, accounts, EVENTS_FULL);
  billing = startProcess();
  await until(async () => (await settledNow()) > 0, 2);
  const begunMs = performance.now();
  const already = await settledNow();
  const cpu = await cpuSeconds();
  await until(async () => (await settledNow()) >= events, LOOK_MS);
  const seconds = (performance.now() - begunMs) / 1_000;
  const after = await cpuSeconds();
  await stopProcess();
  const settled = events - already;
  const micros = (from, to) => ((to - from) / settled) * 1e6;
  return {
    events: settled,
    perSecond: settled / seconds,
    billingMicros: micros(cpu.billing, after.billing),
    postgresMicros: micros(cpu.postgres, after.postgres),
  };
}

/** Billing was away for a while and comes back; events go on arriving at the live rate. */
async function catchUp() {
  const backlog = liveRate * backlogSeconds;
  await publish(backlog, ACCOUNTS, EVENTS_LIVE);
  let arrived = backlog;
  let live = true;
  billing = startProcess();
  await until(async () => (await settledNow()) > 0, 2);
  const begunMs = performance.now();
  const arriving = (async () => {
    while (live) {
      const due = backlog + Math.floor(((performance.now() - begunMs) / 1_000) * liveRate);
      if (due > arrived) await publish(due - arrived, ACCOUNTS, EVENTS_LIVE);
      arrived = due;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  // Caught up: what is missing is what arrives while one batch is collected and settled.
  await until(async () => arrived - (await settledNow()) <= liveRate / 2, LOOK_MS);
  const seconds = (performance.now() - begunMs) / 1_000;
  const settled = await settledNow();
  live = false;
  await arriving;
  await until(async () => (await settledNow()) >= arrived, LOOK_MS);
  await stopProcess();
  const ratio = settled / seconds / liveRate;
  return {
    text:
      `${backlog.toLocaleString('en-US')} events of ${backlogSeconds} s (${EVENTS_LIVE} to a message) with ` +
      `${liveRate.toLocaleString('en-US')} events/s arriving: caught up in ${seconds.toFixed(1)} s, at ${ratio.toFixed(1)} ` +
      `times the live rate`,
  };
}

function lineOf({ earlier, accounts, events, perSecond, billingMicros, postgresMicros }) {
  const cells = [earlier, accounts, events, Math.round(perSecond)].map((value) => value.toLocaleString('en-US'));
  return `| ${[...cells, billingMicros.toFixed(1), postgresMicros.toFixed(1)].join(' | ')} |`;
}

function render() {
  const costOf = (accounts, earlier) => {
    const row = rows.find((one) => one.accounts === accounts && one.earlier === earlier);
    return row.billingMicros + row.postgresMicros;
  };
  const flatness = [ACCOUNTS, 1].map((accounts) => {
    const ratio = costOf(accounts, earlierCounts.at(-1)) / costOf(accounts, earlierCounts[0]);
    return `${ratio.toFixed(2)} with ${accounts.toLocaleString('en-US')} account${accounts === 1 ? '' : 's'}`;
  });
  const first = rows[0];
  return `# One billing process: from the stream to the committed ledger

Written by \`npm run bench:billing\`. Durable servers on the same machine as everything else; ${EVENTS_FULL} events to a message;
every event is a wallet-funded call with one attempt whose cost is known: one record, four entries, three standing rows, its
link in the hash chain.

| Earlier records | Accounts | Events | Events/s | Billing CPU µs an event | PostgreSQL CPU µs an event |
| --------------: | -------: | -----: | -------: | ----------------------: | -------------------------: |
${rows.map(lineOf).join('\n')}

- expected: at least ${EXPECTED_PER_SECOND.toLocaleString('en-US')} events/s with ${ACCOUNTS.toLocaleString('en-US')} accounts; measured: ${Math.round(first.perSecond).toLocaleString('en-US')}
- cost of an event after ${earlierCounts.at(-1).toLocaleString('en-US')} records against ${earlierCounts[0].toLocaleString('en-US')}: ${flatness.join(', ')} (expected: at most ${FLAT_WITHIN})
- ${caughtUp.text}
- date: ${new Date().toISOString().slice(0, 10)}
- machine: ${cpus()[0].model}, ${cpus().length} cores, Node ${process.versions.node}; load average before: ${loadBefore.toFixed(1)}
`;
}

function startProcess() {
  return spawn(process.execPath, [new URL('../dist/main.js', import.meta.url).pathname], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      GATEWAY_NATS_URL: natsUrlOf('billing'),
      GATEWAY_POSTGRES_URL: roleUrl,
      GATEWAY_CREDENTIALS_KEY: '0'.repeat(64),
      GATEWAY_ADMIN_PORT: String(ADMIN_PORT),
      GATEWAY_REPLICA: 'bench',
      GATEWAY_CREDENTIALS_KEY: randomBytes(32).toString('hex'),
    },
  });
}

async function stopProcess() {
  const ended = new Promise((resolve) => billing.once('exit', resolve));
  billing.kill('SIGTERM');
  await ended;
}

/** Stores events of the accounts in messages of the size; each message holds events of one shard. */
async function publish(events, accounts, size) {
  const byShard = Array.from({ length: SHARDS_TOTAL }, () => []);
  for (let index = 0; index < accounts; index += 1) {
    const account = `account-${index}`;
    byShard[shardOfAccount(account)].push(account);
  }
  const shards = byShard.flatMap((ofShard, shard) => (ofShard.length > 0 ? [shard] : []));
  const messages = Math.ceil(events / size);
  let next = 0;
  const send = async () => {
    while (next < messages) {
      const index = next;
      next += 1;
      const shard = shards[index % shards.length];
      const length = Math.min(size, events - index * size);
      const of = byShard[shard];
      const body = { events: Array.from({ length }, (_, at) => eventOf(of[(index * size + at) % of.length])) };
      await edge.store(usageRecorded, { shard }, body);
    }
  };
  await Promise.all(Array.from({ length: STORES_AT_ONCE }, send));
}

function callFigures() {
  return {
    price: {
      version: 'p1',
      figures: {
        inputPerMillion: 3_000_000_000,
        cachedInputPerMillion: 300_000_000,
        cacheWritePerMillion: null,
        cacheWrite1hPerMillion: null,
        outputPerMillion: 15_000_000_000,
        perCall: 0,
        tiers: [],
      },
    },
    usage: { input: 1_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 200 },
    amount: (1_000 * 3_000_000_000 + 200 * 15_000_000_000) / 1_000_000,
  };
}

function eventOf(account) {
  const now = Date.now();
  return {
    id: makeUuidV7(now),
    rank: 2,
    outcome: 'settled',
    hold: {
      account,
      key: `key-of-${account}`,
      member: `member-of-${account}`,
      model: 'acme/large',
      priceVersion: 'p1',
      worstNanoUsd: amount * 3,
      planMaxNanoUsd: 0,
      walletMaxNanoUsd: null,
      periods: { month: new Date(now).toISOString().slice(0, 7), session5h: null, weekly: null, subscription: null },
      windows: [],
      allotment: null,
      admittedAt: now,
    },
    endpoint: '/v1/chat/completions',
    streamed: true,
    startedAt: now,
    endedAt: now + 900,
    firstByteAt: now + 200,
    status: 200,
    source: 'source-1',
    usage,
    evidence: 'reported',
    price,
    amountNanoUsd: amount,
    attempts: [
      {
        source: 'source-1',
        provider: 'provider-1',
        outcome: 'completed',
        status: 200,
        possiblyPaid: true,
        usage,
        cost: price,
      },
    ],
  };
}
/** Events that the running process has committed. */
async function settledNow() {
  const lines = (await fetchText('metrics')).split('\n');
  return lines
    .filter((line) => line.startsWith('gateway_billing_events_total{'))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

async function counted() {
  return Number((await pool.query('SELECT count(*) AS n FROM usage_records')).rows[0].n);
}

/** Processor time of the billing process and of its database connections. */
async function cpuSeconds() {
  const { rows } = await pool.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'billing'");
  const sum = (pids) => pids.map(cpuOf).reduce((total, one) => total + one, 0);
  return { billing: cpuOf(billing.pid), postgres: sum(rows.map(({ pid }) => pid)) };
}

function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function fetchText(path) {
  return fetch(`http://127.0.0.1:${ADMIN_PORT}/${path}`)
    .then((answer) => answer.text())
    .catch(() => '');
}

async function until(condition, lookMs = 50) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, lookMs));
}
