import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import { Client } from 'undici';
import { spreadOf } from '../statistics.js';
import { Call, type CallOutcome } from './call.js';
import type { KeyRotation } from './key-rotation.js';
import type { LoadJob, LoadRequest, LoadResult } from './load.js';

/** Timeout for the head of a response, and for each part of its body. */
const SILENCE_MS_MAX = 30_000;
/** A job ends early after this many failed calls: its measurement is useless. */
const FAILURES_MAX = 1_000;
/** Interval between checks for due calls of an open loop. */
const TICK_MS = 1;
/** Limit for calls that wait for a connection. Above it the peer is too slow for the rate. */
const WAITING_MAX = 5_000;
/** Tolerance for sums of doubles, so that a call due at the very end is not lost. */
const ROUNDING = 1e-6;
const CHAT_PATH = '/v1/chat/completions';
/** Sent by calls without keys, so that all requests have the same size. */
const NO_KEY = makeSecret(DEFAULT_KEY_PREFIX);

/** Keys of the load, with the state of their rotation. */
export interface LoadKeys {
  readonly secrets: readonly string[];
  readonly rotation: KeyRotation;
}

/** Makes a call that was due at `dueAt` on one of the connections. `ended` is called once. */
type CallStart = (connection: number, dueAt: number, ended: () => void) => void;

/**
 * Runs one job to its end. @throws Error if all keys are used up, because waiting would distort the
 * measurement, or if the peer is too slow for the rate
 */
export async function runLoad(job: LoadJob, keys: LoadKeys | null): Promise<LoadResult> {
  if (job.keysOf !== null && keys === null) throw new Error('the load has no keys');
  const used = job.keysOf === null ? null : keys;
  const next = alternate(job, used?.secrets ?? [NO_KEY]);
  const tally = new Tally();
  const startedAt = performance.now();
  const endAt = 'seconds' in job.until ? startedAt + job.until.seconds * 1000 : Number.POSITIVE_INFINITY;
  // Each reconnects after a failure or close.
  const connections = Array.from({ length: job.connections }, () => {
    const timeouts = { headersTimeout: SILENCE_MS_MAX, bodyTimeout: SILENCE_MS_MAX };
    return new Client(`http://127.0.0.1:${job.port}`, { pipelining: 1, ...timeouts });
  });
  let fault: Error | null = null;
  const call: CallStart = (index, dueAt, ended) => {
    const sentMs = Date.now();
    const key = used === null ? 0 : used.rotation.take(index, connections.length, sentMs);
    const { headers, body, expected } = next();
    const own = headers[key ?? -1];
    if (key === null || own === undefined) {
      fault = new Error('every account has used up its calls of this minute: prepare more of them');
      setImmediate(ended);
      return;
    }
    const done = (outcome: CallOutcome): void => {
      used?.rotation.ended(key, sentMs, Date.now());
      tally.note({ ...outcome, startedAt: Math.min(dueAt, outcome.startedAt) });
      // The client may report a failure synchronously. setImmediate keeps the stack flat.
      if (outcome.failure === null) ended();
      else setImmediate(ended);
    };
    connections[index]?.dispatch({ path: CHAT_PATH, method: 'POST', headers: own, body }, new Call(expected, done));
  };
  const isOver = (): boolean => fault !== null || tally.failed >= FAILURES_MAX || performance.now() >= endAt;
  try {
    if (job.perSecond !== null) await runPaced(job.connections, job.perSecond, startedAt, endAt, call);
    else await Promise.all(connections.map((_connection, index) => runConnection(index, job, isOver, call)));
    if (fault !== null) throw fault as Error;
  } finally {
    await Promise.all(connections.map((connection) => connection.destroy()));
  }
  return tally.result(startedAt);
}

/** Makes one call after the other on one connection. */
async function runConnection(index: number, job: LoadJob, isOver: () => boolean, call: CallStart): Promise<void> {
  const callsMax = 'calls' in job.until ? Math.ceil((job.until.calls - index) / job.connections) : Infinity;
  if (job.rampMs > 0) await delay((job.rampMs * index) / job.connections);
  await new Promise<void>((resolve) => {
    let started = 0;
    const next = (): void => {
      if (started >= callsMax || isOver()) return resolve();
      started += 1;
      call(index, performance.now(), next);
    };
    next();
  });
}

/**
 * Runs an open loop: calls begin when they are due, even if earlier calls are still running, so
 * that a slow response does not hide later calls. The wait for a connection counts.
 */
function runPaced(
  connections: number,
  perSecond: number,
  startedAt: number,
  endAt: number,
  call: CallStart,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // A queue, so that the keys of all connections are used.
    const free = Array.from({ length: connections }, (_unused, index) => index);
    const waiting: number[] = [];
    let [begun, running] = [0, 0];
    const start = (connection: number, dueAt: number): void => {
      running += 1;
      call(connection, dueAt, () => {
        running -= 1;
        const next = waiting.shift();
        if (next === undefined) free.push(connection);
        else start(connection, next);
      });
    };
    const timer = setInterval(() => {
      const now = performance.now();
      const due = Math.floor(((Math.min(now, endAt) - startedAt) * perSecond) / 1_000 + ROUNDING);
      for (; begun < due; begun += 1) {
        const connection = free.shift();
        if (connection === undefined) waiting.push(now);
        else start(connection, now);
      }
      if (waiting.length <= WAITING_MAX && (now < endAt || running > 0)) return;
      clearInterval(timer);
      if (waiting.length > WAITING_MAX) reject(new Error(`${waiting.length} calls wait for a connection`));
      else resolve();
    }, TICK_MS);
  });
}

/** Results of the calls of one job. */
class Tally {
  failed = 0;
  readonly #failures: Record<string, number> = {};
  readonly #firstByteMs: number[] = [];
  readonly #completeMs: number[] = [];
  #lastEndedAt = 0;

  note({ failure, startedAt, firstByteAt, endedAt }: CallOutcome): void {
    if (failure !== null) {
      this.failed += 1;
      this.#failures[failure] = (this.#failures[failure] ?? 0) + 1;
      return;
    }
    this.#firstByteMs.push(firstByteAt - startedAt);
    this.#completeMs.push(endedAt - startedAt);
    this.#lastEndedAt = endedAt;
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

/**
 * Encodes the headers with each key, and the bodies. Returns a function that yields those of the
 * next call.
 */
function alternate(job: LoadJob, secrets: readonly string[]) {
  const headers = secrets.map((secret) =>
    [['authorization', `Bearer ${secret}`] as const, ...CLIENT_HEADERS, ...job.headers].flat(),
  );
  const encode = ({ body, expected }: LoadRequest) => ({ headers, body: Buffer.from(body), expected });
  const { share = 0 } = job.among ?? {};
  const [usual, among] = [encode(job), job.among && encode(job.among)];
  let calls = 0;
  return () => {
    const isAmong = Math.floor((calls + 1) * share) > Math.floor(calls * share);
    calls += 1;
    return among !== undefined && isAmong ? among : usual;
  };
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
