import type { AnswerBodyOf, BatchAnswer, admissionBatch } from '@gateway/contracts/messages';
import { startSpan, within } from '@gateway/service-kit';
import type { Span, ThrottledLog } from '@gateway/service-kit';
import { AdmissionFault } from '../ports.js';
import type { Ports } from '../ports.js';
import { decisionsTotal } from '../metrics.js';
import type { Entry } from './entry.js';

export type BatchReply = (answer: AnswerBodyOf<typeof admissionBatch>) => void;

/** Each entry is answered within this time; the edge gives up after 2 s. */
export const ENTRY_DEADLINE_MS = 1_800;

/** Below what the bus takes as one message (1 MB). */
const REPLY_BYTES_MAX = 800_000;
/** So many answers fit into a message whatever they say. */
const ANSWERS_THAT_FIT = 8;
/** Of one answer at most: its ids and amounts, and each name of a list. */
const FIXED_BYTES = 1_500;
const MODEL_BYTES = 196;
const SOURCE_BYTES = 131;
/** Of a price version: the prices of one tier; and those of classes, kinds and units. */
const PRICES_BYTES = 250;
const EXTRAS_BYTES = 12_000;

/** One batch on its way: what ends an entry, and how much time is left. */
export class BatchRun {
  readonly #deadline: number;
  readonly #spans: ReadonlyMap<Entry, Span> | null;

  constructor(
    private readonly ports: Ports,
    private readonly send: BatchReply,
    entries: readonly Entry[],
    private readonly undecided: ThrottledLog,
  ) {
    this.#deadline = ports.clock.monotonic() + (ports.durations.decideMs ?? ENTRY_DEADLINE_MS);
    this.#spans = openSpans(entries);
  }

  remainingMs(): number {
    return Math.max(0, this.#deadline - this.ports.clock.monotonic());
  }

  expired(): boolean {
    return this.remainingMs() === 0;
  }

  /** One reply, or several where one would be too large a message for the bus. */
  reply(answers: BatchAnswer[], released: string[]): void {
    const { replica, clock } = this.ports;
    const parts = answers.length <= ANSWERS_THAT_FIT ? [answers] : inParts(answers);
    for (const [index, part] of parts.entries()) {
      this.send({ replica, now: clock.now(), answers: part, released: index === 0 ? released : [] });
    }
  }

  /** Counts the answer and ends the entry's span. */
  finish(entry: Entry, answer: BatchAnswer): BatchAnswer {
    const outcome = outcomeOf(answer);
    decisionsTotal.of({ outcome }).add();
    const span = this.#spans?.get(entry);
    if (span === undefined) return answer;
    span.set({ 'gateway.admission.outcome': outcome });
    if (answer.kind === 'fault') span.fail(answer.code);
    span.end();
    return answer;
  }

  /**
   * The answer of an entry that could not be decided. What nobody foresaw is logged each time, as
   * an error.
   */
  fault(entry: Entry, error: unknown): BatchAnswer {
    const { id } = entry.body;
    const foreseen = error instanceof AdmissionFault;
    if (foreseen) {
      this.ports.log.debug({ id, err: error }, 'a call was not decided');
      this.undecided.warn({ err: error });
    } else this.ports.log.error({ id, err: error }, 'a call was not decided');
    const fault = { kind: 'fault' as const, id, code: foreseen ? error.code : ('admission_error' as const) };
    const mayHold = entry.kind === 'admit' && (!foreseen || error.mayHold);
    return this.finish(entry, mayHold ? { ...fault, mayHold } : fault);
  }

  /**
   * A span for each traced entry of these, as the child of its own; ends with the scripts. Null
   * when none is traced.
   */
  beginScripts(entries: readonly { readonly entry: Entry }[]): readonly Span[] | null {
    if (this.#spans === null) return null;
    return entries.flatMap(({ entry }) => this.beginScript(entry, entries.length) ?? []);
  }

  /** The same for one entry. */
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
   * Rejects when the work takes longer than the turn has left; what it does later is not waited
   * for.
   */
  within<T>(work: Promise<T>): Promise<T> {
    const late = () => new AdmissionFault('admission_error', 'not decided in time', { mayHold: true });
    return within(work, this.remainingMs(), late);
  }
}

function inParts(answers: readonly BatchAnswer[]): BatchAnswer[][] {
  const parts: BatchAnswer[][] = [];
  let bytes = Infinity;
  for (const answer of answers) {
    const most = bytesAtMost(answer);
    if (bytes + most > REPLY_BYTES_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(answer);
    bytes += most;
  }
  return parts;
}

/** No answer takes more than this in a message; counted, not written, for it is counted often. */
function bytesAtMost(answer: BatchAnswer): number {
  if (answer.kind === 'refused') return FIXED_BYTES + (answer.facts.allowedModels?.length ?? 0) * MODEL_BYTES;
  if (answer.kind !== 'admitted') return FIXED_BYTES;
  const { price, sources } = answer;
  const extras = price?.figures.extras === undefined ? 0 : EXTRAS_BYTES;
  const rows = price === null ? 0 : 1 + price.figures.tiers.length;
  return FIXED_BYTES + sources.length * SOURCE_BYTES + rows * PRICES_BYTES + extras;
}

function outcomeOf(answer: BatchAnswer) {
  if (answer.kind === 'refused') return String(answer.row);
  if (answer.kind !== 'admitted') return answer.kind;
  if (answer.repeated) return 'repeated';
  return answer.hold === null ? 'counted' : 'admitted';
}

/** Spans of the entries that are traced; null when none is. */
function openSpans(entries: readonly Entry[]): Map<Entry, Span> | null {
  let spans: Map<Entry, Span> | null = null;
  for (const entry of entries) {
    if (entry.body.traceparent === undefined) continue;
    spans ??= new Map();
    spans.set(entry, startSpan(`admission.${entry.kind}`, { parent: entry.body.traceparent, kind: 'server' }));
  }
  return spans;
}
