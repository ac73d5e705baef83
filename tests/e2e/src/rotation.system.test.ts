// Tests key changes under load on two edges and two admissions. `npm run verify:faults -- rotation`
// runs the first test with 10,000 rotations and writes its results to a file.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Agent, request } from 'undici';
import type { LocalSystem } from '@gateway/local';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator } from '@gateway/provider-simulator';
import { percentile, until } from '@gateway/testkit';
import { chat, HELLO } from '../test/call.js';
import type { TestOperator } from '../test/operator.js';
import type { TestAccount } from '../test/operator.js';
import { PATIENT, startOwnSystem } from '../test/own-system.js';
import type { OwnSystem } from '../test/own-system.js';
import { renderReport } from './runner/render-report.js';

/** Total number of rotations. `npm run verify:faults -- rotation` sets its own number. */
const ROTATIONS = Number(process.env['GATEWAY_VERIFY_ROTATIONS'] ?? 50);
const KEYS = 10;
/** Concurrent requests per key with its newest known secret. */
const WORKERS_PER_KEY = 1;
/** Requests with the old secret after each rotation, alternating between the edges. */
const PROBES = 4;
const FIGURES_FILE = fileURLToPath(new URL('../../../.results/rotation.md', import.meta.url));
const PRICES = { inputPerMillion: '1.00', outputPerMillion: '1.00' };
const HEARTBEAT_MS = 500;

let own: OwnSystem;
let system: LocalSystem;
let operator: TestOperator;
let simulator: ProviderSimulator;
let model: string;
const agent = new Agent({ connections: 64 });

beforeAll(async () => {
  own = await startOwnSystem('gateway-rotation-', { ...PATIENT, GATEWAY_HEARTBEAT_MS: String(HEARTBEAT_MS) });
  ({ operator, local: system } = own);
  simulator = await startProviderSimulator({ recordCalls: false });
  ({ id: model } = await operator.model(PRICES, simulator.urls));
}, 60_000);
afterAll(async () => {
  await agent.close();
  await simulator?.close();
  await own?.stop();
}, 60_000);

interface Caller extends TestAccount {
  /** All secrets in order. The last one is current. */
  readonly secrets: string[];
}

interface Figures {
  readonly answerMs: number[];
  /**
   * From the response to the rotation to the end of the first refused request with the old secret.
   */
  readonly refusedMs: number[];
  calls: number;
  lateAdmissions: number;
  newRefused: number;
}

// Covers r10
// Covers authentication: rule 4 a leaked key is
test(
  `${ROTATIONS} rotations under load replace the old secret immediately`,
  async () => {
    const callers = await Promise.all(Array.from({ length: KEYS }, () => unlimitedCaller()));
    const figures: Figures = { answerMs: [], refusedMs: [], calls: 0, lateAdmissions: 0, newRefused: 0 };
    const rotating = new Set<Caller>();
    let stopped = false;
    const load = callers.flatMap((caller) =>
      Array.from({ length: WORKERS_PER_KEY }, async (_unused, worker) => {
        for (let n = worker; !stopped; n += 1) {
          const secret = caller.secrets.at(-1) ?? '';
          const status = await statusOf(n, secret);
          figures.calls += 1;
          // A request during a rotation may be refused. A request with a secret that is still
          // current must not be refused.
          if (status !== 200 && caller.secrets.at(-1) === secret && !rotating.has(caller)) figures.newRefused += 1;
        }
      }),
    );
    const begun = performance.now();
    await Promise.all(
      callers.map(async (caller) => {
        for (let n = 0; n < ROTATIONS / KEYS; n += 1) await rotateAndProbe(caller, figures, rotating);
      }),
    );
    const seconds = (performance.now() - begun) / 1_000;
    stopped = true;
    await Promise.all(load);
    if (process.env['GATEWAY_VERIFY_ROTATIONS'] !== undefined) writeFileSync(FIGURES_FILE, report(figures, seconds));
    expect({ late: figures.lateAdmissions, refused: figures.newRefused }).toEqual({ late: 0, refused: 0 });
    expect(figures.answerMs).toHaveLength(Math.ceil(ROTATIONS / KEYS) * KEYS);
    expect(figures.calls).toBeGreaterThan(ROTATIONS);
  },
  60_000 + ROTATIONS * 200,
);

