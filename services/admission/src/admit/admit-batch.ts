import type { AnswerBodyOf, BatchAnswer, ReceivedOf, admissionBatch } from '@gateway/contracts/messages';
import { ThrottledLog } from '@gateway/service-kit';
import { readAdmitReply } from '../domain/admit-reply.js';
import { decisionCall } from '../domain/admit-script.js';
import type { PreparedCall } from '../domain/prepare-call.js';
import type { ScriptCall, ScriptReply } from '../domain/script-call.js';
import type { Decider } from '../load/decider.js';
import type { Route } from '../load/known.js';
import { AdmissionFault } from '../ports.js';
import { prepareReleases, readReleases, settleUnknownRelease } from '../settle/settle-releases.js';
import type { BlindRelease, PendingRelease } from '../settle/settle-releases.js';
import { batchEntries, pipelineSeconds } from './admit-metrics.js';
import { answerOf, prepareEntry, targetOf } from './entry.js';
import type { Entry } from './entry.js';
import { learn, settleEntry } from './settle-entry.js';

import { Turn } from './turn.js';

export type Batch = ReceivedOf<typeof admissionBatch>;
export type BatchReply = (answer: AnswerBodyOf<typeof admissionBatch>) => void;

/** Entries that wait for a decision at once in this process; one more is a fault: a queue must not outlive its callers. */
export const ENTRIES_IN_FLIGHT_MAX = 4_096;

/** An entry of which this process knows enough to decide in the batch's one pipeline. */
interface WarmEntry {
  readonly entry: Entry;
  readonly route: Route;
  readonly prepared: PreparedCall;
  readonly call: ScriptCall;
}

/**
 * Decides the batches of the edges. What this process knows enough of goes in one pipeline and is answered together;
 * what something is missing for follows entry by entry, as it is ready.
 */
export class BatchDesk {
  #inFlight = 0;
  readonly #undecided: ThrottledLog;

  constructor(private readonly decider: Decider) {
    this.#undecided = new ThrottledLog(decider.ports.log, 'calls cannot be decided and are answered 500');
  }

  /** Entries that wait for a decision now. */
  inFlight(): number {
    return this.#inFlight;
  }

