import { isDeepStrictEqual } from 'node:util';
import type { BatchDecision } from '@gateway/billing/usage/decide/batch-ledger-rules.js';
import {
  type BatchAnswer,
  type HoldFields,
  type ReleaseEntry,
  unpackEvent,
  type UsageEvent,
} from '@gateway/contracts/messages';
import type { Client } from '../actors/client.js';
import type { Network } from '../network/network.js';
import type { AnswerPlan, CallAct, Fault, ProviderPlan } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';

/** The true state of one call. The services may have another view of it. */
export class CallTruth {
  /** The gateway's ID when the call was sent to a source, otherwise the ID of its admission. */
  id: string | null = null;
  hold: HoldFields | null = null;
  /** The epoch of its first admission. */
  epoch: string | null = null;
  /** The limits that the limit store used for its admission: slots, and requests by window row. */
  limits: { readonly slots: number; readonly rows: ReadonlyMap<string, number> } | null = null;
  /** Time until which it owns its slot, in Redis time. */
  leasedUntil = 0;
  /** Whether an operator has taken its slot back. */
  isTakenBack = false;
  /** Time when it was first sent to a source, or null. */
  dispatchedAt: number | null = null;
  tries = 0;
  /** The release that its edge last sent to admission. */
  released: { readonly outcome: 'ok' | 'void'; readonly amountNanoUsd: number } | null = null;
  /** The usage event that its edge has built. */
  event: UsageEvent | null = null;
  isStored = false;
  /** Tokens that a provider has reported. */
  reported: AnswerPlan['usage'] = null;
  /** Time when a provider sent its last chunk, or null. Same clock as `dispatchedAt`. */
  lastPieceAt: number | null = null;
  /** True if it was recorded as expired and settled later. */
  settledLate = false;
  /**
   * True if the limit store was lost and opened again while the edge had been silent for longer
   * than a recovery waits for edges.
   */
  isUnguarded = false;

  constructor(
    readonly act: CallAct,
    readonly account: string,
    readonly edge: { readonly id: string; readonly host: Host },
    readonly client: Client,
  ) {}

  /** Whether a source serves it: it was dispatched, and its live edge has not ended it. */
  get isRunning(): boolean {
    return this.dispatchedAt !== null && this.released === null && this.event === null && this.edge.host.isAlive;
  }
}

export interface WalletEntryTruth {
  readonly account: string;
  readonly amountNanoUsd: number;
  /** Time when admission confirmed it. */
  inForceAt: number | null;
}

export interface Violation {
  readonly at: number;
  readonly rule: string;
  readonly detail: string;
}

export type Refusal = Extract<BatchAnswer, { kind: 'refused' }>;

/** Initial counters of a run. */
export const NO_COUNTS = {
  admitted: 0,
  refused: 0,
  faults: 0,
  records: 0,
  expired: 0,
  settledLate: 0,
  lostCommits: 0,
  /** Accounts that were confirmed after a loss of the limit store. */
  confirmed: 0,
};

/** The true state of a run, and the rules that were broken. */
export class Truth {
  readonly calls: CallTruth[] = [];
  readonly #byId = new Map<string, CallTruth>();
  readonly entries: WalletEntryTruth[] = [];
  readonly violations: Violation[] = [];
  /** The newest version that was confirmed to a sender, by account and field. */
  readonly told = new Map<string, number>();
  readonly counts = { ...NO_COUNTS };
  readonly #databaseFaults = new Map<number, 'before' | 'after'>();
  #transactions = 0;
  /** Whether an edge has crashed. */
  hasCrash = false;

  constructor(
    faults: readonly Fault[],
    private readonly now: () => number,
    /** Called when a call is first sent to a source. */
    private readonly onDispatched: (call: CallTruth) => void,
    /** Called when a call is refused. */
    private readonly onRefused: (call: CallTruth, refusal: Refusal) => void,
  ) {
    for (const fault of faults) if (fault.kind === 'database') this.#databaseFaults.set(fault.n, fault.how);
  }

