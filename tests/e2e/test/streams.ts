import type { ProviderSimulator } from '@gateway/provider-simulator';
import { request } from 'undici';
import { HELLO } from './call.js';
import type { Caller } from './load.js';

/** A stream whose first chunk has arrived. */
export interface OpenStream {
  readonly requestId: string;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<StreamEnd>;
}

export interface StreamEnd {
  readonly text: string;
  /** True if it ended like a complete response. */
  readonly complete: boolean;
  /** True if the connection broke before the response ended. */
  readonly cut: boolean;
}

const FIRST_WORDS = sseEvent({ choices: [{ index: 0, delta: { content: 'first words' } }] });
const DONE = 'data: [DONE]\n\n';
const STREAM_HEAD = { status: 200, headers: { 'content-type': 'text/event-stream' } };

/**
 * Scripts the next `times` calls of the model. Each sends a first chunk and then waits for
 * `simulator.release(upstream)`.
 */
export function scriptHeldStreams(simulator: ProviderSimulator, upstream: string, times: number): void {
  const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
  const steps = [
    STREAM_HEAD,
    { chunk: FIRST_WORDS },
    { waitFor: upstream },
    { chunk: sseEvent({ choices: [], usage }) },
    { chunk: DONE },
    { end: 'normal' as const },
  ];
  simulator.script({ model: upstream, times, steps });
}

/** Opens `count` streams at the edges in turn. Resolves when each has its first chunk. */
export function openStreams(
  count: number,
  edgeUrls: readonly string[],
  caller: Caller,
  model: string,
): Promise<OpenStream[]> {
  const open = async (_: unknown, n: number): Promise<OpenStream> => {
    const answer = await request(`${edgeUrls[n % edgeUrls.length]}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${caller.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: HELLO, stream: true }),
    });
    if (answer.statusCode !== 200) throw new Error(`a stream was refused: ${await answer.body.text()}`);
    return beginStream(answer);
  };
  return Promise.all(Array.from({ length: count }, open));
}

async function beginStream(answer: Awaited<ReturnType<typeof request>>): Promise<OpenStream> {
  let onWords: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    onWords = resolve;
  });
  const ended = readStream(answer.body, onWords);
  await Promise.race([begun, ended]);
  return { requestId: String(answer.headers['x-gateway-request-id']), ended };
}

async function readStream(body: AsyncIterable<Buffer>, onWords: () => void): Promise<StreamEnd> {
  let text = '';
  let cut = false;
  try {
    for await (const chunk of body) {
      text += String(chunk);
      onWords();
    }
  } catch {
    cut = true;
  }
  return { text, complete: !cut && text.endsWith(DONE), cut };
}

function sseEvent(content: object): string {
  return `data: ${JSON.stringify(content)}\n\n`;
}
