import type { SourceAttempt, SourceReader, SourceRequest, SourceSender } from '@gateway/edge-proxy/ports.js';
import type { CallTruth } from '../check/truth.js';
import type { RunParts } from '../hosts/run-parts.js';
import type { AnswerPlan } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';

/** One chunk of generated text. */
const CHUNK_TEXT = 'word ';

/** The providers as one edge sees them. Each attempt follows the scenario's plan. */
export class SimulatedSources implements SourceSender {
  constructor(
    private readonly world: RunParts,
    private readonly host: Host,
  ) {}

  send({ body }: SourceRequest, reader: SourceReader): SourceAttempt {
    const text = Buffer.concat([...body]).toString();
    const { stream = false, messages } = JSON.parse(text) as { stream?: boolean; messages: { content: string }[] };
    const call = this.world.truth.calls[Number(messages[0]?.content)];
    if (call === undefined) throw new Error(`no call has this body: ${text}`);
    return new SimulatedAttempt(this.world, this.host, call, stream, reader);
  }
}

/** Plays one request to a source and its response, chunk by chunk. */
class SimulatedAttempt implements SourceAttempt {
  #isOver = false;
  #isPaused = false;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly world: RunParts,
    private readonly host: Host,
    private readonly call: CallTruth,
    private readonly isStreamed: boolean,
    private readonly reader: SourceReader,
  ) {
    const plan = world.truth.dispatched(call);
    if (plan.kind !== 'unreachable') this.#in(0, () => reader.sent());
    this.#in(plan.delayMs, () => {
      if (plan.kind === 'unreachable') this.#fail('unreachable');
      else if (plan.kind === 'status') this.#refuse(plan.status);
      else this.#begin(plan);
    });
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    for (const work of this.#waiting.splice(0)) this.#in(0, work);
  }

  abort(): void {
    this.#isOver = true;
  }

  #refuse(status: number): void {
    this.reader.head(status, { 'content-type': 'application/json' });
    this.#in(1, () => this.#data('{"error":{"message":"no"}}'));
    this.#in(2, () => this.#end());
  }

  #begin(plan: AnswerPlan): void {
    const { usage, breaksAfter, gapMs } = plan;
    this.reader.head(200, { 'content-type': this.isStreamed ? 'text/event-stream' : 'application/json' });
    const pieces = this.isStreamed ? streamPieces(plan) : plainPieces(plan);
    let at = 1;
    for (const [index, piece] of pieces.entries()) {
      if (breaksAfter !== null && index >= Math.min(breaksAfter.chunks, pieces.length - 1)) {
        if (breaksAfter.how === 'cut') this.#in(at, () => this.#fail('broken'));
        return;
      }
      this.#in(at, () => {
        const { time } = this.world;
        if (piece.includes('"usage"')) this.call.reported = usage;
        if (index === pieces.length - 1) this.call.lastPieceAt = time.now - time.startedAt;
        this.#data(piece);
      });
      at += gapMs;
    }
    this.#in(at, () => this.#end());
  }

  #data(text: string): void {
    if (this.#isPaused) this.#waiting.push(() => this.#data(text));
    else this.reader.data(Buffer.from(text));
  }

  #end(): void {
    if (this.#isPaused) return void this.#waiting.push(() => this.#end());
    this.#isOver = true;
    this.reader.end(false);
  }

  #fail(kind: 'unreachable' | 'broken'): void {
    this.#isOver = true;
    this.reader.failed({ kind, reused: false, reason: kind });
  }

  #in(ms: number, work: () => void): void {
    this.world.time.in(this.host, ms, () => {
      if (!this.#isOver) work();
    });
  }
}

function plainPieces({ chunks, usage }: AnswerPlan): string[] {
  const message = { role: 'assistant', content: CHUNK_TEXT.repeat(chunks) };
  const body = { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], ...toUsage(usage) };
  const text = JSON.stringify(body);
  const half = text.length >> 1;
  return [text.slice(0, half), text.slice(half)];
}

function streamPieces({ chunks, usage }: AnswerPlan): string[] {
  const texts = Array.from({ length: chunks }, () => ({
    choices: [{ index: 0, delta: { content: CHUNK_TEXT } }],
  }));
  const last = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const events = [...texts, last, ...(usage === null ? [] : [{ choices: [], ...toUsage(usage) }])];
  return [...events.map((event) => `data: ${JSON.stringify({ id: 'c', ...event })}\n\n`), 'data: [DONE]\n\n'];
}

/** Returns the member of a response with the reported tokens, if there are any. */
function toUsage(usage: AnswerPlan['usage']) {
  if (usage === null) return {};
  const { input, output } = usage;
  return { usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } };
}