async function rotateAndProbe(caller: Caller, figures: Figures, rotating: Set<Caller>): Promise<void> {
  const old = caller.secrets.at(-1) ?? '';
  rotating.add(caller);
  const requestedAt = performance.now();
  const secret = await operator.rotate(caller.key);
  const answeredAt = performance.now();
  caller.secrets.push(secret);
  figures.answerMs.push(answeredAt - requestedAt);
  let first = true;
  const probes = Array.from({ length: PROBES }, async (_unused, n) => {
    const status = await statusOf(n, old);
    if (status === 401 && first) figures.refusedMs.push(performance.now() - answeredAt);
    first = false;
    if (status !== 401) figures.lateAdmissions += 1;
  });
  const fresh = [0, 1].map(async (n) => {
    if ((await statusOf(n, secret)) !== 200) figures.newRefused += 1;
  });
  figures.calls += PROBES + 2;
  await Promise.all([...probes, ...fresh]);
  rotating.delete(caller);
}

// Covers states and transitions: active revoke; states and transitions: sentence 1 a key that is
test.concurrent('changes to the state of a key or account apply at every edge immediately', async () => {
  const caller = await unlimitedCaller();
  const other = await operator.key(caller.account);
  expect(await everywhere(caller.secret)).toEqual([200]);
  for (let n = 0; n < 5; n += 1) {
    await operator.setKey(caller.key, 'suspend');
    expect(await everywhere(caller.secret)).toEqual(['403 key_inactive']);
    await operator.setKey(caller.key, 'reinstate');
    expect(await everywhere(caller.secret)).toEqual([200]);
    await operator.setAccount(caller.account, 'suspend');
    expect(await everywhere(caller.secret)).toEqual(['403 account_suspended']);
    expect(await everywhere(other.secret)).toEqual(['403 account_suspended']);
    await operator.setAccount(caller.account, 'reinstate');
    expect(await everywhere(other.secret)).toEqual([200]);
  }
  await operator.setKey(caller.key, 'revoke');
  expect(await everywhere(caller.secret)).toEqual(['403 key_inactive']);
  expect(await everywhere(other.secret)).toEqual([200]);
  const again = await operator.request('POST', `/keys/${caller.key}/rotate`);
  expect([again.status, again.body]).toEqual([409, expect.objectContaining({ error: expect.anything() })]);
});

// Covers states and transitions: active expiry date passes
test.concurrent('a key expires at its expiry time at every edge', async () => {
  const { account } = await unlimitedCaller();
  for (let lifeMs = 3_000; ; lifeMs *= 3) {
    const expiresAtMs = Date.now() + lifeMs;
    const { secret } = await operator.key(account, { expiresAt: new Date(expiresAtMs).toISOString() });
    const before = await everywhere(secret);
    // On a busy machine the key may have expired before the requests, so the test repeats them
    // with a longer lifetime.
    if (Date.now() >= expiresAtMs) continue;
    expect(before).toEqual([200]);
    await until('the key has expired', () => Date.now() > expiresAtMs, lifeMs + 1_000);
    expect(await everywhere(secret)).toEqual(['403 key_expired']);
    return;
  }
}, 60_000);