  broke(rule: string, detail: string): void {
    this.violations.push({ at: this.now(), rule, detail });
  }

  unforeseen(text: string, error: unknown): void {
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.broke('no unexpected error', `${text}: ${detail}`);
  }

  ofId(id: string): CallTruth | undefined {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const call = this.calls.find(({ client }) => client.id === id);
    if (call !== undefined) this.#byId.set(id, call);
    return call;
  }

  addEntry(account: string, amountNanoUsd: number): WalletEntryTruth {
    const entry = { account, amountNanoUsd, inForceAt: null };
    this.entries.push(entry);
    return entry;
  }

  /** Returns the sum of an account's wallet entries, nano-USD. */
  fundsOf(account: string): bigint {
    return this.entries.reduce((sum, one) => sum + (one.account === account ? BigInt(one.amountNanoUsd) : 0n), 0n);
  }

  /** Records admission's responses as they reach an edge. */
  answered(answers: readonly BatchAnswer[]): void {
    for (const answer of answers) {
      const call = this.ofId(answer.id);
      if (answer.kind === 'fault') this.counts.faults += 1;
      if (answer.kind === 'refused') {
        this.counts.refused += 1;
        if (call !== undefined) this.onRefused(call, answer);
      }
      if (answer.kind !== 'admitted' || call === undefined) continue;
      this.counts.admitted += 1;
      call.id = answer.id;
      call.hold ??= answer.hold;
      call.epoch ??= answer.epoch;
    }
  }

  /** Records that a call is sent to a source. @returns the provider's plan for this attempt */
  dispatched(call: CallTruth): ProviderPlan {
    const plan = call.act.provider[call.tries] ?? call.act.provider.at(-1);
    if (plan === undefined) throw new Error('the call has no provider plan');
    call.tries += 1;
    if (call.dispatchedAt !== null) return plan;
    call.dispatchedAt = this.now();
    call.id = call.client.id;
    this.onDispatched(call);
    return plan;
  }

  releasing(releases: readonly ReleaseEntry[]): void {
    for (const release of releases) {
      const call = this.ofId(release.id);
      if (call === undefined || release.blind) continue;
      const { outcome, amountNanoUsd } = release;
      call.released = { outcome, amountNanoUsd };
    }
  }

  /** Records that an edge sends a message of usage events to the stream. */
  frozen(message: Buffer): void {
    for (const event of eventsOf(message)) {
      const call = this.ofId(event.id);
      if (call === undefined) this.broke('every event belongs to a call', event.id);
      else if (call.event !== null && !isDeepStrictEqual(call.event, event))
        this.broke('an event does not change', event.id);
      else call.event = event;
    }
  }

  stored(message: Buffer): void {
    for (const { id } of eventsOf(message)) {
      const call = this.ofId(id);
      if (call !== undefined) call.isStored = true;
    }
  }

  nextTransactionFault(network: Network): 'before' | 'after' | undefined {
    this.#transactions += 1;
    return network.isQuiet ? undefined : this.#databaseFaults.get(this.#transactions);
  }

  committed(decision: BatchDecision): void {
    for (const { record, replaces } of decision.records) {
      this.counts.records += 1;
      if (record.outcome === 'expired') this.counts.expired += 1;
      const call = this.ofId(record.id);
      if (call === undefined) this.broke('every record belongs to a call', record.id);
      else if (replaces) {
        this.counts.settledLate += 1;
        call.settledLate = true;
      }
    }
    for (const { requestId, reason, detail } of decision.deadLetters)
      this.broke('no dead letters', `${requestId} ${reason}: ${detail}`);
  }
}

/** Returns the events of a stored message. */
function eventsOf(message: Buffer): UsageEvent[] {
  const [, events] = JSON.parse(message.toString()) as [version: number, events: unknown[]];
  return events.map((sent) => unpackEvent(sent) as UsageEvent);
}
