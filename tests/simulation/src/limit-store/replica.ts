import { makeEpoch, type ReplicaRun } from '@gateway/admission/limit-store/epoch-rules.js';
import { RunAgreement, type OtherReplicas } from '@gateway/admission/limit-store/run-agreement-rules.js';
import { buildReplaceCall } from '@gateway/admission/limit-store/epoch-script.js';
import { type AccountsStep, AdmissionFault, type LimitStore } from '@gateway/admission/ports.js';
import type { RedisClock } from '@gateway/admission/limit-store/redis-clock.js';
import type { ScriptCall, ScriptName, ScriptReply } from '@gateway/admission/limit-store/script-rules.js';
import type { RedisRun } from '@gateway/contracts/messages';
import type { Network } from '../network/network.js';
import type { Host } from '../time/host.js';
import type { Random } from '../time/random.js';
import type { VirtualTime } from '../time/virtual-time.js';
import type { LimitStoreServer } from './server.js';

const RECONNECT_MS_MIN = 50;
const RECONNECT_MS_MAX = 300;
/** Silence on the connection after which a lost reply is detected. */
const SILENCE_MS = 1_000;
/** A delay also holds up later replies. A longer silence would end the connection. */
const DELAY_MS_MAX = 1_500;

export interface ReplicaLimitStoreParts {
  readonly time: VirtualTime;
  readonly network: Network;
  readonly server: LimitStoreServer;
  readonly host: Host;
  readonly clock: RedisClock;
  readonly random: Random;
  readonly others: OtherReplicas;
  /** Called whenever a server comes into use. */
  readonly onUse: () => void;
}

/** One replica's connection to the server. It keeps the order and first reads the run ID. */
export class ReplicaLimitStore implements LimitStore {
  #runId: string | null = null;
  readonly #runs: RunAgreement;
  #arrivesAt = 0;
  #returnsAt = 0;
  /** Rejects each exchange that has no reply yet. */
  readonly #pending = new Set<() => void>();
  #close: () => void = () => undefined;

  constructor(private readonly parts: ReplicaLimitStoreParts) {
    this.#runs = new RunAgreement(() => parts.time.now);
    this.#runs.setOthers(parts.others);
  }

  open(): void {
    const { time, server, host } = this.parts;
    if (!server.isReachable) return void time.in(host, RECONNECT_MS_MIN, () => this.open());
    const runId = server.runIdFor(host);
    if (this.#runs.connected(runId, server.epochs(runId))) this.#use(runId);
    else void this.#beginAnew(runId);
  }

  usable(): boolean {
    return this.#runId !== null;
  }

  run(calls: readonly ScriptCall[]): Promise<readonly (ScriptReply | AdmissionFault)[]> {
    if (calls.length === 0) return Promise.resolve([]);
    const { server, clock } = this.parts;
    const offsetMs = clock.offsetMs();
    return this.#exchange((runId) => {
      const replies = calls.map((call) => ({ script: call.script, reply: server.run(call, runId) }));
      return () => {
        clock.observe(Number(replies.at(-1)?.reply[1]), offsetMs);
        return replies.map(({ script, reply }) => this.#readReply(script, reply, runId));
      };
    });
  }

  routes(digests: readonly string[]): Promise<readonly (string | null)[]> {
    return this.#read(() => digests.map((digest) => this.parts.server.route(digest)));
  }

  setRoute(digest: string, route: string): Promise<void> {
    return this.#read(() => this.parts.server.setRoute(digest, route));
  }

  /** Does nothing: clients of a run send no unknown secrets. */
  setMisses(): Promise<void> {
    return Promise.resolve();
  }

  dropRoute(digest: string): Promise<void> {
    return this.#read(() => this.parts.server.setRoute(digest, null));
  }

  newEpoch(): string {
    if (this.#runId === null) throw notConnected();
    return this.#epochFor(this.#runId);
  }

  observe(epochs: readonly string[], run?: RedisRun): void {
    if (this.#runs.observe(epochs, run)) this.#giveUp();
  }

  observeRun(run: ReplicaRun): void {
    if (this.#runs.observeRun(run)) this.#giveUp();
  }

  /** Called when the bus is back. */
  publishRun(): void {
    this.#runs.publish();
  }

  dump(): Promise<never> {
    return Promise.reject(new Error('not used in a simulation'));
  }

  /** Returns all accounts in one step. */
  accounts(): Promise<AccountsStep> {
    const { server } = this.parts;
    // Sends no request that finds nothing, so that runs without kept accounts stay the same.
    if (server.accounts().length === 0) return Promise.resolve({ cursor: '0', accounts: [] });
    return this.#read(() => ({ cursor: '0', accounts: server.accounts() }));
  }

  #read<T>(answer: () => T): Promise<T> {
    return this.#exchange(() => {
      const found = answer();
      return () => found;
    });
  }

