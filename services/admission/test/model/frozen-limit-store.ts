import { loadScripts } from '../../src/limit-store/redis-scripts.js';
import { dueCall } from '../../src/sweep/due-script.js';
import {
  SCRIPT_NAMES,
  type ScriptCall,
  type ScriptName,
  type ScriptReply,
} from '../../src/limit-store/script-rules.js';
import { bucketKeys, routeKey } from '../../src/limit-store/key-rules.js';
import { AdmissionFault, type LimitStore, type StoreClock } from '../../src/ports.js';

/** What the scripts read the server's clock by. It is the one thing that is replaced in them. */
const SERVER_TIME = "redis.call('TIME')";
const NO_TIME = '{ 0, 0 }';

export type Command = readonly [name: string, ...args: (string | number)[]];
export type Result = readonly [Error | null, unknown];

const SHARING = { othersMs: 0, ownMs: 0 };
const LISTENING = { listens: true, silenceMs: 0, leaseMs: 0 };

/** How commands get to Redis: one server, or a cluster. */
export interface Wire {
  open(): Promise<void>;
  close(): void;
  /** The SHA-1 by which every server knows the script. */
  loadScript(text: string): Promise<string>;
  exec(commands: readonly Command[]): Promise<readonly Result[]>;
  /** Keys that begin with a text. */
  keysOf(prefix: string): Promise<string[]>;
}

interface Waiting {
  readonly command: Command;
  readonly resolve: (result: Result) => void;
}

/**
 * What all sequences of a run share: commands of one event-loop turn travel together. The scripts
 * are those of the room but for the server's time, which counts as 0: so the clock offset of each
 * call is the whole time, and a sequence can stand on the last millisecond of a month for as long
 * as it likes.
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

  /** @throws Error that Redis answered */
  async send(...command: Command): Promise<unknown> {
    const [error, reply] = await this.#send(command);
    if (error) throw error;
    return reply;
  }

  /** Deletes what lies under one hash tag, as a server that comes back empty would have lost it. */
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

/** A hash as one server tells it, names and values in turn, or as an object. */
function fieldsOf(reply: unknown): Record<string, string> {
  if (!Array.isArray(reply)) return reply as Record<string, string>;
  const fields: Record<string, string> = {};
  for (let at = 0; at < reply.length; at += 2) fields[String(reply[at])] = String(reply[at + 1]);
  return fields;
}

/**
 * The time of one sequence in ms: it stands still until it is moved. All clocks of the replicas are
 * this one.
 */
export class FrozenClock implements StoreClock {
  #observed: number | null = null;
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  /** What a process takes for Redis time: the last reply's, until time goes on. */
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

/** One bucket of the shared Redis under a frozen clock; the other 255 are always open and empty. */
export class FrozenLimitStore implements LimitStore {
  /** Scripts that were run so far: a step without any has changed nothing. */
  scriptsRun = 0;
  #runs = 0;
  #tokens = 0;
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
    const own = bucketKeys(this.bucket).token;
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
    // Sequences share a server, and no time passes in them: each replica has a lease of its own.
    if (call.script === 'lease') return { ...call, keys: [`{${this.bucket}}restorer:${call.args[0]}`] };
    return call;
  }

  async routes(digests: readonly string[]): Promise<readonly (string | null)[]> {
    const routes = await Promise.all(digests.map((digest) => this.redis.send('get', routeKey(digest))));
    return routes.map((keyReference) => (typeof keyReference === 'string' ? keyReference : null));
  }

  async setRoute(digest: string, keyReference: string): Promise<void> {
    this.#routes.add(routeKey(digest));
    await this.redis.send('set', routeKey(digest), keyReference);
  }

  /** Its time stands still: nothing is remembered for a while. */
  async setMisses(): Promise<void> {}

  async dropRoute(digest: string): Promise<void> {
    await this.redis.send('del', routeKey(digest));
  }

  newEpoch(): string {
    this.#tokens += 1;
    return `${this.#runId()}.${this.#tokens}`;
  }

  /** Nothing is confirmed in a sequence: each loss is followed by loads. */
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

  /** There is no other server beside this one. */
  hear(): void {}
  hearRun(): void {}

  /** The server comes back empty. */
  async flush(): Promise<void> {
    this.#runs += 1;
    await this.redis.wipe(this.bucket, [...this.#routes]);
    this.#routes.clear();
  }

  /** Another server with all that this one had. */
  failOver(): void {
    this.#runs += 1;
  }

  /** In the slot of the own bucket. */
  #lookOf({ args }: ScriptCall): ScriptCall {
    return { ...dueCall([this.bucket], '', SHARING, LISTENING), args };
  }

  #runId(): string {
    return this.#runs.toString(16).padStart(40, '0');
  }
}
