import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { percentile } from '../results/statistics.js';
import { CallConnection } from './call-connection.js';
import type { CallOutcome } from './call-connection.js';
import type { KeyRotation } from './key-turns.js';
import { runPaced } from './run-paced.js';
import type { ExpectedResponse, LoadJob, LoadResult, LoadRequest, Spread } from './load-job.js';

/** Timeout for one call. */
const CALL_MS_MAX = 30_000;
const EXPIRY_CHECK_MS = 500;
/** A job ends early after this many failed calls: its measurement is useless. */
const FAILURES_MAX = 1_000;
const CHAT_PATH = '/v1/chat/completions';
/** Sent by calls without keys, so that all requests have the same size. */
const NO_KEY = makeSecret(DEFAULT_KEY_PREFIX);

/** Keys of the load, with the state of their rotation. */
export interface LoadKeys {
  readonly secrets: readonly string[];
  readonly turns: KeyRotation;
}

/**
 * Runs one job to its end. @throws Error if all keys are used up: waiting would distort the
 * measurement
 */
export async function runLoad(job: LoadJob, keys: LoadKeys | null): Promise<LoadResult> {
  if (job.keysOf !== null && keys === null) throw new Error('the load has no keys');
  const used = job.keysOf === null ? null : keys;
  const secrets = used?.secrets ?? [NO_KEY];
  const requestsOf = (question: LoadRequest): Requests => ({
    bytes: secrets.map((secret) => requestOf(job, question.body, secret)),
    expected: question.expected,
  });
  const requests = evenly(requestsOf(job), job.among && requestsOf(job.among), job.among?.share ?? 0);
  const tally = new Tally();
  const startedAt = performance.now();
  const endAt = 'seconds' in job.until ? startedAt + job.until.seconds * 1000 : Number.POSITIVE_INFINITY;
  const connections = Array.from({ length: job.connections }, () => new CallConnection(job.port));
  const expiry = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.expire(now, CALL_MS_MAX);
  }, EXPIRY_CHECK_MS);
  const caller = new Caller(connections, requests, used, tally);
  try {
    if (job.perSecond !== null) {
      const { perSecond } = job;
      const call = (connection: number, dueAt: number, ended: () => void): void => {
        caller.call(connection, dueAt, ended);
      };
      await runPaced({ connections: connections.length, perSecond, startedAt, endAt, call });
    } else await Promise.all(connections.map((_connection, index) => runConnection(caller, index, job, endAt)));
    if (caller.fault !== null) throw caller.fault;
  } finally {
    clearInterval(expiry);
    for (const connection of connections) connection.close();
  }
  return tally.result(startedAt);
}

/** Makes one call after the other on one connection. */
async function runConnection(caller: Caller, index: number, job: LoadJob, endAt: number): Promise<void> {
  const callsMax = 'calls' in job.until ? Math.ceil((job.until.calls - index) / job.connections) : Infinity;
  if (job.rampMs > 0) await delay((job.rampMs * index) / job.connections);
  await new Promise<void>((resolve) => {
    let started = 0;
    const next = (): void => {
      if (started >= callsMax || caller.isBroken || performance.now() >= endAt) return resolve();
      started += 1;
      caller.call(index, performance.now(), next);
    };
    next();
  });
}

/** One request body with each of the keys. */
interface Requests {
  readonly bytes: readonly Buffer[];
  readonly expected: ExpectedResponse;
}

/** Returns `usual`, or `among` for `share` of the calls, spread evenly. */
function evenly(usual: Requests, among: Requests | undefined, share: number): () => Requests {
  let calls = 0;
  return () => {
    const isAmong = Math.floor((calls + 1) * share) > Math.floor(calls * share);
    calls += 1;
    return among !== undefined && isAmong ? among : usual;
  };
}

/** Makes calls with the next keys and records the results. */
class Caller {
  /** Why the measurement is invalid, or null. */
  fault: Error | null = null;

  constructor(
    private readonly connections: readonly CallConnection[],
    /** Returns the requests of the next call. */
    private readonly next: () => Requests,
    private readonly used: LoadKeys | null,
    private readonly tally: Tally,
  ) {}

  get isBroken(): boolean {
    return this.fault !== null || this.tally.failed >= FAILURES_MAX;
  }

  /** @param startedAt time when the call was due */
  call(index: number, startedAt: number, ended: () => void): void {
    const sentMs = Date.now();
    const key = this.used === null ? 0 : this.used.turns.take(index, this.connections.length, sentMs);
    const { bytes, expected } = this.next();
    const request = key === null ? undefined : bytes[key];
    if (key === null || request === undefined) {
      this.fault = new Error('every account has used up its calls of this minute: prepare more of them');
      setImmediate(ended);
      return;
    }
    this.connections[index]?.call(request, expected, (outcome) => {
      this.used?.turns.ended(key, sentMs, Date.now());
      this.tally.note({ ...outcome, startedAt: Math.min(startedAt, outcome.startedAt) });
      // `call` may report a failure synchronously. setImmediate keeps the stack flat.
      if (outcome.failure === null) ended();
      else setImmediate(ended);
    });
  }
}

class Tally {
  failed = 0;
  readonly #failures: Record<string, number> = {};
  readonly #firstByteMs: number[] = [];
  readonly #completeMs: number[] = [];
  #lastEndedAt = 0;

  note(outcome: CallOutcome): void {
    if (outcome.failure !== null) {
      this.failed += 1;
      this.#failures[outcome.failure] = (this.#failures[outcome.failure] ?? 0) + 1;
      return;
    }
    this.#firstByteMs.push(outcome.firstByteAt - outcome.startedAt);
    this.#completeMs.push(outcome.endedAt - outcome.startedAt);
    this.#lastEndedAt = outcome.endedAt;
  }

  result(startedAt: number): LoadResult {
    return {
      calls: this.#completeMs.length,
      failures: this.#failures,
      elapsedMs: Math.max(0, this.#lastEndedAt - startedAt),
      firstByteMs: spreadOf(this.#firstByteMs),
      completeMs: spreadOf(this.#completeMs),
    };
  }
}

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { p50: 0, p99: 0 };
  const sorted = Float64Array.from(values).sort();
  return { p50: percentile(sorted, 50), p99: percentile(sorted, 99) };
}

/** Headers of the official JavaScript client, except key, length and host. */
const CLIENT_HEADERS = [
  ['connection', 'keep-alive'],
  ['accept', 'application/json'],
  ['user-agent', 'OpenAI/JS 6.49.0'],
  ['x-stainless-retry-count', '0'],
  ['x-stainless-lang', 'js'],
  ['x-stainless-package-version', '6.49.0'],
  ['x-stainless-os', 'Linux'],
  ['x-stainless-arch', 'x64'],
  ['x-stainless-runtime', 'node'],
  ['x-stainless-runtime-version', 'v20.20.2'],
  ['content-type', 'application/json'],
  ['accept-language', '*'],
  ['sec-fetch-mode', 'cors'],
  ['accept-encoding', 'gzip, deflate'],
] as const;

function requestOf(job: LoadJob, body: string, secret: string): Buffer {
  const headers = [
    ['host', `127.0.0.1:${job.port}`],
    ['authorization', `Bearer ${secret}`],
    ...CLIENT_HEADERS,
    ...job.headers,
    ['content-length', String(Buffer.byteLength(body))],
  ];
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`POST ${CHAT_PATH} HTTP/1.1\r\n${head}\r\n${body}`);
}