  /**
   * Sends work to the server and returns the result of processing the reply. Rejects if the
   * connection ends first or the work throws.
   */
  #exchange<T>(work: (runId: string) => () => T): Promise<T> {
    const { time, network, server, host } = this.parts;
    const runId = this.#runId;
    if (runId === null) return Promise.reject(notConnected());
    const there = network.next();
    const back = network.next();
    return new Promise((resolve, reject) => {
      const fail = (): void => {
        if (this.#pending.delete(fail)) reject(new AdmissionFault('admission_error', 'redis: the connection ended'));
      };
      const failLater = (): void => void time.in(host, SILENCE_MS, fail);
      this.#pending.add(fail);
      this.#arrivesAt = Math.max(this.#arrivesAt, time.now + there.latencyMs + linkDelay(there.fault));
      if (there.kill?.who === 'sender') network.killAfterStep(host, there.kill.ms);
      if (there.fault?.how === 'drop') return failLater();
      time.at(server.host, this.#arrivesAt, () => {
        if (this.#runId !== runId) return;
        if (!server.answers(runId)) return failLater();
        const finish = work(runId);
        if (back.fault?.how === 'drop') return failLater();
        this.#returnsAt = Math.max(this.#returnsAt, time.now + back.latencyMs + linkDelay(back.fault));
        time.at(host, this.#returnsAt, () => {
          if (!this.#pending.delete(fail)) return;
          try {
            resolve(finish());
          } catch (error) {
            reject(error);
          }
        });
      });
    });
  }

  /** Handles a reply like `RedisLimitStore`. */
  #readReply(script: ScriptName, reply: ScriptReply, runId: string): ScriptReply {
    if (this.#runs.answered(script, reply)) this.#giveUp();
    if (this.#runId !== runId && !this.#runs.countsAfterwards(script))
      throw new AdmissionFault('admission_error', 'redis: no longer in use', { mayHold: true });
    return reply;
  }

  #epochFor(runId: string): string {
    const { host, time, random } = this.parts;
    const setAt = this.#runs.nextTime(time.now + host.skewMs);
    return makeEpoch(runId, setAt, random.below(0x7fff_ffff).toString(16));
  }

  /** Replaces the epochs like `RedisLimitStore`, but in one step. */
  async #beginAnew(runId: string): Promise<void> {
    const { server } = this.parts;
    const mayBeUsed = await this.#runs.mayBeginAnew();
    const isThere = server.isReachable && server.answers(runId);
    if (!isThere || !mayBeUsed) return this.#openLater();
    const reply = server.run(buildReplaceCall(this.#epochFor(runId), this.#runs.nextTime(0)), runId);
    if (this.#runs.connected(runId, [reply[2] ?? ''])) this.#use(runId);
    else this.#openLater();
  }

  #use(runId: string): void {
    const { server, host, clock, onUse } = this.parts;
    clock.forget();
    this.#runs.used();
    this.#runId = runId;
    // The loss of a closed socket is noticed at once, but handled in the replica's own event.
    this.#close = server.connect(host, () => this.#lose());
    onUse();
  }

  #giveUp(): void {
    this.#close();
    this.#lose();
  }

  #openLater(): void {
    const { time, host, random } = this.parts;
    time.in(host, random.between(RECONNECT_MS_MIN, RECONNECT_MS_MAX), () => this.open());
  }

  #lose(): void {
    const { time, host } = this.parts;
    this.#runs.lost();
    this.#runId = null;
    time.in(host, 0, () => {
      for (const fail of [...this.#pending]) fail();
      this.#openLater();
    });
  }
}

function notConnected(): AdmissionFault {
  return new AdmissionFault('admission_error', 'redis is not connected');
}

function linkDelay(fault: { readonly how: string; readonly ms: number } | undefined): number {
  return fault?.how === 'delay' ? Math.min(fault.ms, DELAY_MS_MAX) : 0;
}
