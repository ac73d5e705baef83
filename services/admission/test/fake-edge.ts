import type { RefusalCode } from '@gateway/contracts/errors';
import type { Bus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import {
  type AdmitEntry,
  type BatchAnswer,
  type HoldFields,
  type ReleaseEntry,
  type UsageEvent,
  admissionBatch,
  edgeHeartbeat,
  edgeHeartbeatReply,
  edgeResyncRequest,
  usageEvents,
} from '@gateway/contracts/messages';
import { parseEpochTime } from '../src/limit-store/epoch-rules.js';
import type { Spending } from './spending.js';

/** A call that the heartbeats contain from its admission until its event is stored. */
export interface EdgeCall {
  readonly id: string;
  readonly bucket: number;
  readonly hold: HoldFields;
  callEpoch: string;
  aborted: boolean;
}

type Outcome =
  | { readonly kind: 'admitted'; readonly call: EdgeCall }
  | { readonly kind: 'refused'; readonly code: RefusalCode }
  /** The result of each attempt, for the message of a failing test. */
  | { readonly kind: 'fault'; readonly attempts: readonly string[] };

const HEARTBEAT_MS = 500;
const ASK_MS = 2_000;
const ATTEMPTS_MAX = 2;
const RETRY_MS = 250;
const ENDPOINT = '/v1/chat/completions';

/**
 * An edge without clients and providers, as far as admission sees it (docs/protocol.md#r3 to
 * docs/protocol.md#r6).
 */
export class FakeEdge {
  readonly running = new Map<string, EdgeCall>();
  readonly #releases = new Map<string, ReleaseEntry>();
  readonly #epochs = new Map<number, { current: string; superseded: Set<string> }>();
  readonly #heartbeats = new Map<number, EdgeCall[]>();
  readonly #timer: NodeJS.Timeout;
  #n = 0;
  #dead = false;

  constructor(
    private readonly bus: Bus,
    readonly name: string,
    private readonly spending: Spending,
    /** Returns Redis time, because admission refuses IDs that are far from it. */
    private readonly now: () => number,
    /** Delay before a resync request is processed. */
    reportLateMs = 0,
  ) {
    bus.subscribe(edgeHeartbeatReply, (heartbeatReply) => this.#take(heartbeatReply), { words: { edge: name } });
    bus.subscribe(edgeResyncRequest, async ({ epochs }) => {
      if (reportLateMs > 0) await new Promise((resolve) => setTimeout(resolve, reportLateMs));
      for (const { bucket, epoch } of epochs) this.#note(bucket, epoch);
      await this.heartbeat();
    });
    this.#timer = setInterval(() => void this.heartbeat(), HEARTBEAT_MS);
    void this.heartbeat();
  }

  /**
   * Simulates a killed process, which sends and receives nothing. Its last heartbeat has its calls.
   */
  kill(): void {
    this.#dead = true;
    clearInterval(this.#timer);
  }

  async start(digest: string): Promise<Outcome> {
    const entry: AdmitEntry = {
      id: makeUuidV7(this.now()),
      digests: [digest],
      endpoint: ENDPOINT,
      model: 'acme/fixed',
      bounds: { promptBytes: 30, arrayElements: 0, attachments: 0, outputTokensMax: 10 },
      bodyRefusal: null,
      opened: false,
      traceparent: undefined,
    };
    const attempts: string[] = [];
    while (attempts.length < ATTEMPTS_MAX && !this.#dead) {
      const answer = await this.#ask(entry);
      if (this.#dead) break;
      if (answer?.kind === 'refused') return { kind: 'refused', code: answer.code };
      if (answer?.kind === 'admitted' && answer.hold !== null && this.#note(answer.bucket, answer.epoch)) {
        return { kind: 'admitted', call: this.#dispatch(answer.id, answer.bucket, answer.hold, answer.epoch) };
      }
      attempts.push(answer === null ? 'no answer' : answer.kind === 'fault' ? answer.code : `stale ${answer.kind}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    // An admission without an answer is released blindly.
    this.#release({ blind: true, id: entry.id, digests: [digest] });
    return { kind: 'fault', attempts };
  }

  /** Starts a call that must be admitted. Throws with any other answer. */
  async admit(digest: string): Promise<EdgeCall> {
    const outcome = await this.start(digest);
    if (outcome.kind !== 'admitted') throw new Error(`not admitted: ${JSON.stringify(outcome)}`);
    return outcome.call;
  }

  /** Ends a call. Retries the event until it is stored; heartbeats repeat the release. */
  async end(call: EdgeCall, amountNanoUsd: number): Promise<void> {
    const { id, hold, callEpoch } = call;
    this.spending.end(hold.account, hold.worstNanoUsd, amountNanoUsd);
    this.#release({ blind: false, id, hold, callEpoch, outcome: 'ok', amountNanoUsd });
    const event = settledEvent(call, amountNanoUsd);
    while (!this.#dead) {
      const stored = this.bus.store(usageEvents, { group: 0 }, { events: [event] });
      if (
        await stored.then(
          () => true,
          () => false,
        )
      )
        break;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    this.running.delete(id);
  }

  /** Whether no call runs and no release is pending. */
  idle(): boolean {
    return this.running.size === 0 && this.#releases.size === 0;
  }

  async heartbeat(): Promise<void> {
    if (this.#dead) return;
    const n = (this.#n += 1);
    const calls = [...this.running.values()];
    this.#heartbeats.set(n, calls).delete(n - 8);
    const heartbeat = {
      edge: this.name,
      n,
      chunk: 0,
      chunks: 1,
      last: false,
      epochs: Array.from(this.#epochs, ([bucket, { current }]) => ({ bucket, epoch: current })),
      calls: calls.map(({ id, hold, callEpoch }) => ({ id, hold, callEpoch, endpoint: ENDPOINT as typeof ENDPOINT })),
      releases: [...this.#releases.values()],
    };
    await this.bus.store(edgeHeartbeat, { edge: this.name, chunk: 0 }, heartbeat).catch(() => undefined);
  }

  #ask(entry: AdmitEntry): Promise<BatchAnswer | null> {
    const body = { edge: this.name, opens: [], admits: [entry], releases: [] };
    return new Promise((resolve) => {
      const on = {
        answer({ answers }: { answers: BatchAnswer[] }) {
          const [mine] = answers;
          if (mine === undefined) return;
          asking.close();
          resolve(mine);
        },
        fault: () => resolve(null),
      };
      const asking = this.bus.requestMany(admissionBatch, body, on, { timeoutMs: ASK_MS });
    });
  }

  #dispatch(id: string, bucket: number, hold: HoldFields, callEpoch: string): EdgeCall {
    const call = { id, bucket, hold, callEpoch, aborted: false };
    this.running.set(id, call);
    this.spending.dispatch(hold.account, id, hold.worstNanoUsd);
    return call;
  }

  #release(entry: ReleaseEntry): void {
    if (this.#dead) return;
    this.#releases.set(entry.id, entry);
    const body = { edge: this.name, opens: [], admits: [], releases: [entry] };
    const on = {
      answer: ({ released }: { released: string[] }) => {
        for (const id of released) this.#releases.delete(id);
        asking.close();
      },
      fault: () => undefined,
    };
    const asking = this.bus.requestMany(admissionBatch, body, on, { timeoutMs: ASK_MS });
  }

  #take(heartbeatReply: {
    n: number;
    epochs: { bucket: number; epoch: string }[];
    abort: string[];
    released: string[];
  }): void {
    if (this.#dead) return;
    const callEpochs = new Map(
      heartbeatReply.epochs.flatMap(({ bucket, epoch }) => (this.#note(bucket, epoch) ? [[bucket, epoch]] : [])),
    );
    for (const call of this.#heartbeats.get(heartbeatReply.n) ?? [])
      call.callEpoch = callEpochs.get(call.bucket) ?? call.callEpoch;
    for (const id of heartbeatReply.released) this.#releases.delete(id);
    for (const id of heartbeatReply.abort) {
      const call = this.running.get(id);
      if (call) call.aborted = true;
    }
  }

  /** Returns false if another epoch has replaced this one. */
  #note(bucket: number, epoch: string): boolean {
    const known = this.#epochs.get(bucket);
    if (known && (known.superseded.has(epoch) || parseEpochTime(epoch) < parseEpochTime(known.current))) return false;
    const superseded = known?.superseded ?? new Set<string>();
    if (known && known.current !== epoch) superseded.add(known.current);
    this.#epochs.set(bucket, { current: epoch, superseded });
    return true;
  }
}

function settledEvent({ id, hold }: EdgeCall, amountNanoUsd: number): UsageEvent {
  return {
    id,
    rank: 2,
    outcome: 'settled',
    hold,
    endpoint: ENDPOINT,
    streamed: false,
    startedAt: hold.admittedAt,
    endedAt: hold.admittedAt,
    firstByteAt: null,
    status: 200,
    source: null,
    usage: null,
    evidence: 'none',
    price: null,
    amountNanoUsd,
    attempts: [],
  };
}
