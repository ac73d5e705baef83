import { parseEpochRun, parseEpochTime } from '@gateway/admission/limit-store/epoch-rules.js';
import { isHoldId, readHold, type StoredHold } from '@gateway/admission/limit-store/hold-rules.js';
import { type BucketKeys, findBucketKeys, parseAccount } from '@gateway/admission/limit-store/key-rules.js';
import type { ScriptCall, ScriptReply } from '@gateway/admission/limit-store/script-rules.js';
import { bucketOfAccount } from '@gateway/contracts/ids';
import type { FaultOf } from '../scenario/scenario.js';
import { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';
import type { LuaRedis } from './lua-redis.js';

const RUN_ID_CHARS = 40;

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
  /** Epoch keys of the buckets that have an account in this run. All others are open and empty. */
  readonly #buckets: ReadonlySet<string>;

  /** @param ran called after each script in the server that is in use */
  constructor(
    private readonly time: VirtualTime,
    private readonly redis: LuaRedis,
    accounts: readonly string[],
    private readonly ran: (call: ScriptCall, reply: ScriptReply) => void,
  ) {
    redis.beginAnew();
    this.#buckets = new Set(accounts.map((account) => keysOf(account).epoch));
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
    return this.#on(runId, () => [...this.#buckets].map((key) => this.redis.text(key).split(' ')[0] ?? ''));
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
    if (call.script !== 'lease' && !this.#buckets.has(epochKey)) return this.#emptyBucket(call);
    const args = [runId, 0, ...call.args];
    const reply = this.#on(runId, () => this.redis.run(call.script, this.time.now, call.keys, args));
    if (runId !== this.#supersededRun) this.ran(call, reply);
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

  /** Returns the fields of an account. */
  account(account: string): Record<string, string> {
    return this.redis.hash(keysOf(account).accounts + account);
  }

  /** Returns an account's holds by call, and the templates of holds (`s:`). */
  holdTexts(account: string): Record<string, string> {
    return this.redis.hash(keysOf(account).holds + account);
  }

  /** Returns an account's holds, without tombstones. */
  holds(account: string): (StoredHold & { readonly id: string })[] {
    return readHolds(this.holdTexts(account));
  }

  /** Whether the account's bucket admits calls. */
  isOpen(account: string): boolean {
    const [epoch = '', state] = this.redis.text(keysOf(account).epoch).split(' ');
    return this.isUp && state === 'open' && epoch.startsWith(this.runId);
  }

  /** Whether the account was loaded under its bucket's epoch, whose suffix marks it. */
  isLoaded(account: string): boolean {
    const { t: suffix = '' } = this.account(account);
    const [epoch = ''] = this.redis.text(keysOf(account).epoch).split(' ');
    return suffix !== '' && epoch.endsWith(suffix);
  }

  /** Writes the server's file. An old state is restored from it. */
  keepCopy(): void {
    this.redis.copyData('main', 'file');
    this.#keptRoutes = new Map(this.#routes);
  }

  lose({ how, ms }: FaultOf<'limit-store'>): void {
    this.losses += 1;
    this.lostAt = this.time.now;
    if (how === 'restart_old') {
      this.redis.copyData('file', 'main');
      this.#routes = new Map(this.#keptRoutes);
    } else {
      this.redis.copyData('none', 'main');
      this.#routes.clear();
    }
    if (how === 'flush') return;
    this.#run += 1;
    this.runId = runIdOf(this.#run);
    this.isUp = false;
    this.endConnections();
    this.time.in(null, ms, () => void (this.isUp = true));
  }

  /** Ends all connections, so that every replica has to connect again. */
  endConnections(): void {
    this.#supersededRun = null;
    this.#end([...this.#connections.keys()]);
  }

  /**
   * Promotes a copy of the server. The replica that has been connected for longest does not notice
   * and uses the superseded server for `ms`. If `misleads` is set, it also finds the superseded
   * server when it connects again.
   */
  failOver({ how, ms, misleads = false, forgetsAfterMs }: FaultOf<'failover'>): void {
    this.losses += 1;
    this.lostAt = this.time.now;
    this.redis.copyData('main', 'superseded');
    if (how === 'late') this.redis.copyData('file', 'main');
    const alive = [...this.#connections].filter(([, host]) => host.isAlive);
    const [kept, ...others] = alive.map(([lost]) => lost);
    this.#misled = (misleads && kept !== undefined && this.#connections.get(kept)) || null;
    const superseded = this.runId;
    this.#run += 1;
    this.runId = runIdOf(this.#run);
    this.#supersededRun = superseded;
    this.#end(others);
    if (forgetsAfterMs !== undefined)
      this.time.in(null, forgetsAfterMs, () => this.redis.copyData('none', 'superseded'));
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

  /** Does `work` with the data of this run. */
  #on<T>(runId: string, work: () => T): T {
    return runId === this.#supersededRun ? this.redis.inSuperseded(work) : work();
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
    const own = ofBuckets.filter((key) => this.#buckets.has(`${key.slice(0, key.indexOf('}') + 1)}epoch`));
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

function keysOf(account: string): BucketKeys {
  return findBucketKeys(bucketOfAccount(account));
}

function runIdOf(run: number): string {
  return run.toString(16).padStart(RUN_ID_CHARS, '0');
}

/** Reads an account's holds, without tombstones, from {@link LimitStoreServer.holdTexts}. */
export function readHolds(texts: Record<string, string>): (StoredHold & { readonly id: string })[] {
  const holds = Object.entries(texts).filter(([id]) => isHoldId(id));
  return holds.map(([id, text]) => ({ id, ...readHold(text) })).filter(({ state }) => state !== 'gone');
}
