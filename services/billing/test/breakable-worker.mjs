// A usage worker that kills itself by SIGKILL before or after a named call. It wraps the ports that
// the service connects; the code of the service does not know this. The first argument contains the
// settings as JSON.
import { randomUUID } from 'node:crypto';
import { setTimeout as after } from 'node:timers/promises';
import { connectBus } from '@gateway/bus';
import { usageEvents, usageSubjects } from '@gateway/contracts/messages';
import { createPool, isConnectionFault } from '@gateway/postgres';
import { createMonths } from '../dist/ledger/months.js';
import { readLedgerState } from '../dist/ledger/store.js';
import { createSettlementMeter } from '../dist/usage/meter.js';
import { isInfrastructureFault, createSettlementStore } from '../dist/usage/commit/settlement-store.js';
import { createShardLocks } from '../dist/usage/shard-locks-store.js';
import { createSnapshotPublisher } from '../dist/stream/stream.js';
import { startUsageWorker } from '../dist/usage/worker.js';

/**
 * `point` is "before <call>", "after <call>" or null; the worker kills itself when it reaches the
 * point for the `nth` time.
 */
const {
  natsUrl,
  postgresUrl,
  subjects,
  groups,
  point = null,
  nth = 1,
  ackWaitMs = 400,
  silentMs = 1_000,
  batchEventsMax = 5,
} = JSON.parse(process.argv[2]);
const log = { info() {}, warn() {}, error() {} };
const RETRY_MS = 100;
let reached = 0;

function reach(place) {
  if (place !== point) return;
  reached += 1;
  if (reached === nth) process.kill(process.pid, 'SIGKILL');
}

function breakable(name, call) {
  return (...values) => {
    reach(`before ${name}`);
    const answer = call(...values);
    if (!(answer instanceof Promise)) {
      reach(`after ${name}`);
      return answer;
    }
    return answer.then((value) => {
      reach(`after ${name}`);
      return value;
    });
  };
}

/** Wraps every statement, named by its prepared statement or its first word. */
function breakablePool(pool) {
  const known = new WeakSet();
  const connect = pool.connect.bind(pool);
  pool.connect = async () => {
    const client = await connect();
    if (!known.has(client)) {
      known.add(client);
      const query = client.query.bind(client);
      client.query = (asked, ...rest) => {
        const name = typeof asked === 'string' ? asked.split(' ', 1)[0] : (asked.name ?? 'a statement');
        return breakable(name, query)(asked, ...rest);
      };
    }
    return client;
  };
  return pool;
}

/** Like the service, tolerates a database that is not available at the start. */
async function reachedLedgerState() {
  for (;;) {
    try {
      return await readLedgerState(pool);
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      await after(RETRY_MS);
    }
  }
}

const pool = breakablePool(createPool(postgresUrl, { applicationName: 'breakable', log }));
const locksPool = createPool(postgresUrl, { applicationName: 'breakable locks', max: 1, log });
const { ledgerEpoch, consumers } = await reachedLedgerState();
const bus = await connectBus({ url: natsUrl, service: 'billing', replica: randomUUID(), log });
const store = createSettlementStore(pool);
const settling = {
  commit: breakable('commit', (work) => store.commit(work)),
  ensureMonth: breakable('ensureMonth', (month) => store.ensureMonth(month)),
};
const announcer = createSnapshotPublisher(bus, () => ledgerEpoch);
const locks = createShardLocks(locksPool, () => worker.lost(), silentMs);
const hold = breakable('hold', (subject) => locks.hold(subject));
const worker = startUsageWorker(
  {
    store: settling,
    months: createMonths(settling),
    announcer: { snapshots: breakable('snapshots', (accounts) => announcer.snapshots(accounts)) },
    meter: createSettlementMeter(),
    isInfrastructureFault,
    retryDelayMs: () => 100,
    batchEventsMax,
    log,
    stopping: new AbortController().signal,
    locks: { hold: async (subject) => subjects.includes(subject) && hold(subject), release: () => locks.release() },
    consume: (subject, handler) =>
      bus.consume({
        stream: usageEvents.stream,
        durable: `billing-${subject}-${consumers}`,
        filterSubject: usageSubjects(groups)[subject],
        batchMax: 4,
        maxAckPending: 1_000,
        ackWaitMs,
        handler: (batch) =>
          handler(batch.map((delivery) => ({ ...delivery, ack: breakable('ack', () => delivery.ack()) }))),
      }),
  },
  groups,
);
async function stop() {
  await worker.stop();
  await bus.drain(1_000);
  process.exit(0);
}

process.on('SIGTERM', () => void stop());
