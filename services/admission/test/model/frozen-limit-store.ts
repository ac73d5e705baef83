import { loadScripts } from '../../src/limit-store/redis-scripts.js';
import { buildDueCall } from '../../src/sweep/due-script.js';
import {
  SCRIPT_NAMES,
  type ScriptCall,
  type ScriptName,
  type ScriptReply,
} from '../../src/limit-store/script-rules.js';
import { findBucketKeys, formatReferenceKey } from '../../src/limit-store/key-rules.js';
import { systemClock } from '@gateway/service-kit';
import { AdmissionFault, type LimitStore, type StoreClock } from '../../src/ports.js';

/** The expression that reads the server's clock. Only this is replaced in the scripts. */
const SERVER_TIME = "redis.call('TIME')";
const NO_TIME = '{ 0, 0 }';

export type Command = readonly [name: string, ...args: (string | number)[]];
export type Result = readonly [Error | null, unknown];

const SHARING = { othersMs: 0, ownMs: 0 };
const LISTENING = { listens: true, silenceMs: 0, leaseMs: 0 };

/** Transport of commands to Redis: one server or a cluster. */
export interface Wire {
  open(): Promise<void>;
  close(): void;
  /** Loads the script on every server and returns its SHA-1. */
  loadScript(text: string): Promise<string>;
  exec(commands: readonly Command[]): Promise<readonly Result[]>;
  /** Lists the keys with a prefix. */
  keysOf(prefix: string): Promise<string[]>;
}

interface Waiting {
  readonly command: Command;
  readonly resolve: (result: Result) => void;
}

/**
 * State that all sequences of a run share. Commands of one event-loop tick are sent together. The
 * scripts use 0 as the server's time. The clock offset of each call is then the whole time, so a
 * sequence can stay at the last millisecond of a month for as long as it needs.
 */
export class FrozenRedis {
  readonly #shas = new Map<ScriptName, string>();
  #waiting: Waiting[] = [];

  constructor(private readonly wire: Wire) {}

  async open(): Promise<void> {
    await this.wire.open();
    const scripts = loadScripts();
    for (const name of SCRIPT_NAMES) {
      const parts = scripts[name].text.split(SERVER_TIME);
      if (parts.length !== 2) throw new Error(`the script ${name} reads the time ${parts.length - 1} times`);
      this.#shas.set(name, await this.wire.loadScript(parts.join(NO_TIME)));
    }
  }

  close(): void {
    this.wire.close();
  }

  async run(calls: readonly ScriptCall[], runId: string, now: number): Promise<(ScriptReply | AdmissionFault)[]> {
    const results = await Promise.all(
      calls.map(({ script, keys, args }) =>
        this.#send(['evalsha', this.#shas.get(script) ?? '', keys.length, ...keys, runId, now, ...args]),
      ),
    );
    return results.map(([error, reply]) =>
      error
        ? new AdmissionFault('admission_error', `redis: ${error.message}`, { cause: error })
        : (reply as ScriptReply),
    );
  }

  /** @throws Error from Redis */
  async send(...command: Command): Promise<unknown> {
    const [error, reply] = await this.#send(command);
    if (error) throw error;
    return reply;
  }

  /** Deletes all keys with one hash tag, like a server that restarts empty. */
  async wipe(bucket: number, more: readonly string[]): Promise<void> {
    const keys = await this.wire.keysOf(`{${bucket}}`);
    await Promise.all([...keys, ...more].map((key) => this.send('del', key)));
  }

  #send(command: Command): Promise<Result> {
    return new Promise((resolve) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.#flush());
      this.#waiting.push({ command, resolve });
    });
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const results = await this.wire.exec(waiting.map(({ command }) => command));
    for (const [index, { resolve }] of waiting.entries()) resolve(results[index] ?? [new Error('no reply'), null]);
  }
}

/** Converts a hash: one server returns a list of names and values, a cluster returns an object. */
function fieldsOf(reply: unknown): Record<string, string> {
  if (!Array.isArray(reply)) return reply as Record<string, string>;
  const fields: Record<string, string> = {};
  for (let at = 0; at < reply.length; at += 2) fields[String(reply[at])] = String(reply[at + 1]);
  return fields;
}

