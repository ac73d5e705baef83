import type { SourceAttempt, SourceReader, SourceRequest, SourceSender } from '@gateway/edge-proxy/ports.js';
import type { RunParts } from '../hosts/run-parts.js';
import type { ProviderPlan } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';

const HEADERS_PLAIN = { 'content-type': 'application/json' };
const HEADERS_STREAM = { 'content-type': 'text/event-stream' };
/** One chunk of generated text. */
const CHUNK_TEXT = 'word ';

type AnswerPlan = Extract<ProviderPlan, { kind: 'answer' }>;

/** The providers as one edge sees them. Each attempt follows the scenario's plan. */
export class SimulatedSources implements SourceSender {
  constructor(
    private readonly world: RunParts,
    private readonly host: Host,
  ) {}

  send({ body }: SourceRequest, reader: SourceReader): SourceAttempt {
    const sent = JSON.parse(Buffer.concat([...body]).toString()) as {
      stream?: boolean;
      messages: { content: string }[];
    };
    const call = Number(sent.messages[0]?.content);
    const plan = this.world.truth.dispatched(call);
    return new SourceExchangePlay(this.world, this.host, call, sent.stream === true, plan, reader);
  }
}

/** Plays one request to a source and its response, chunk by chunk. */
class SourceExchangePlay implements SourceAttempt {
  #isOver = false;
  #isPaused = false;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly world: RunParts,
    private readonly host: Host,
    private readonly call: number,
    private readonly streamed: boolean,
    plan: ProviderPlan,
    private readonly reader: SourceReader,
  ) {
    if (plan.kind === 'unreachable') {
      this.#in(plan.delayMs, () => this.#fail('unreachable'));
      return;
    }
    this.#in(0, () => reader.sent());
    if (plan.kind === 'status') this.#in(plan.delayMs, () => this.#refuse(plan.status));
    else this.#in(plan.delayMs, () => this.#begin(plan));
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
    this.reader.head(status, HEADERS_PLAIN);
    this.#in(1, () => this.#data('{"error":{"message":"no"}}'));
    this.#in(2, () => this.#end());
  }

  #begin(plan: AnswerPlan): void {
    this.reader.head(200, this.streamed ? HEADERS_STREAM : HEADERS_PLAIN);
    const pieces = this.streamed ? streamPieces(plan) : plainPieces(plan);
    let at = 1;
    for (const [index, piece] of pieces.entries()) {
      if (plan.breaksAfter !== null && index >= Math.min(plan.breaksAfter.chunks, pieces.length - 1)) {
        if (plan.breaksAfter.how === 'cut') this.#in(at, () => this.#fail('broken'));
        return;
      }
      this.#in(at, () => {
        if (piece.includes('"usage"')) this.world.truth.reported(this.call, plan.usage);
        if (index === pieces.length - 1) this.world.truth.lastPiece(this.call);
        this.#data(piece);
      });
      at += plan.gapMs;
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
  const content = CHUNK_TEXT.repeat(chunks);
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' };
  const text = JSON.stringify({ id: 'c', choices: [choice], ...(usage && { usage: toUsage(usage) }) });
  const half = text.length >> 1;
  return [text.slice(0, half), text.slice(half)];
}

function streamPieces({ chunks, usage }: AnswerPlan): string[] {
  const pieces: string[] = [];
  for (let chunk = 0; chunk < chunks; chunk += 1)
    pieces.push(frame({ choices: [{ index: 0, delta: { content: CHUNK_TEXT } }] }));
  pieces.push(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
  if (usage !== null) pieces.push(frame({ choices: [], usage: toUsage(usage) }));
  pieces.push('data: [DONE]\n\n');
  return pieces;
}

function toUsage({ input, output }: { readonly input: number; readonly output: number }) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function frame(body: object): string {
  return `data: ${JSON.stringify({ id: 'c', ...body })}\n\n`;
}
