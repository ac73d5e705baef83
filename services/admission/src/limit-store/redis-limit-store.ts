import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Redis, ReplyError } from 'ioredis';
import type { RedisRun } from '@gateway/contracts/messages';
import { type Background, ThrottledLog, every, nextDelayMs } from '@gateway/service-kit';
import { type ReplicaRun, makeEpoch } from './epoch-rules.js';
import { type OtherReplicas, RunAgreement } from './run-agreement-rules.js';
import { type ScriptCall, type ScriptName, type ScriptReply, readReplyTime } from './script-rules.js';
import { ACCOUNT_KEYS, NO_KEY_REFERENCE, parseAccount, formatReferenceKey } from './key-rules.js';
import { EPOCH_KEYS, buildReplaceCall } from './epoch-script.js';
import { type AccountsStep, AdmissionFault, type LimitStore, type Log } from '../ports.js';
import { findEvictionProblem, hasServerChanged, findRedisProblem } from './redis-settings.js';
import { type SocketAddress, type RedisAddress, parseRedisAddress } from './redis-address.js';
import type { RedisClock } from './redis-clock.js';
import { ScriptBatcher, type ScriptResult, loadScripts } from './redis-scripts.js';

const CONNECT_TIMEOUT_MS = 2_000;
/** A connection without responses is closed after this time. Callers got their faults before. */
export const SILENCE_MAX_MS = 5_000;
/**
 * Calls fail with 500 until the server is reachable again, so reconnection attempts are frequent.
 */
const RECONNECT_FIRST_MS = 50;
const RECONNECT_MAX_MS = 200;
/** Pause before a server that is loading its file is queried again, whatever time it estimates. */
const LOADING_RETRY_MS = 100;
/** Interval of the check with the Sentinels that the server is still the primary. */
const CONFIRM_MS = 1_000;
const KEEP_ALIVE_MS = 10_000;
/** If the server has not closed a connection within this time, the connection is destroyed. */
const DISCONNECT_MS = 250;
/** Key references that are not used expire after this time. The owner is then queried again. */
const ROUTE_SECONDS = 90 * 86_400;
/** Pause before a digest that the owner does not know is queried again. */
const MISS_SECONDS = 10;
const EPOCH_RANDOM_BYTES = 8;
/** Scripts that run on a separate connection, so that decisions do not wait behind a long sweep. */
const SWEEP_SCRIPTS: ReadonlySet<ScriptName> = new Set(['due', 'sweep', 'summary', 'confirm']);
/** Redis keys that one step over all accounts scans: some hundred microseconds of Redis time. */
const SCAN_KEYS = 1_000;

const SUPERSEDED = 'another Redis server has replaced this one';

/** Memory of Redis: used bytes, and the limit (0: no limit). */
export interface RedisMemory {
  readonly usedBytes: number;
  readonly maxBytes: number;
}

/**
 * The connection to Redis, and a second one for sweeps. If the second one leads to a different run
 * of the server, sweeps use the first.
 *
 * A connection is used only after a handshake that reads the server's run ID and loads all scripts,
 * so that an epoch of another run is never taken for an epoch of this one (docs/protocol.md#r12).
 * Commands are not queued while the server is away, and the client does not resend them by itself.
 */
export class RedisLimitStore implements LimitStore {
  readonly #address: RedisAddress;
  readonly #redis: Redis;
  #confirming: Background | undefined;
  readonly #scripts: ReturnType<typeof loadScripts>;
  readonly #batcher: ScriptBatcher;
  readonly #sweepRedis: Redis;
  readonly #sweepBatcher: ScriptBatcher;
  /** Run of the server behind the sweep connection; null while it is not connected. */
  #sweepRunId: string | null = null;
  #runId: string | null = null;
  /** Counts connections and disconnections, to discard a handshake that outlives its connection. */
  #generation = 0;
  readonly #runs: RunAgreement;
  #onUse: () => void = () => undefined;
  #problem: string | null = null;
  readonly #refused: ThrottledLog;