test.concurrent('suspending a key keeps its streams, and suspending the account cuts them', async () => {
  const caller = await unlimitedCaller();
  const sseEvent = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n';
  const gated = await operator.model(PRICES, simulator.urls);
  const scripted = simulatorModel(gated.id);
  const steps = [{ chunk: sseEvent }, { waitFor: scripted }, { chunk: 'data: [DONE]\n\n' }, { end: 'normal' as const }];
  simulator.script({ model: scripted, times: 2, steps });
  const open = (): ReturnType<typeof chat> =>
    chat(`${edges()[0]}/v1/chat/completions`, caller.secret, { model: gated.id, messages: HELLO, stream: true });

  const first = open();
  await operator.untilSlots(caller.account, 1);
  await operator.setKey(caller.key, 'suspend');
  simulator.release(scripted, 1);
  expect(await first).toMatchObject({ status: 200, cut: false, text: expect.stringContaining('[DONE]') });
  await operator.setKey(caller.key, 'reinstate');

  const second = open();
  await operator.untilSlots(caller.account, 1);
  await operator.setAccount(caller.account, 'suspend');
  const cut = await second;
  expect(cut).toMatchObject({ status: 200, cut: true, text: expect.stringContaining('account_suspended') });
  expect(cut.text).not.toContain('[DONE]');
  await operator.untilSlots(caller.account, 0);
  const { record } = await operator.record(cut.requestId);
  expect([record.outcome, record.chargedUsd]).toEqual(['voided', '0.00']);
  simulator.release(scripted, 1);
});

test('a change returns not_in_force without admission and applies when it is back', async () => {
  const caller = await unlimitedCaller();
  expect(await everywhere(caller.secret)).toEqual([200]);
  const admissions = system.children('admission');
  await Promise.all(admissions.map((child) => child.stop(10_000)));
  const answer = await operator.request('POST', `/keys/${caller.key}/revoke`);
  expect([answer.status, answer.body]).toMatchObject([503, { error: { code: 'not_in_force' } }]);
  await Promise.all(admissions.map((child) => child.start()));
  await until(
    'the key is refused',
    async () => (await everywhere(caller.secret)).join() === '403 key_inactive',
    20_000,
  );
  expect(await everywhere(caller.secret)).toEqual(['403 key_inactive']);
}, 60_000);

function edges(): readonly string[] {
  return system.running().edgeUrls;
}

async function unlimitedCaller(): Promise<Caller> {
  const account = await operator.account('1000.00');
  await operator.limits(account.account, 1_000_000, 1_000);
  return { ...account, secrets: [account.secret] };
}

async function statusOf(n: number, secret: string): Promise<number> {
  const urls = edges();
  const answer = await request(`${urls[n % urls.length]}/v1/chat/completions`, {
    method: 'POST',
    dispatcher: agent,
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: HELLO, max_tokens: 5 }),
  });
  await answer.body.dump();
  return answer.statusCode;
}

/** Sends five requests to each edge. Returns the distinct results: 200, or status and code. */
async function everywhere(secret: string): Promise<(number | string)[]> {
  const calls = edges().flatMap((url) => Array.from({ length: 5 }, () => `${url}/v1/chat/completions`));
  const answers = await Promise.all(
    calls.map(async (url) => {
      const { status, text } = await chat(url, secret, { model, messages: HELLO, max_tokens: 5 });
      return status === 200 ? status : `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
    }),
  );
  return [...new Set(answers)];
}

/** Returns the upstream name of a model that {@link TestOperator.model} created. */
function simulatorModel(id: string): string {
  return `up-${id.slice('test/'.length)}`;
}

function report({ answerMs, refusedMs, calls, lateAdmissions, newRefused }: Figures, runSeconds: number): string {
  const row = (name: string, values: readonly number[]): string[] => [
    name,
    ...[50, 99, 100].map((percent) => percentile(values, percent).toFixed(1)),
  ];
  return renderReport({
    title: 'Rotation under load',
    command: 'npm run verify:faults -- rotation',
    about: `two edges, two admissions, all on one machine with its load generator. ${answerMs.length} rotations of ${KEYS} keys in ${runSeconds.toFixed(0)} s, ${calls} concurrent requests (${(calls / runSeconds).toFixed(0)}/s).`,
    tables: [
      {
        head: ['milliseconds', 'p50', 'p99', 'largest'],
        rows: [
          row('rotation request to response (in force everywhere)', answerMs),
          row('response to the first refused request with the old secret', refusedMs),
        ],
      },
    ],
    violations: [
      ...(lateAdmissions === 0
        ? []
        : [`${lateAdmissions} requests were admitted with the old secret after the response`]),
      ...(newRefused === 0 ? [] : [`${newRefused} requests with the newest secret were refused`]),
    ],
  });
}
