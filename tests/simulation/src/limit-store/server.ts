import { parseEpochRun, parseEpochTime } from '@gateway/admission/limit-store/epoch-rules.js';
import { parseAccount } from '@gateway/admission/limit-store/key-rules.js';
import type { ScriptCall, ScriptReply } from '@gateway/admission/limit-store/script-rules.js';
import type { Failover, LimitStoreLoss } from '../scenario/scenario.js';
import { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';
import type { LuaRedis } from './lua-redis.js';

const RUN_ID_CHARS = 40;

/** A script call and its reply, for the checks. */
export interface ScriptRun {
  readonly call: ScriptCall;
  readonly reply: ScriptReply;
}

/** The server behind the limit store: scripts, routes, and ways to lose data. */
export class LimitStoreServer {
  readonly host = new Host('redis');
  runId: string;
  isUp = true;
  /** Time of the last loss, and the number of losses. */
  lostAt = -Infinity;
  losses = 0;
  #run = 1;
  #routes = new Map<string, string>();
  #keptRoutes = new Map<string, string>();
  readonly #connections = new Map<() => void, Host>();
  /** Run ID of the superseded server that still answers some replicas, or null. */
  #supersededRun: string | null = null;
  /** The host that always connects to the superseded server, or null. */
  #misled: Host | null = null;
  #empty = { at: -1, swept: [] as readonly string[], listed: [] as readonly string[] };

  /** @param buckets buckets that have an account in this run. All others are open and empty. */
  constructor(
    private readonly time: VirtualTime,
    private readonly redis: LuaRedis,
    private readonly buckets: ReadonlySet<string>,
    private readonly ran: (run: ScriptRun) => void,
  ) {
    redis.beginAnew();
    this.runId = runIdOf(this.#run);
  }

  /** Whether a new connection succeeds. */
  get isReachable(): boolean {
    return this.isUp && this.host.cutUntil <= this.time.now;
  }

  /** Whether a request over a connection to this run arrives. */
  answers(runId: string): boolean {
    if (this.host.cutUntil > this.time.now) return false;
    return runId === this.#supersededRun || (this.isUp && runId === this.runId);
  }

  get hasSuperseded(): boolean {
    return this.#supersededRun !== null;
  }

  /**
   * Whether the superseded server has the later epochs and is used until it ends, because the other
   * one lost all its data.
   */
  get isOutranked(): boolean {
    const [own, superseded] = [this.#newest(this.runId), this.#newest(this.#supersededRun ?? '')];
    return own > 0 && superseded > own;
  }

  /** Returns the run ID that a new connection of this host reads. */
  runIdFor(host: Host): string {
    return this.#supersededRun !== null && host === this.#misled ? this.#supersededRun : this.runId;
  }

  /** Returns the epochs of all buckets, or empty strings. A connection reads them first. */
  epochs(runId: string): string[] {
    const read = (): string[] => [...this.buckets].map((key) => this.redis.text(key).split(' ')[0] ?? '');
    return runId === this.#supersededRun ? this.redis.inSuperseded(read) : read();
  }

  /** Adds a connection. `lost` is called when the connection is lost. */
  connect(host: Host, lost: () => void): () => void {
    this.#connections.set(lost, host);
    return () => void this.#connections.delete(lost);
  }

  /** Runs a script when it arrives. @throws Error if the script fails */
  run(all: ScriptCall, runId: string): ScriptReply {
    const call = this.#ofOwnBuckets(all);
    const epochKey = call.keys[0] ?? '';
    if (call.script !== 'lease' && !this.buckets.has(epochKey)) return this.#emptyBucket(call);
    if (runId === this.#supersededRun) {
      return this.redis.inSuperseded(() =>
        this.redis.run(call.script, this.time.now, call.keys, [runId, 0, ...call.args]),
      );
    }
    const reply = this.redis.run(call.script, this.time.now, call.keys, [runId, 0, ...call.args]);
    this.ran({ call, reply });
    return reply;
  }

  route(digest: string): string | null {
    return this.#routes.get(digest) ?? null;
  }

  setRoute(digest: string, route: string | null): void {
    if (route === null) this.#routes.delete(digest);
    else this.#routes.set(digest, route);
  }

  /** Returns all accounts, loaded or not. */
  accounts(): string[] {
    return this.redis.accountKeys().map(parseAccount);
  }

  hash(key: string): Record<string, string> {
    return this.redis.hash(key);
  }

  /** Whether the bucket of this epoch admits calls. */
  isOpen(epochKey: string): boolean {
    const [epoch = '', state] = this.redis.text(epochKey).split(' ');
    return this.isUp && state === 'open' && epoch.startsWith(this.runId);
  }

  /** Whether the account was loaded under the bucket's epoch, whose suffix marks it. */
  isLoaded(epochKey: string, under: string | undefined): boolean {
    const [epoch = ''] = this.redis.text(epochKey).split(' ');
    return under !== undefined && under !== '' && epoch.endsWith(under);
  }

  /** Writes the server's file. An old state is restored from it. */
  keepCopy(): void {
    this.redis.keepCopy();
    this.#keptRoutes = new Map(this.#routes);
  }

  lose(how: LimitStoreLoss, downMs: number): void {
    this.losses += 1;
    this.lostAt = this.time.now;
    if (how === 'restart_old') {
      this.redis.takeCopyBack();
      this.#routes = new Map(this.#keptRoutes);
    } else {
      this.redis.flush();
      this.#routes.clear();
    }
    if (how === 'flush') return;
    this.#run += 1;
    this.runId = runIdOf(this.#run);
    this.isUp = false;
    this.endConnections();
    this.time.in(null, downMs, () => void (this.isUp = true));
  }

  /** Ends all connections, so that every replica has to connect again. */
  endConnections(): void {
    this.#supersededRun = null;
    this.#end([...this.#connections.keys()]);
  }

  /**
   * Makes a copy the server. The replica that has been connected for longest does not notice and
   * uses the superseded server for `ms`. If `misleads` is set, it also finds the superseded server
   * when it connects again.
   */
  failOver({ how, ms, misleads = false, forgetsAfterMs }: Failover): void {
    this.losses += 1;
    this.lostAt = this.time.now;
    this.redis.splitOff();
    if (how === 'late') this.redis.takeCopyBack();
    const [kept, ...others] = this.#connections.keys();
    this.#misled = (misleads && kept !== undefined && this.#connections.get(kept)) || null;
    const superseded = this.runId;
    this.#run += 1;
    this.runId = runIdOf(this.#run);
    this.#supersededRun = superseded;
    this.#end(others);
    if (forgetsAfterMs !== undefined)
      this.time.in(null, forgetsAfterMs, () => this.redis.inSuperseded(() => this.redis.flush()));
    this.time.in(null, ms, () => {
      if (this.#supersededRun !== superseded) return;
      this.#supersededRun = null;
      this.#end(
        [...this.#connections].filter(([lost, host]) => lost === kept || host === this.#misled).map(([lost]) => lost),
      );
    });
  }

  /** Returns the newest time of the epochs that this run has set, or 0. */
  #newest(runId: string): number {
    return Math.max(
      0,
      ...this.epochs(runId).map((epoch) => (parseEpochRun(epoch) === runId ? parseEpochTime(epoch) : 0)),
    );
  }

  #end(connections: readonly (() => void)[]): void {
    for (const lost of connections) this.#connections.delete(lost);
    for (const lost of connections) lost();
  }

  /** Limits calls for all buckets to the buckets of this run. The other buckets are empty. */
  #ofOwnBuckets(call: ScriptCall): ScriptCall {
    if (call.script !== 'due' && call.script !== 'replace') return call;
    const poll = call.script === 'due' ? call.keys.slice(-1) : [];
    const ofBuckets = call.keys.slice(0, call.keys.length - poll.length);
    const own = ofBuckets.filter((key) => this.buckets.has(`${key.slice(0, key.indexOf('}') + 1)}epoch`));
    return { ...call, keys: [...own, ...poll] };
  }

  /** Returns one shared reply per time for all empty buckets, because they are many. */
  #emptyBucket({ script }: ScriptCall): ScriptReply {
    if (this.#empty.at !== this.time.now) {
      const now = String(this.time.now);
      this.#empty = { at: this.time.now, swept: ['open', now, '', '1', '0', '0'], listed: ['open', now, '', '0'] };
    }
    return script === 'sweep' ? this.#empty.swept : this.#empty.listed;
  }
}

function runIdOf(run: number): string {
  return run.toString(16).padStart(RUN_ID_CHARS, '0');
}