/** The time of one sequence in ms, which is shared by all replicas. It changes only explicitly. */
export class FrozenClock implements StoreClock {
  readonly timers = systemClock;
  #observed: number | null = null;
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  /**
   * The process's estimate of Redis time: the time of the last reply, until the time is advanced.
   */
  now(): number {
    return this.#observed ?? this.#now;
  }

  wall(): number {
    return this.#now;
  }

  monotonic(): number {
    return performance.now();
  }

  observe(now: number): void {
    this.#observed = now;
  }

  set(now: number): void {
    this.#now = now;
    this.#observed = null;
  }
}

/** One bucket of the shared Redis with a frozen clock. The other 255 are always open and empty. */
export class FrozenLimitStore implements LimitStore {
  /** Number of script runs. A step without any run has changed nothing. */
  scriptsRun = 0;
  #runs = 0;
  #epochs = 0;
  readonly #routes = new Set<string>();

  constructor(
    private readonly redis: FrozenRedis,
    private readonly clock: FrozenClock,
    private readonly bucket: number,
  ) {}

  usable(): boolean {
    return true;
  }

  async run(calls: readonly ScriptCall[]): Promise<readonly (ScriptReply | AdmissionFault)[]> {
    this.scriptsRun += calls.length;
    const own = findBucketKeys(this.bucket).epoch;
    const isOwn = ({ script, keys }: ScriptCall): boolean => script === 'lease' || keys.includes(own);
    const now = this.clock.wall();
    const replies = await this.redis.run(
      calls.filter(isOwn).map((call) => this.#ownOf(call)),
      this.#runId(),
      now,
    );
    for (const reply of replies) if (!(reply instanceof AdmissionFault)) this.clock.observe(Number(reply[1]));
    let next = 0;
    return calls.map((call) => (isOwn(call) ? (replies[next++] ?? []) : ['open', String(now), '-', '0', '0', '0']));
  }

  #ownOf(call: ScriptCall): ScriptCall {
    if (call.script === 'due') return this.#lookOf(call);
    // Sequences share a server, and no time passes in them, so each replica has its own lease.
    if (call.script === 'lease') return { ...call, keys: [`{${this.bucket}}restorer:${call.args[0]}`] };
    return call;
  }

  async routes(digests: readonly string[]): Promise<readonly (string | null)[]> {
    const routes = await Promise.all(digests.map((digest) => this.redis.send('get', formatReferenceKey(digest))));
    return routes.map((keyReference) => (typeof keyReference === 'string' ? keyReference : null));
  }

  async setRoute(digest: string, keyReference: string): Promise<void> {
    this.#routes.add(formatReferenceKey(digest));
    await this.redis.send('set', formatReferenceKey(digest), keyReference);
  }

  /** Stores nothing, because entries could not expire while the time is frozen. */
  async setMisses(): Promise<void> {}

  async dropRoute(digest: string): Promise<void> {
    await this.redis.send('del', formatReferenceKey(digest));
  }

  newEpoch(): string {
    this.#epochs += 1;
    return `${this.#runId()}.${this.#epochs}`;
  }

  /** Lists no accounts: nothing is confirmed in a sequence, so each loss is followed by loads. */
  async accounts(): Promise<{ cursor: string; accounts: string[] }> {
    return { cursor: '0', accounts: [] };
  }

  async dump(accountKey: string, holdsKey: string): Promise<[Record<string, string>, Record<string, string>]> {
    const [account, holds] = await Promise.all([
      this.redis.send('hgetall', accountKey),
      this.redis.send('hgetall', holdsKey),
    ]);
    return [fieldsOf(account), fieldsOf(holds)];
  }

  /** There is no second server. */
  observe(): void {}
  observeRun(): void {}

  /** Simulates a server that restarts empty. */
  async flush(): Promise<void> {
    this.#runs += 1;
    await this.redis.wipe(this.bucket, [...this.#routes]);
    this.#routes.clear();
  }

  /** Simulates another server with the same data. */
  failOver(): void {
    this.#runs += 1;
  }

  /** Moves the poll into the slot of this bucket. */
  #lookOf({ args }: ScriptCall): ScriptCall {
    return { ...buildDueCall([this.bucket], '', SHARING, LISTENING), args };
  }

  #runId(): string {
    return this.#runs.toString(16).padStart(40, '0');
  }
}
