import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import type { LedgerTransactionView, UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { type ProviderSimulator, startProviderSimulator } from '@gateway/provider-simulator';
import { applyObjects } from '../../test/apply-objects.js';
import type { TestAccount, TestOperator } from '../../test/operator.js';
import { PRICES } from '../../test/prices.js';
import { HealthWatch } from './health-watch.js';
import {
  type SourceBehaviour,
  FIRST_SEEN,
  type Play,
  type SeenAnswer,
  type SeenCall,
  type SeenPlay,
  type SourceName,
  USAGE,
} from './scenario.js';

export interface FailoverWorld {
  /** URL of one edge: each edge has its own health state of a source. */
  readonly edgeUrl: string;
  readonly operator: TestOperator;
}

const AT_ONCE = 12;
const SOURCES = ['a', 'b'] as const;
const CREDIT_USD = '1000.00';

export async function playScenarios({ edgeUrl, operator }: FailoverWorld, plays: readonly Play[]): Promise<SeenPlay[]> {
  const account = await operator.account(CREDIT_USD);
  await operator.limits(account.account, 1_000_000, 1_000);
  const stages = await Promise.all(plays.map((play) => setStage(play)));
  const watch = new HealthWatch(operator);
  try {
    await applyObjects(operator, [
      { kind: 'provider', id: 'failover', spec: { name: 'failover', format: 'openai' } },
      ...stages.flatMap(objectsOf),
    ]);
    // Plays with waiting times start first.
    const waiting = [...stages].sort((one, other) => waitOf(other) - waitOf(one));
    const played = new Map<Stage, SeenCall[]>();
    const work = async (): Promise<void> => {
      for (let stage = waiting.shift(); stage !== undefined; stage = waiting.shift()) {
        played.set(stage, await playCalls(stage, edgeUrl, account, operator));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const ledger = await operator.all<LedgerTransactionView>(`/accounts/${account.account}/ledger`);
    return await Promise.all(
      [...played].map(async ([{ play, sources }, calls]) => ({
        play,
        calls: calls.map((call) => withLedger(call, ledger, account)),
        health: await watch.of(sources.a, attemptsAtA(calls)),
      })),
    );
  } finally {
    watch.stop();
    await Promise.all(stages.map(({ provider }) => provider.close()));
  }
}

interface Stage {
  readonly play: Play;
  readonly provider: ProviderSimulator;
  readonly model: string;
  readonly upstreamModel: string;
  readonly sources: Readonly<Record<SourceName, string>>;
}

/** Starts providers for one play, so that their first connection is a new one. */
async function setStage(play: Play): Promise<Stage> {
  const name = `failover-${randomBytes(6).toString('hex')}`;
  const provider = await startProviderSimulator();
  const sources = { a: `${name}-a`, b: `${name}-b` };
  return { play, provider, model: `failover/${name}`, upstreamModel: `up-${name}`, sources };
}

function objectsOf({ play, provider, model, upstreamModel, sources }: Stage): object[] {
  const { scenario, format } = play;
  return [
    { kind: 'model', id: model, spec: { displayName: model, kind: 'chat', prices: PRICES } },
    ...SOURCES.map((name, priority) => ({
      kind: 'source',
      id: sources[name],
      spec: {
        modelId: model,
        providerId: 'failover',
        baseUrl: provider.urls[priority],
        upstreamModel,
        endpoints: [format.path],
        priority,
        credential: `credential-of-${sources[name]}`,
        ...(scenario.limits?.[name] === undefined ? {} : { limits: scenario.limits[name] }),
      },
    })),
  ];
}

function waitOf({ play }: Stage): number {
  return play.calls.reduce((sum, { afterMs = 0 }) => sum + afterMs, 0);
}

function attemptsAtA(calls: readonly SeenCall[]): number {
  return calls.flatMap(({ queried }) => queried).filter((name) => name === 'a').length;
}

async function playCalls(
  stage: Stage,
  edgeUrl: string,
  account: TestAccount,
  operator: TestOperator,
): Promise<SeenCall[]> {
  const calls: Omit<SeenCall, 'queried' | 'record'>[] = [];
  for (const call of stage.play.calls) {
    if (call.afterMs !== undefined) await delay(call.afterMs);
    for (const name of SOURCES) await setBehaviour(stage, name, call[name]);
    const before = stage.provider.calls().length;
    const answer = await callOnce(stage, edgeUrl, account.secret);
    // The record exists only after the response has ended, so the next request can reuse its
    // connection.
    if (call.charged === 'a') await operator.usageRecord(answer.requestId);
    const reached = stage.provider.calls().slice(before);
    calls.push({ answer, reached: reached.map(({ listener }) => listener) });
    stage.provider.clearScripts();
  }
  // Records are read after the last request, because cooldowns continue while the test waits for a
  // record.
  return Promise.all(
    calls.map(async (call) => {
      const record = await operator.usageRecord(call.answer.requestId);
      return { ...call, queried: queriedBy(record, stage), record };
    }),
  );
}

async function setBehaviour(
  { play, provider, upstreamModel }: Stage,
  name: SourceName,
  act: SourceBehaviour,
): Promise<void> {
  if (act === 'refuses connections') return provider.closeListener(name);
  const steps = act === 'serves' ? [{ usage: USAGE[name] }] : [...act({ format: play.format, upstreamModel })];
  provider.script({ model: upstreamModel, listener: name, steps });
  // A second attempt on a new connection succeeds.
  if (act !== 'serves') provider.script({ model: upstreamModel, listener: name, steps: [{ usage: USAGE[name] }] });
}

/** Sends the request, and lets the source continue when the client has received its first chunk. */
async function callOnce({ play, provider, model }: Stage, edgeUrl: string, secret: string): Promise<SeenAnswer> {
  const { format, streamed } = play;
  const { statusCode, headers, body } = await request(`${edgeUrl}${format.path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...format.body, stream: streamed }),
  });
  let text = '';
  let cut = false;
  try {
    for await (const chunk of body) {
      if (text === '') provider.release(FIRST_SEEN);
      text += String(chunk);
    }
  } catch {
    cut = true;
  }
  const retryAfter = headers['retry-after'];
  return {
    requestId: String(headers['x-gateway-request-id']),
    status: statusCode,
    retryAfter: retryAfter === undefined ? null : String(retryAfter),
    text,
    cut,
  };
}

function queriedBy({ attempts }: UsageRecordView, { sources }: Stage): SourceName[] {
  return attempts.map(({ sourceId }) => (sourceId === sources.a ? 'a' : 'b'));
}

/** Adds the amount that the ledger took from the wallet for the request. */
function withLedger(call: SeenCall, ledger: readonly LedgerTransactionView[], { account }: TestAccount): SeenCall {
  const entries = ledger
    .filter(({ requestId }) => requestId === call.record.requestId)
    .flatMap((transaction) => transaction.entries);
  const taken = entries.filter(({ ledgerAccount }) => ledgerAccount === `wallet:${account}`);
  return { ...call, takenNanoUsd: taken.reduce((sum, { amountUsd }) => sum - parseUsd(amountUsd), 0n) };
}