  async handle(batch: Batch, reply: BatchReply): Promise<void> {
    const entries = entriesOf(batch);
    batchEntries.observe(entries.length + batch.releases.length);
    const turn = new Turn(this.decider.ports, reply, entries, this.#undecided);
    const barred = this.#barred(entries.length);
    if (barred !== null) {
      turn.reply(
        entries.map((entry) => turn.fault(entry, barred)),
        [],
      );
    }
    const accepted = barred === null ? entries : [];
    const { pending, unknown } = prepareReleases(batch.releases, this.decider.known);
    this.#inFlight += accepted.length;
    try {
      await Promise.all([this.#settle(accepted, pending, turn), this.#settleUnknown(unknown, turn)]);
    } finally {
      this.#inFlight -= accepted.length;
    }
  }

  async #settle(entries: readonly Entry[], releases: readonly PendingRelease[], turn: Turn): Promise<void> {
    const warm: WarmEntry[] = [];
    const cold: Entry[] = [];
    const answers: BatchAnswer[] = [];
    for (const entry of entries) {
      try {
        const warmEntry = warmUp(this.decider, entry);
        if (warmEntry === null) cold.push(entry);
        else warm.push(warmEntry);
      } catch (error) {
        answers.push(turn.fault(entry, error));
      }
    }
    const later = cold.map((entry) => this.#settleCold(entry, turn));
    later.push(...(await this.#settleWarm(warm, releases, answers, turn)));
    await Promise.all(later);
  }

  /** One pipeline, releases first: a slot that falls free is there for the next call. One reply. Returns the work on those that turned out to lack something. */
  async #settleWarm(
    warm: readonly WarmEntry[],
    releases: readonly PendingRelease[],
    answers: BatchAnswer[],
    turn: Turn,
  ): Promise<Promise<void>[]> {
    const { decider } = this;
    const spans = turn.beginScripts(warm);
    const replies = await runScripts(
      decider,
      [...releases, ...warm].map(({ call }) => call),
      turn,
    );
    for (const span of spans ?? []) span.end();
    const lacking: Promise<void>[] = [];
    for (const [index, warmEntry] of warm.entries()) {
      const answer = readAnswer(decider, warmEntry, replies[releases.length + index], turn);
      if (answer === null) lacking.push(this.#settleCold(warmEntry.entry, turn));
      else answers.push(answer);
    }
    const released = await readReleases(decider.ports, releases, replies, decider.noticeLoss);
    if (answers.length > 0 || released.length > 0) turn.reply(answers, released);
    return lacking;
  }

  async #settleCold(entry: Entry, turn: Turn): Promise<void> {
    let answer: BatchAnswer;
    try {
      const decided = await turn.within(settleEntry(this.decider, entry, turn));
      answer = turn.finish(entry, decided);
    } catch (error) {
      answer = turn.fault(entry, error);
    }
    turn.reply([answer], []);
  }

  /** Blind releases whose account this process does not know. */
  async #settleUnknown(releases: readonly BlindRelease[], turn: Turn): Promise<void> {
    const { ports, known, noticeLoss } = this.decider;
    for (const release of releases) {
      const id = await settleUnknownRelease(ports, known, release, noticeLoss);
      if (id !== null) turn.reply([], [id]);
    }
  }

  /** Why none of the entries is decided at all. */
  #barred(entries: number): AdmissionFault | null {
    const { gate, brakes } = this.decider.ports;
    if (entries === 0) return null;
    if (this.#inFlight + entries > ENTRIES_IN_FLIGHT_MAX) return new AdmissionFault('admission_error', 'overloaded');
    if (!gate.usable()) return new AdmissionFault('admission_error', 'redis is not connected');
    const brake = brakes.engaged();
    return brake === null ? null : new AdmissionFault('admission_error', brake);
  }
}

function entriesOf(batch: Batch): Entry[] {
  return [
    ...batch.opens.map((body): Entry => ({ kind: 'open', edge: batch.edge, body })),
    ...batch.admits.map((body): Entry => ({ kind: 'admit', edge: batch.edge, body })),
  ];
}

/** Null when this process does not know the route or the records. */
function warmUp(decider: Decider, entry: Entry): WarmEntry | null {
  const route = decider.known.route(entry.body.digests);
  const account = route && decider.known.account(route);
  if (!route || !account) return null;
  const prepared = prepareEntry(decider.ports, entry, account);
  return { entry, route, prepared, call: decisionCall(targetOf(decider.ports, entry, route), prepared) };
}

/** The finished answer; null: something is missing, the entry goes on alone. */
function readAnswer(
  decider: Decider,
  { entry, route, prepared }: WarmEntry,
  reply: ScriptReply | AdmissionFault | undefined,
  turn: Turn,
): BatchAnswer | null {
  try {
    if (reply === undefined || reply instanceof AdmissionFault) throw reply ?? new Error('no reply');
    const outcome = readAdmitReply(reply, route, prepared);
    learn(decider, route, outcome);
    const answer = answerOf(decider.ports, entry, route, prepared, outcome);
    if (answer === null) return null;
    decider.refused.note(route, answer);
    return turn.finish(entry, answer);
  } catch (error) {
    return turn.fault(entry, error);
  }
}

/** The replies, or the one fault for each call. */
async function runScripts(
  { ports }: Decider,
  calls: readonly ScriptCall[],
  turn: Turn,
): Promise<readonly (ScriptReply | AdmissionFault)[]> {
  if (calls.length === 0) return [];
  const startedAt = ports.clock.monotonic();
  try {
    return await turn.within(ports.gate.run(calls));
  } catch (error) {
    const fault = error instanceof AdmissionFault ? error : new AdmissionFault('admission_error', String(error));
    return calls.map(() => fault);
  } finally {
    pipelineSeconds.observe((ports.clock.monotonic() - startedAt) / 1_000);
  }
}
