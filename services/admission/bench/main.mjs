// Measures a decision: round trips, processor time, memory, and the effect of a million accounts.
// Writes .results/bench-admission.md. Needs `npx tsc -b services/admission`. A shorter run with
// `--accounts N` or `--calls N` writes nothing. `--kept N` instead measures how soon that many
// accounts count as loaded after Redis returns, and writes .results/bench-admission-kept.md for
// 100,000 and more.
import { loadavg } from 'node:os';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { countTrips } from './count-trips.mjs';
import { fillLimitStore } from './fill.mjs';
import { admit, release, settle, startLimitStore } from './limit-store.mjs';
import { measureKept, renderKept } from './kept.mjs';
import { renderFigures } from './report.mjs';

const MANY_ACCOUNTS = 1_000_000;
const FEW_ACCOUNTS = 1_000;
/**
 * The number of called accounts is constant, so the caches have the same size with many accounts.
 */
const CALLED_ACCOUNTS = 1_000;
const CALLS = 40_000;
const MEASURED_BATCH = 16;
const BATCHES = [1, 4, 16, 64];
const ROUNDS = 40;
const OPEN_CALLS = 10_000;
const TRIPS = [
  { messages: 500, entries: 1 },
  { messages: 200, entries: 8 },
];

/** A shorter run is too quick for a report. */
const KEPT_MIN = 100_000;

const say = (text) => process.stdout.write(`${text}\n`);
const option = { type: 'string' };
const { values } = parseArgs({ options: { accounts: option, calls: option, kept: option } });
const accounts = Number(values.accounts ?? MANY_ACCOUNTS);
const calls = Number(values.calls ?? CALLS);
if (values.kept === undefined) await measureDecisions();
else await measureReturn(Number(values.kept));

async function measureReturn(kept) {
  const text = renderKept(await measureKept(kept));
  say(text);
  if (kept >= KEPT_MIN) writeFileSync(new URL('../../../.results/bench-admission-kept.md', import.meta.url), text);
}

async function measureDecisions() {
  const loadBefore = loadavg()[0];
  say('counting round trips');
  const trips = await countTrips(TRIPS);
  const kinds = [];
  for (const withPlan of [false, true]) kinds.push(await measureKind(withPlan));
  const text = renderFigures({
    trips,
    kinds,
    accounts,
    fewAccounts: FEW_ACCOUNTS,
    calls,
    loadBefore,
    batch: MEASURED_BATCH,
    openCalls: OPEN_CALLS,
  });
  say(text);
  if (values.accounts === undefined && values.calls === undefined)
    writeFileSync(new URL('../../../.results/bench-admission.md', import.meta.url), text);
}

/** Measures accounts of one kind: with a wallet, or with a plan that has three windows in USD. */
async function measureKind(withPlan) {
  const name = withPlan ? 'plan' : 'wallet';
  const few = await startLimitStore({ withPlan });
  const many = await startLimitStore({ withPlan });
  try {
    const memory = await measureMemory(many, withPlan);
    say(`${name}: ${memory.account.toFixed(0)} bytes an account, ${memory.open.toFixed(0)} an open call`);
    await fillLimitStore(few, 0, FEW_ACCOUNTS, withPlan);
    const step = Math.floor(accounts / CALLED_ACCOUNTS);
    const places = {
      few: { limitStore: few, number: (at) => at % FEW_ACCOUNTS },
      many: { limitStore: many, number: (at) => (at % CALLED_ACCOUNTS) * step },
    };
    const sizes = {};
    for (const size of BATCHES) {
      sizes[size] = (await measureRounds({ few: places.few }, size, calls / 2)).few;
      say(
        `${name}: messages of ${size}: Redis ${sizes[size].redis.toFixed(1)} µs, admission ${sizes[size].admission.toFixed(1)} µs a call`,
      );
    }
    const scale = await measureRounds(places, MEASURED_BATCH, calls);
    say(
      `${name}: ${FEW_ACCOUNTS} accounts ${scale.few.redis.toFixed(1)} µs, ${accounts} accounts ${scale.many.redis.toFixed(1)} µs`,
    );
    return { name, memory, sizes, scale };
  } finally {
    await Promise.all([few.stop(), many.stop()]);
  }
}

/** Bytes of a loaded account, of a called account, and of a call: open, ended, and just settled. */
async function measureMemory(limitStore, withPlan) {
  const before = await limitStore.memoryBytes();
  await fillLimitStore(limitStore, 0, accounts, withPlan);
  const filled = await limitStore.memoryBytes();
  const called = Math.min(OPEN_CALLS, accounts);
  // An account with a past call stores more than one that was only loaded.
  await endAll(limitStore, await admitAll(limitStore, called));
  const warm = await limitStore.memoryBytes();
  const open = await admitAll(limitStore, called);
  const running = await limitStore.memoryBytes();
  await endAll(limitStore, open);
  return { account: (filled - before) / accounts, called: (warm - filled) / called, open: (running - warm) / called };
}

async function admitAll(limitStore, count) {
  const running = [];
  for (let from = 0; from < count; from += 100) {
    running.push(
      ...(await admit(
        limitStore,
        Array.from({ length: Math.min(100, count - from) }, (_unused, at) => from + at),
      )),
    );
  }
  return running;
}

async function endAll(limitStore, running) {
  for (let from = 0; from < running.length; from += 100) {
    const some = running.slice(from, from + 100);
    await release(limitStore, some);
    await settle(limitStore, some, 2);
  }
}

/**
 * Returns the lower quartile of many short rounds, which alternate between the stores, so that
 * other load on the machine affects all of them equally.
 */
async function measureRounds(places, size, total) {
  const found = Object.fromEntries(Object.keys(places).map((name) => [name, []]));
  const turns = Math.max(1, Math.round(total / ROUNDS / size));
  let version = 3;
  let at = 0;
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, { limitStore, number }] of Object.entries(places)) {
      const before = [await limitStore.redisCpuMicros(), process.cpuUsage()];
      for (let turn = 0; turn < turns; turn += 1) {
        const running = await admit(
          limitStore,
          Array.from({ length: size }, (_unused, offset) => number(at + offset)),
        );
        at += size;
        await release(limitStore, running);
        await settle(limitStore, running, version);
        version += 1;
      }
      const { user, system } = process.cpuUsage(before[1]);
      const redis = ((await limitStore.redisCpuMicros()) - before[0]) / (turns * size);
      // The first round warms up.
      if (round > 0) found[name].push({ redis, admission: (user + system) / (turns * size) });
    }
  }
  return Object.fromEntries(
    Object.entries(found).map(([name, rounds]) => [
      name,
      { redis: quartile(rounds, 'redis'), admission: quartile(rounds, 'admission') },
    ]),
  );
}

function quartile(rounds, name) {
  const sorted = rounds.map((round) => round[name]).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 4)];
}
