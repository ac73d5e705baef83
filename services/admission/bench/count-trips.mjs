// Messages of one decision with cached records, as counted by the servers: NATS counts messages,
// Redis counts commands and reads.
import { connectBus, natsAuthorization } from '@gateway/bus';
import {
  MESSAGES,
  SERVICE_NAMES,
  accountsFind,
  accountsLoad,
  admissionBatch,
  billingLoad,
  modelEntryKey,
} from '@gateway/contracts/messages';
import { startServers } from '@gateway/servers';
import { BASE_FIELDS, ReadyChecks, readConfig, systemClock } from '@gateway/service-kit';
import { Redis } from 'ioredis';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ADMISSION_FIELDS } from '../dist/config.js';
import { startAdmission } from '../dist/service.js';
import { MODEL, makeOwners, model, source } from './accounts.mjs';
import { entryOf, numberIn } from './limit-store.mjs';

const PASSWORDS = Object.fromEntries(SERVICE_NAMES.map((name) => [name, `for-${name}`]));
/** There are no sweeps and no heartbeats during the count. */
const NEVER_MS = 3_600_000;
const DRAIN_MS = 2_000;
const USAGE_BYTES_MAX = 64 * 1024 * 1024;
const silent = { debug() {}, info() {}, warn() {}, error: console.error };
silent.child = () => silent;

/**
 * Sends `messages` messages with `entries` cached calls each, one after the other. Returns the
 * counts per message.
 */
export async function countTrips(cases) {
  const world = await startWorld();
  try {
    await world.ask([1]);
    await world.ask([1]);
    const counted = [];
    for (const { messages, entries } of cases) {
      const before = await world.read();
      for (let message = 0; message < messages; message += 1) await world.ask(Array(entries).fill(1));
      const after = await world.read();
      const each = Object.fromEntries(
        Object.keys(before).map((name) => [name, (after[name] - before[name]) / messages]),
      );
      counted.push({ entries, ...each });
    }
    return counted;
  } finally {
    await world.stop();
  }
}

async function startWorld() {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-trips-'));
  const port = await freePort();
  const config = `${natsAuthorization(PASSWORDS, MESSAGES)}\nhttp: "127.0.0.1:${port}"\n`;
  const credentials = { user: 'dashboard', password: PASSWORDS.dashboard };
  const servers = await startServers(['nats', 'redis'], {
    stateDirectory: directory,
    env: {},
    durable: false,
    nats: { config, credentials },
  });
  const connect = (service) =>
    connectBus({ url: urlOf(servers.nats.url, service), service, replica: 'bench', log: silent });
  const [edge, accounts, billing, catalog] = await Promise.all(
    ['edge-proxy', 'accounts', 'billing', 'catalog'].map(connect),
  );
  const owners = makeOwners(false);
  accounts.serve(accountsFind, async ({ digests }) => ({ found: await owners.find(digests) }));
  accounts.serve(accountsLoad, ({ account, key }) => owners.loadAccount(account, key));
  billing.serve(billingLoad, (question) => owners.loadBalances(question));
  const env = {
    GATEWAY_NATS_URL: urlOf(servers.nats.url, 'admission'),
    GATEWAY_REDIS_URL: servers.redis.url,
    GATEWAY_SWEEP_MS: String(NEVER_MS),
    GATEWAY_USAGE_STREAM_BYTES: String(USAGE_BYTES_MAX),
  };
  const admission = await startAdmission({
    config: readConfig({ ...BASE_FIELDS, ...ADMISSION_FIELDS }, env),
    log: silent,
    clock: systemClock,
    replica: 'bench',
    ready: new ReadyChecks(),
    stopping: new AbortController().signal,
  });
  const entries = new Map([
    [modelEntryKey(MODEL), JSON.stringify(model)],
    [`source.${source.id}`, JSON.stringify(source)],
  ]);
  await catalog.publishBucket('catalog', entries, 1);
  const redis = new Redis(servers.redis.url);
  const world = {
    ask: (numbers) => ask(edge, numbers),
    read: () => readCounters(redis, port),
    async stop() {
      redis.disconnect();
      await admission.stop();
      await Promise.all([edge, accounts, billing, catalog].map((bus) => bus.drain(DRAIN_MS)));
      await Promise.all([servers.nats.stop(), servers.redis.stop()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
  await untilAdmitted(world);
  return world;
}

/**
 * Reads the messages that NATS received from and sent to its clients, the scripts that Redis ran,
 * and the reads that they took.
 */
async function readCounters(redis, port) {
  const nats = await (await fetch(`http://127.0.0.1:${port}/varz`)).json();
  const facts = await redis.info('everything');
  // The query itself causes one read and one command each time.
  return {
    toBus: nats.in_msgs,
    fromBus: nats.out_msgs,
    scripts: Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(facts)?.[1] ?? 0),
    reads: numberIn(facts, 'total_reads_processed'),
  };
}

function ask(edge, numbers) {
  const admits = numbers.map((number) => entryOf(number, Date.now()));
  return new Promise((resolve, reject) => {
    const left = new Set(admits.map(({ id }) => id));
    const handle = edge.requestMany(
      admissionBatch,
      { edge: 'edge-1', opens: [], releases: [], admits },
      {
        answer({ answers }) {
          for (const answer of answers) {
            left.delete(answer.id);
            if (answer.kind !== 'admitted') reject(new Error(JSON.stringify(answer)));
          }
          if (left.size > 0) return;
          handle.close();
          resolve();
        },
        fault: reject,
      },
    );
  });
}

/** The catalog and the buckets take a moment to become ready. */
async function untilAdmitted(world) {
  const deadline = Date.now() + 30_000;
  for (;;) {
    try {
      return await world.ask([1]);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function urlOf(natsUrl, service) {
  const url = new URL(natsUrl);
  url.username = service;
  url.password = PASSWORDS[service];
  return url.href;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
