import type { AnswerBodyOf, BatchAnswer, admissionBatch } from '@gateway/contracts/messages';
import { startSpan, within } from '@gateway/service-kit';
import type { Span, ThrottledLog } from '@gateway/service-kit';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { decisionsTotal } from '../metrics.js';
import type { Entry } from './entry.js';

export type BatchReply = (answer: AnswerBodyOf<typeof admissionBatch>) => void;

/** Each entry is answered within this time. The edge gives up after 2 s. */
export const ENTRY_DEADLINE_MS = 1_800;

/** Below the maximum size of a bus message (1 MB). */
const REPLY_BYTES_MAX = 800_000;
/** This many answers fit into one message, even at their maximum size. */
const ANSWERS_THAT_FIT = 8;
/** Maximum bytes of one answer: its IDs and amounts, then each name of a list. */
const FIXED_BYTES = 1_500;
const MODEL_BYTES = 196;
const SOURCE_BYTES = 131;
/**
 * Maximum bytes of a price version: the prices of one tier, then those of classes, kinds and units.
 */
const PRICES_BYTES = 250;
const EXTRAS_BYTES = 12_000;

/** One batch in progress. Finishes its entries and enforces the deadline. */
export class BatchRun {
  readonly #deadline: number;
  readonly #spans: ReadonlyMap<Entry, Span> | null;

  constructor(
    private readonly ports: Ports,
    private readonly send: BatchReply,
    entries: readonly Entry[],
    private readonly undecided: ThrottledLog,
  ) {
    const { clock, durations } = ports;
    this.#deadline = clock.monotonic() + clock.timers.timeoutMs(durations.decideMs ?? ENTRY_DEADLINE_MS);
    this.#spans = openSpans(entries);
  }

  remainingMs(): number {
    return Math.max(0, this.#deadline - this.ports.clock.monotonic());
  }

  expired(): boolean {
    return this.remainingMs() === 0;
  }

  /** Sends one reply, or several if one would exceed the maximum message size of the bus. */
  reply(answers: BatchAnswer[], released: string[]): void {
    const { replica, clock } = this.ports;
    const parts = answers.length <= ANSWERS_THAT_FIT ? [answers] : splitAnswers(answers);
    for (const [index, part] of parts.entries()) {
      this.send({ replica, now: clock.now(), answers: part, released: index === 0 ? released : [] });
    }
  }

  /** Counts the answer and ends the entry's span. */
  finish(entry: Entry, answer: BatchAnswer): BatchAnswer {
    const outcome = toOutcome(answer);
    decisionsTotal.of({ outcome }).add();
    const span = this.#spans?.get(entry);
    if (span === undefined) return answer;
    span.set({ 'gateway.admission.outcome': outcome });
    if (answer.kind === 'fault') span.fail(answer.code);
    span.end();
    return answer;
  }

  /**
   * Builds the answer of an entry that could not be decided. Unexpected errors are logged each
   * time, at level error.
   */
  fault(entry: Entry, error: unknown): BatchAnswer {
    const { id } = entry.body;
    const foreseen = error instanceof AdmissionFault;
    if (foreseen) {
      this.ports.log.debug({ id, err: error }, 'a request was not decided');
      this.undecided.warn({ err: error });
    } else this.ports.log.error({ id, err: error }, 'a request was not decided');
    const fault = { kind: 'fault' as const, id, code: foreseen ? error.code : ('admission_error' as const) };
    const mayHold = entry.kind === 'admit' && (!foreseen || error.mayHold);
    return this.finish(entry, mayHold ? { ...fault, mayHold } : fault);
  }

  /**
   * Starts a child span for each traced entry, which ends with the scripts. Returns null when no
   * entry is traced.
   */
  beginScripts(entries: readonly { readonly entry: Entry }[]): readonly Span[] | null {
    if (this.#spans === null) return null;
    return entries.flatMap(({ entry }) => this.beginScript(entry, entries.length) ?? []);
  }

  /** Does the same for one entry. */
  beginScript(entry: Entry, scripts = 1): Span | null {
    const parent = this.#spans?.get(entry)?.traceparent;
    if (parent === undefined) return null;
    return startSpan('EVALSHA', {
      parent,
      kind: 'client',
      attributes: {
        'db.system.name': 'redis',
        'db.operation.name': 'EVALSHA',
        ...(scripts > 1 ? { 'db.operation.batch.size': scripts } : {}),
      },
    });
  }

  /**
   * Rejects when the work takes longer than the time left for the batch. The work continues, but
   * its result is ignored.
   */
  within<T>(work: Promise<T>): Promise<T> {
    const late = () => new AdmissionFault('admission_error', 'not decided in time', { mayHold: true });
    return within(work, this.remainingMs(), late, this.ports.clock.timers);
  }
}

function splitAnswers(answers: readonly BatchAnswer[]): BatchAnswer[][] {
  const parts: BatchAnswer[][] = [];
  let bytes = Infinity;
  for (const answer of answers) {
    const most = computeMaxBytes(answer);
    if (bytes + most > REPLY_BYTES_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(answer);
    bytes += most;
  }
  return parts;
}

/** Upper bound of an answer's size in a message. Cheaper than serializing each answer. */
function computeMaxBytes(answer: BatchAnswer): number {
  if (answer.kind === 'refused') return FIXED_BYTES + (answer.facts.allowedModels?.length ?? 0) * MODEL_BYTES;
  if (answer.kind !== 'admitted') return FIXED_BYTES;
  const { price, sources } = answer;
  const extras = price?.figures.extras === undefined ? 0 : EXTRAS_BYTES;
  const rows = price === null ? 0 : 1 + price.figures.tiers.length;
  return FIXED_BYTES + sources.length * SOURCE_BYTES + rows * PRICES_BYTES + extras;
}

function toOutcome(answer: BatchAnswer) {
  if (answer.kind === 'refused') return answer.code;
  if (answer.kind !== 'admitted') return answer.kind;
  if (answer.repeated) return 'repeated';
  return answer.hold === null ? 'counted' : 'admitted';
}

/** Opens a span for each traced entry. Returns null when no entry is traced. */
function openSpans(entries: readonly Entry[]): Map<Entry, Span> | null {
  let spans: Map<Entry, Span> | null = null;
  for (const entry of entries) {
    if (entry.body.traceparent === undefined) continue;
    spans ??= new Map();
    spans.set(entry, startSpan(`admission.${entry.kind}`, { parent: entry.body.traceparent, kind: 'server' }));
  }
  return spans;
}