  /** @param scripts replacement scripts, for tests that stop the server's clock */
  constructor(
    url: string,
    private readonly clock: RedisClock,
    private readonly log: Log,
    scripts = loadScripts(),
  ) {
    this.#scripts = scripts;
    this.#runs = new RunAgreement(() => clock.monotonic());
    this.#refused = new ThrottledLog(log, 'redis handshake failed');
    this.#address = parseRedisAddress(url);
    this.#redis = new Redis({
      ...this.#address.options,
      lazyConnect: true,
      enableOfflineQueue: false,
      enableAutoPipelining: false,
      enableReadyCheck: true,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      connectTimeout: clock.timers.timeoutMs(CONNECT_TIMEOUT_MS),
      maxLoadingRetryTime: LOADING_RETRY_MS,
      socketTimeout: clock.timers.timeoutMs(SILENCE_MAX_MS),
      keepAlive: KEEP_ALIVE_MS,
      disconnectTimeout: DISCONNECT_MS,
      noDelay: true,
      connectionName: 'gateway-admission',
      retryStrategy: (attempt) =>
        nextDelayMs(attempt - 1, { baseMs: RECONNECT_FIRST_MS, maxMs: RECONNECT_MAX_MS, random: Math.random }),
    });
    this.#batcher = new ScriptBatcher(this.#redis, scripts);
    this.#sweepRedis = this.#redis.duplicate({ connectionName: 'gateway-admission-sweep' });
    this.#sweepBatcher = new ScriptBatcher(this.#sweepRedis, scripts);
    this.#sweepRedis.on('ready', () => void this.#findSweepServer());
    this.#sweepRedis.on('close', () => (this.#sweepRunId = null));
    this.#sweepRedis.on('error', (err) => this.log.debug({ err }, 'redis connection of sweeps'));
    this.#redis.on('ready', () => void this.#shakeHands());
    this.#redis.on('close', () => this.#lose());
    this.#redis.on('error', (err) => this.log.warn({ err }, 'redis connection'));
  }

  /** Begins to connect. Retries until {@link close}. */
  open(): void {
    this.#redis.connect().catch(() => undefined);
    this.#sweepRedis.connect().catch(() => undefined);
    if (this.#address.moves) this.#confirming = every(CONFIRM_MS, () => this.#confirm(), { clock: this.clock.timers });
  }

  /** Calls `listener` whenever a server comes into use, because its data may be lost. */
  onUse(listener: () => void): void {
    this.#onUse = listener;
  }

  /** Sets the port through which replicas exchange the run that they use. */
  setOthers(others: OtherReplicas): void {
    this.#runs.setOthers(others);
  }

  /** Called when the bus is available: reports the used run, and gets later runs in reply. */
  publishRun(): void {
    this.#runs.publish();
  }

  close(): void {
    this.#generation += 1;
    this.#runs.lost();
    this.#runId = null;
    void this.#confirming?.stop();
    this.#address.close();
    this.#redis.disconnect();
    this.#sweepRedis.disconnect();
  }

  usable(): boolean {
    return this.#runId !== null;
  }

  /** Returns why the responding server cannot be used and what to do about it, or null. */
  problem(): string | null {
    return this.#problem;
  }

  async run(calls: readonly ScriptCall[]): Promise<readonly (ScriptReply | AdmissionFault)[]> {
    if (calls.length === 0) return [];
    const runId = this.#handshaken();
    const offsetMs = this.clock.offsetMs();
    const isSweep = calls.every(({ script }) => SWEEP_SCRIPTS.has(script)) && this.#sweepRunId === runId;
    const results = await (isSweep ? this.#sweepBatcher : this.#batcher).run(calls, runId, offsetMs);
    return calls.map(({ script }, index) => this.#readResult(script, runId, offsetMs, results[index]));
  }

  async routes(digests: readonly string[]): Promise<readonly (string | null)[]> {
    this.#handshaken();
    const pipeline = this.#redis.pipeline();
    for (const digest of digests) pipeline.get(formatReferenceKey(digest));
    const results = (await pipeline.exec()) ?? [];
    return digests.map((_digest, index) => {
      const [error, keyReference] = results[index] ?? [new Error('no reply'), null];
      if (error) throw this.#fault(error);
      return typeof keyReference === 'string' ? keyReference : null;
    });
  }

  async setRoute(digest: string, keyReference: string): Promise<void> {
    this.#handshaken();
    await this.#redis.set(formatReferenceKey(digest), keyReference, 'EX', ROUTE_SECONDS).catch(this.#throwFault);
  }

  async setMisses(digests: readonly string[]): Promise<void> {
    this.#handshaken();
    // NX: a key reference that was written in the meantime is newer than the owner's answer.
    const written = digests.map((digest) =>
      this.#redis.set(formatReferenceKey(digest), NO_KEY_REFERENCE, 'EX', MISS_SECONDS, 'NX'),
    );
    await Promise.all(written).catch(this.#throwFault);
  }

  async dropRoute(digest: string): Promise<void> {
    this.#handshaken();
    await this.#redis.del(formatReferenceKey(digest)).catch(this.#throwFault);
  }

  /**
   * Later than all epochs that this process knows, even if the clocks of other replicas are ahead.
   */
  newEpoch(): string {
    return this.#epochFor(this.#handshaken());
  }

  /** Closes the connection if the epochs show that another server has replaced this one. */
  observe(epochs: readonly string[], run?: RedisRun): void {
    if (this.#runs.observe(epochs, run)) this.#giveUp();
  }

  observeRun(run: ReplicaRun): void {
    if (this.#runs.observeRun(run)) this.#giveUp();
  }

  async accounts(cursor: string): Promise<AccountsStep> {
    const redis = this.#sweepRunId === this.#handshaken() ? this.#sweepRedis : this.#redis;
    const [next, keys] = await redis.scan(cursor, 'MATCH', ACCOUNT_KEYS, 'COUNT', SCAN_KEYS).catch(this.#throwFault);
    return { cursor: next, accounts: keys.map(parseAccount) };
  }

  async dump(accountKey: string, holdsKey: string): Promise<[Record<string, string>, Record<string, string>]> {
    this.#handshaken();
    return [
      await this.#redis.hgetall(accountKey).catch(this.#throwFault),
      await this.#redis.hgetall(holdsKey).catch(this.#throwFault),
    ];
  }

  async memory(): Promise<RedisMemory> {
    this.#handshaken();
    const facts = await this.#redis.info('memory').catch(this.#throwFault);
    // The eviction policy was changed after the handshake. The next handshake rejects the server.
    if (findEvictionProblem(facts) !== null) this.#reconnect();
    const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(facts)?.[1] ?? 0);
    return { usedBytes: read('used_memory'), maxBytes: read('maxmemory') };
  }

  async #shakeHands(): Promise<void> {
    this.#generation += 1;
    const generation = this.#generation;
    try {
      const facts = await this.#redis.info();
      if (generation !== this.#generation) return;
      this.#problem = findRedisProblem(facts) ?? (await this.#address.problem(this.#place()));
      if (generation !== this.#generation) return;
      if (this.#problem !== null) throw new Error(this.#problem);
      const runId = parseRunId(facts) ?? '';
      for (const { text } of Object.values(this.#scripts)) await this.#redis.script('LOAD', text);
      const epochs = await this.#readEpochs();
      if (generation !== this.#generation) return;
      if (!this.#runs.connected(runId, epochs)) {
        const mayBeUsed = await this.#runs.mayBeginAnew();
        // The connection may lead to another server by now.
        if (generation !== this.#generation) return;
        if (!mayBeUsed) throw new Error((this.#problem = SUPERSEDED));
        const epoch = await this.#replaceEpochs(runId);
        if (generation !== this.#generation) return;
        if (!this.#runs.connected(runId, [epoch])) throw new Error(SUPERSEDED);
      }
      this.clock.forget();
      this.#runs.used();
      this.#runId = runId;
      this.#leaveOtherServer();
      this.log.info({ runId }, 'redis is in use');
      this.#onUse();
    } catch (err) {
      if (generation !== this.#generation) return;
      this.#refused.warn({ err });
      this.#redis.disconnect(true);
    }
  }

  /** Reads the epochs of all buckets; empty for a bucket without one. */
  async #readEpochs(): Promise<string[]> {
    const pipeline = this.#redis.pipeline();
    for (const key of EPOCH_KEYS) pipeline.get(key);
    return ((await pipeline.exec()) ?? []).map(([error, text]) => {
      if (error) throw error;
      return typeof text === 'string' ? (text.split(' ')[0] ?? '') : '';
    });
  }

  /** Gives the buckets of a superseded run an epoch later than all known ones, and returns it. */
  async #replaceEpochs(runId: string): Promise<string> {
    this.log.warn({ runId }, 'no replica uses the Redis server that replaced this one; using this one again');
    const call = buildReplaceCall(this.#epochFor(runId), this.#runs.nextTime(0));
    const [reply = new Error('no reply')] = await this.#batcher.run([call], runId, this.clock.offsetMs());
    if (reply instanceof Error) throw reply;
    return reply[2] ?? '';
  }

  async #findSweepServer(): Promise<void> {
    const facts = await this.#sweepRedis.info('server').catch(() => '');
    const isOpen = this.#sweepRedis.status === 'ready';
    this.#sweepRunId = isOpen ? parseRunId(facts) : null;
    this.#leaveOtherServer();
  }

  /** Reconnects the sweep connection to the server in use, as soon as both runs are known. */
  #leaveOtherServer(): void {
    const isElsewhere = this.#runId !== null && this.#sweepRunId !== null && this.#sweepRunId !== this.#runId;
    if (isElsewhere && this.#sweepRedis.status === 'ready') this.#sweepRedis.disconnect(true);
  }

  /**
   * Closes the connection to a replaced primary, even if that server does not know about it yet.
   */
  async #confirm(): Promise<void> {
    const generation = this.#generation;
    if (!this.usable()) return;
    const problem = await this.#address.problem(this.#place());
    if (problem === null || generation !== this.#generation) return;
    this.#refused.warn({ err: new Error(problem) });
    this.#reconnect();
  }

  #place(): SocketAddress {
    const { remoteAddress, remotePort } = (this.#redis as unknown as { stream?: Socket }).stream ?? {};
    return { remoteAddress, remotePort };
  }

  #giveUp(): void {
    this.log.warn({ runId: this.#runId }, SUPERSEDED);
    this.#reconnect();
  }

  /** Closes the connection. The next connection repeats the handshake. */
  #reconnect(): void {
    this.#lose();
    this.#redis.disconnect(true);
    // A disconnect while the client resolves the address would stop it from ever connecting again.
    if (this.#sweepRedis.status === 'ready') this.#sweepRedis.disconnect(true);
  }

  #lose(): void {
    this.#generation += 1;
    if (this.#runId !== null) this.log.warn({}, 'redis connection lost');
    this.#runs.lost();
    this.#runId = null;
  }

  #epochFor(runId: string): string {
    const setAt = this.#runs.nextTime(this.clock.wall());
    return makeEpoch(runId, setAt, randomBytes(EPOCH_RANDOM_BYTES).toString('hex'));
  }

  #handshaken(): string {
    if (this.#runId === null) throw new AdmissionFault('admission_error', 'redis is not connected');
    return this.#runId;
  }

  /** @throws AdmissionFault when the connection was closed and the reply does not count */
  #readResult(
    script: ScriptName,
    runId: string,
    offsetMs: number,
    result: ScriptResult = new Error('no reply'),
  ): ScriptReply | AdmissionFault {
    if (result instanceof Error) return this.#fault(result);
    this.clock.observe(readReplyTime(result), offsetMs);
    if (this.#runs.answered(script, result)) this.#giveUp();
    if (this.#runId !== runId && !this.#runs.countsAfterwards(script))
      throw this.#fault(new Error('the reply arrived when this server was no longer in use'));
    return result;
  }

  /**
   * Converts an error for the callers. If the server has changed behind the connection, reconnects.
   */
  #fault(cause: Error): AdmissionFault {
    if (cause instanceof AdmissionFault) return cause;
    if (hasServerChanged(cause) && this.#runId !== null) this.#reconnect();
    // After an error reply the script has not run. Without a reply it may have run and made a hold.
    const mayHold = !(cause instanceof ReplyError);
    return new AdmissionFault('admission_error', `redis: ${cause.message}`, { cause, mayHold });
  }

  readonly #throwFault = (cause: Error): never => {
    throw this.#fault(cause);
  };
}

/** @param facts the reply of `INFO server` */
function parseRunId(facts: string): string | null {
  return /^run_id:([0-9a-f]{40})/m.exec(facts)?.[1] ?? null;
}
