import { readFileSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testSeed } from '@gateway/testkit/seed';
import { until } from '@gateway/testkit';
import { FAULTS_MIX } from '../load/call-plan.js';
import { checkEvidence } from '../evidence/check-evidence.js';
import { isFaultAnswer } from '../evidence/judge-call.js';
import { SERVERS } from './fault-plan.js';
import { isOperatorApiServing } from '../standbys/ha.js';
import { FaultRun } from './fault-run.js';

/** Timeout from a server's kill until requests, dashboard and operator API work again. */
const BACK_WITHIN_MS = 15_000;
/** Requests between two faults. */
const CALLS_BETWEEN = 150;
const STOPS_MAX = 5;
const SEED = testSeed();

let run: FaultRun;
beforeAll(async () => {
  run = await FaultRun.begin('servers-come-back', CALLS_BETWEEN * (SERVERS.length + 2 + STOPS_MAX));
  run.load(FAULTS_MIX, SEED);
}, 120_000);
afterAll(async () => {
  await run?.end();
}, 120_000);

const fault = { forMs: 0, delayMs: 0 };
const moreCalls = (): Promise<void> => run.ended(run.seen.length + CALLS_BETWEEN);

test.each(SERVERS)(
  `%s restarts once after a kill under load within ${BACK_WITHIN_MS / 1_000} s`,
  async (name) => {
    await moreCalls();
    const { local } = run.system;
    const before = local.running().pids[name];
    const { from, until: served } = await run.causeFault({ what: 'kill', target: name, ...fault });
    await until('the dashboard responds', async () => (await fetch(local.running().dashboardUrl)).status === 200);
    await until('the operator API responds', () => isOperatorApiServing(run), BACK_WITHIN_MS);
    const ms = Date.now() - from;
    process.stdout.write(
      `${name}: calls ${((served - from) / 1_000).toFixed(1)} s, all ${(ms / 1_000).toFixed(1)} s after its kill\n`,
    );
    const after = local.running().pids[name];
    expect([after?.length, after?.[0] === before?.[0]]).toEqual([1, false]);
    if (process.platform === 'linux') expect(instancesOf(name)).toEqual(after);
    expect(ms).toBeLessThan(BACK_WITHIN_MS);
  },
  180_000,
);

test(`an edge stopped without NATS stores its usage at its next start (seed ${SEED})`, async () => {
  // A stop leaves events in the file only if a request ended in the last half second. The test
  // stops the edge until that happens.
  for (let stops = 0; stops < STOPS_MAX && storedFromFile() === 0; stops += 1) {
    await moreCalls();
    await run.causeFault({ what: 'stop without nats', target: 'edge-proxy-1', ...fault });
  }
  await moreCalls();
  const evidence = await run.evidence();
  const { violations, counterExample } = checkEvidence(evidence);
  if (violations.length > 0) throw new Error([...violations, counterExample].join('\n'));
  console.info(`${evidence.calls.filter(isFaultAnswer).length} responses with 500 because of the faults`);
  expect(evidence.calls.filter(({ ending }) => ending === 'whole').length).toBeGreaterThan(CALLS_BETWEEN);
  expect(storedFromFile()).toBeGreaterThan(0);
  expect(readdirSync(join(stateDirectory(), 'usage'))).toEqual([]);
}, 300_000);

/** Returns how many events the edge has stored from the file of its last stop. */
function storedFromFile(): number {
  const stored = edgeLog().filter(({ text }) => text === 'usage that an edge left at its stop is stored');
  return stored.reduce((sum, { events }) => sum + (events ?? 0), 0);
}

function stateDirectory(): string {
  return dirname(run.system.local.mailbox.directory);
}

interface LogLine {
  readonly text: string;
  readonly events?: number;
}

function edgeLog(): LogLine[] {
  const lines = readFileSync(join(stateDirectory(), 'logs', 'edge-proxy-1.jsonl'), 'utf8')
    .trim()
    .split('\n');
  return lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
}

/** Returns the processes whose arguments name the server's files, without their child processes. */
function instancesOf(name: string): number[] {
  const files = realpathSync(join(stateDirectory(), 'servers', name));
  const found = new Map<number, number>();
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const isServer = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        .split('\0')
        .some((argument) => argument.startsWith(files));
      const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      if (isServer) found.set(Number(pid), Number(parent));
    } catch {
      // It has ended meanwhile.
    }
  }
  return [...found].filter(([, parent]) => !found.has(parent)).map(([pid]) => pid);
}
