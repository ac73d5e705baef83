// Events per second from the stream to the committed ledger, by one billing process.
// Usage: node services/billing/test/bench-settle.mjs [events] [accounts] [events per message]   (after `npx tsc -b`)
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus, natsAuthorization } from '@gateway/bus';
import { makeUuidV7, shardOfAccount, SHARDS_TOTAL } from '@gateway/contracts/ids';
import { MESSAGES, SERVICE_NAMES, usageRecorded } from '@gateway/contracts/messages';
import { createPool, migrate } from '@gateway/postgres';
import { freePort, startServers } from '@gateway/servers';

const [eventsTotal = 200_000, accountsTotal = 2_000, eventsPerMessage = 100] = process.argv.slice(2).map(Number);
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
await migrate({ migrationUrl: postgres.url, schema: 'billing', directory: migrations, role, log });

const natsUrlOf = (service) => `nats://${service}:${passwords[service]}@127.0.0.1:${new URL(nats.url).port}`;
const roleUrl = Object.assign(new URL(postgres.url), { username: role.name, password: role.password }).href;
const pool = createPool(roleUrl, { applicationName: 'bench', log });
let billing = startProcess();
await until(async () => (await fetchText('readyz')).includes('"ready":true'));
await stopProcess();

const edge = await connectBus({ url: natsUrlOf('edge-proxy'), service: 'edge-proxy', replica: 'bench', log });
await publishAll();
console.log(`${eventsTotal} events of ${accountsTotal} accounts are stored, ${eventsPerMessage} to a message`);

billing = startProcess();
await until(async () => (await counted()) > 0, 2);
const begunMs = performance.now();
const already = await counted();
const before = await cpuSeconds();
await until(async () => (await counted()) >= eventsTotal, 100);
const seconds = (performance.now() - begunMs) / 1_000;
const after = await cpuSeconds();
const perEvent = (from, to) => (((to - from) / (eventsTotal - already)) * 1e6).toFixed(1);
console.log(`${Math.round((eventsTotal - already) / seconds)} events/s (${seconds.toFixed(2)} s)`);
console.log(
  `CPU µs an event: billing ${perEvent(before.billing, after.billing)}, PostgreSQL ${perEvent(before.postgres, after.postgres)}`,
);
await stopProcess();
await edge.drain(5_000);
await pool.end();
await Promise.all([postgres.stop(), nats.stop()]);
rmSync(stateDirectory, { recursive: true, force: true });

function startProcess() {
  return spawn(process.execPath, [new URL('../dist/main.js', import.meta.url).pathname], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      GATEWAY_NATS_URL: natsUrlOf('billing'),
      GATEWAY_POSTGRES_URL: roleUrl,
      GATEWAY_ADMIN_PORT: String(ADMIN_PORT),
      GATEWAY_REPLICA: 'bench',
    },
  });
}

async function stopProcess() {
  const ended = new Promise((resolve) => billing.once('exit', resolve));
  billing.kill('SIGTERM');
  await ended;
}

async function publishAll() {
  const price = {
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
  };
  const usage = { input: 1_000, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 200 };
  const amount = (1_000 * 3_000_000_000 + 200 * 15_000_000_000) / 1_000_000;
  const byShard = Array.from({ length: SHARDS_TOTAL }, () => []);
  for (let index = 0; index < accountsTotal; index += 1) {
    const account = `account-${index}`;
    byShard[shardOfAccount(account)].push(account);
  }
  const month = new Date().toISOString().slice(0, 7);
  let sent = 0;
  for (let shard = 0; sent < eventsTotal; shard = (shard + 1) % SHARDS_TOTAL) {
    const size = Math.min(eventsPerMessage, eventsTotal - sent);
    const now = Date.now();
    const events = Array.from({ length: size }, (_, index) => {
      const account = byShard[shard][(sent + index) % byShard[shard].length];
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
          periods: { month, session5h: null, weekly: null, subscription: null },
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
    });
    await edge.store(usageRecorded, { shard }, { events });
    sent += size;
  }
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
