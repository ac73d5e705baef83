import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { percentile } from '@gateway/testkit';
import { Client, type Dispatcher } from 'undici';
import type { LoadJob, LoadResult } from './load.js';

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
/** Interval between the first calls of the connections, so that they do not connect at once. */
const RAMP_MS = 2;
/** Bytes that are kept of the body's end, to check how it ended. */
const TAIL_BYTES = 32;
/** Longest gzip body, decompressed. */
const DECODED_BYTES_MAX = 1_048_576;
const CHAT_PATH = '/v1/chat/completions';

/** Makes a call that was due at `dueAt` on one of the connections. `ended` is called once. */
type CallStart = (connection: number, dueAt: number, ended: () => void) => void;

/** Runs one job to its end. @throws Error if the peer is too slow for the rate */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const headers = job.secrets.map((secret) =>
    [['authorization', `Bearer ${secret}`] as const, ...CLIENT_HEADERS, ...job.headers].flat(),
  );
  const body = Buffer.from(job.body);
  const [firstByteMs, completeMs]: [number[], number[]] = [[], []];
  const failures: Record<string, number> = {};
  let [failed, lastEndedAt] = [0, 0];
  const note = ({ failure, firstByteAt, endedAt }: CallOutcome, dueAt: number): void => {
    if (failure === null) {
      firstByteMs.push(firstByteAt - dueAt);
      completeMs.push(endedAt - dueAt);
      lastEndedAt = endedAt;
    } else {
      failed += 1;
      failures[failure] = (failures[failure] ?? 0) + 1;
    }
  };
  const startedAt = performance.now();
  const endAt = 'seconds' in job.until ? startedAt + job.until.seconds * 1000 : Number.POSITIVE_INFINITY;
  // Each reconnects after a failure or close.
  const connections = Array.from({ length: job.connections }, () => {
    const timeouts = { headersTimeout: SILENCE_MS_MAX, bodyTimeout: SILENCE_MS_MAX };
    return new Client(`http://127.0.0.1:${job.port}`, { pipelining: 1, ...timeouts });
  });
  let calls = Math.floor(Math.random() * headers.length);
  const call: CallStart = (index, dueAt, ended) => {
    const own = headers[(calls += 1) % headers.length] ?? [];
    const done = (outcome: CallOutcome): void => {
      note(outcome, dueAt);
      // The client may report a failure synchronously. setImmediate keeps the stack flat.
      if (outcome.failure === null) ended();
      else setImmediate(ended);
    };
    connections[index]?.dispatch({ path: CHAT_PATH, method: 'POST', headers: own, body }, readCall(job.expected, done));
  };
  const isOver = (): boolean => failed >= FAILURES_MAX || performance.now() >= endAt;
  try {
    if (job.perSecond !== null) await runPaced(job.connections, job.perSecond, startedAt, endAt, call);
    else await Promise.all(connections.map((_connection, index) => runConnection(index, job, isOver, call)));
  } finally {
    await Promise.all(connections.map((connection) => connection.destroy()));
  }
  const spreadOf = (ms: readonly number[]) => ({ p50: percentile(ms, 50), p99: percentile(ms, 99) });
  return {
    calls: completeMs.length,
    failures,
    elapsedMs: Math.max(0, lastEndedAt - startedAt),
    firstByteMs: spreadOf(firstByteMs),
    completeMs: spreadOf(completeMs),
  };
}

/** Makes one call after the other on one connection. */
async function runConnection(index: number, job: LoadJob, isOver: () => boolean, call: CallStart): Promise<void> {
  const callsMax = 'calls' in job.until ? Math.ceil((job.until.calls - index) / job.connections) : Infinity;
  if ('calls' in job.until) await delay(RAMP_MS * index);
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
async function runPaced(
  connections: number,
  perSecond: number,
  startedAt: number,
  endAt: number,
  call: CallStart,
): Promise<void> {
  // A queue, so that all connections are used.
  const free = Array.from({ length: connections }, (_unused, index) => index);
  const waiting: number[] = [];
  let begun = 0;
  const start = (connection: number, dueAt: number): void =>
    call(connection, dueAt, () => {
      const next = waiting.shift();
      if (next === undefined) free.push(connection);
      else start(connection, next);
    });
  while (performance.now() < endAt || free.length < connections) {
    const now = performance.now();
    const due = Math.floor(((Math.min(now, endAt) - startedAt) * perSecond) / 1_000 + ROUNDING);
    for (; begun < due; begun += 1) {
      const connection = free.shift();
      if (connection === undefined) waiting.push(now);
      else start(connection, now);
    }
    if (waiting.length > WAITING_MAX) throw new Error(`${waiting.length} calls wait for a connection`);
    await delay(TICK_MS);
  }
}

/** Result of one call at its client. Times are milliseconds of `performance.now()`. */
interface CallOutcome {
  /** Null if the response was complete and as expected. */
  readonly failure: string | null;
  readonly firstByteAt: number;
  readonly endedAt: number;
}

/** Reads one response without keeping its body, unless it is encoded. */
function readCall(
  { bytesMin, endsWith }: LoadJob['expected'],
  done: (outcome: CallOutcome) => void,
): Dispatcher.DispatchHandler {
  let [firstByteAt, status, bytes, isEncoded] = [0, 0, 0, false];
  let tail: Buffer = Buffer.alloc(0);
  const judge = (): string | null => {
    const body = isEncoded ? gunzipSync(tail, { maxOutputLength: DECODED_BYTES_MAX }) : tail;
    if (status !== 200) return `status ${status}`;
    if ((isEncoded ? body.length : bytes) < bytesMin) return 'the body is too short';
    const end = body.subarray(-TAIL_BYTES).toString('latin1').trimEnd();
    return end.endsWith(endsWith) ? null : 'the body has an unexpected end';
  };
  const end = (failure: string | null): void => done({ failure, firstByteAt, endedAt: performance.now() });
  return {
    // undici recognizes this form of handlers by this method.
    onRequestStart: () => undefined,
    onResponseStart(_controller, code, headers) {
      firstByteAt = performance.now();
      status = code;
      isEncoded = headers['content-encoding'] === 'gzip';
    },
    onResponseData(_controller, chunk) {
      bytes += chunk.length;
      const isWhole = !isEncoded && chunk.length >= TAIL_BYTES;
      tail = isWhole ? chunk : Buffer.concat([tail, chunk]);
      if (!isEncoded) tail = tail.subarray(-TAIL_BYTES);
    },
    onResponseEnd() {
      let failure: string | null;
      try {
        failure = judge();
      } catch (error) {
        failure = (error as { readonly code: string }).code;
      }
      end(failure);
    },
    onResponseError: (_controller, error: Error & { readonly code?: string }) => end(error.code ?? error.message),
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
