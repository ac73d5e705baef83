import type { BatchDecision } from '@gateway/billing/usage/decide/batch-ledger-rules.js';
import { type BatchAnswer, type ReleaseEntry, unpackEvent, type UsageEvent } from '@gateway/contracts/messages';
import type { Client } from '../actors/client.js';
import type { Network } from '../network/network.js';
import type { CallAct, Fault, ProviderPlan } from '../scenario/scenario.js';
import type { CallTruth, UsedLimits, Tokens, Violation, WalletEntryTruth } from './call-truth.js';

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
  /** Limits by the IDs of admitted calls. */
  readonly limits = new Map<string, UsedLimits>();
  /** Time until which a call owns its slot, in Redis time. */
  readonly leases = new Map<string, number>();
  readonly takenBack = new Set<string>();
  /** The newest version that was confirmed to a sender, by account and field. */
  readonly told = new Map<string, number>();
  readonly counts = { ...NO_COUNTS };
  readonly #databaseFaults = new Map<number, 'before' | 'after'>();
  #transactions = 0;
  /** Time of the last edge crash. */
  lastCrashAt: number | null = null;

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
    this.broke(
      'no unexpected error',
      `${text}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }

  begin(act: CallAct, account: string, edge: CallTruth['edge'], client: Client): CallTruth {
    const call: CallTruth = {
      act,
      account,
      edge,
      client,
      id: null,
      hold: null,
      epoch: null,
      dispatchedAt: null,
      tries: 0,
      released: null,
      event: null,
      eventText: null,
      isStored: false,
      reported: null,
      lastPieceAt: null,
      settledLate: false,
      isUnguarded: false,
    };
    this.calls.push(call);
    return call;
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

  /** Records admission's responses as they reach an edge. */
  answered(answers: readonly BatchAnswer[]): void {
    for (const answer of answers) {
      if (answer.kind === 'refused') this.counts.refused += 1;
      if (answer.kind === 'fault') this.counts.faults += 1;
      const call = this.ofId(answer.id);
      if (answer.kind === 'refused' && call !== undefined) this.onRefused(call, answer);
      if (answer.kind !== 'admitted' || call === undefined) continue;
      this.counts.admitted += 1;
      call.id = answer.id;
      call.hold ??= answer.hold;
      call.epoch ??= answer.epoch;
    }
  }

  /** Records the crash of an edge. */
  edgeDied(at: number): void {
    this.lastCrashAt = at;
  }

  /** Records that a call is sent to a source. @returns the provider's plan for this attempt */
  dispatched(number: number): ProviderPlan {
    const call = this.calls[number];
    if (call === undefined) throw new Error(`call ${number} does not exist`);
    const plan = call.act.provider[call.tries] ?? call.act.provider.at(-1);
    if (plan === undefined) throw new Error('the call has no provider plan');
    call.tries += 1;
    if (call.dispatchedAt !== null) return plan;
    call.dispatchedAt = this.now();
    call.id = call.client.id;
    this.onDispatched(call);
    return plan;
  }

  reported(number: number, usage: Tokens): void {
    const call = this.calls[number];
    if (call !== undefined) call.reported = usage;
  }

  lastPiece(number: number): void {
    const call = this.calls[number];
    if (call !== undefined) call.lastPieceAt = this.now();
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
      const text = JSON.stringify(event);
      if (call === undefined) this.broke('every event belongs to a call', event.id);
      else if (call.eventText !== null && call.eventText !== text) this.broke('an event does not change', event.id);
      else [call.event, call.eventText] = [event, text];
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
