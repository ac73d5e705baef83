import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { startHttpServer } from '../../test/http-server.js';
import { chatAnswer, eventText, messageAnswer, type ScriptedAnswer, textBlock } from '../../test/scripted-provider.js';
import type { ProviderCall } from '../evidence/evidence.js';
import { type Instruction, piecesOf, tokensOf } from './call-plan.js';

/** A provider that follows the instructions in the prompt and logs every request. */
export interface PlannedProvider {
  /** Base URL. The name of a source is the first part of the path: `<url>/a`. */
  readonly url: string;
  readonly calls: readonly ProviderCall[];
  readonly running: number;
  close(): Promise<void>;
}

type LoggedCall = { -readonly [Name in keyof ProviderCall]: ProviderCall[Name] };

export async function startPlannedProvider(): Promise<PlannedProvider> {
  const calls: LoggedCall[] = [];
  let running = 0;
  /** Calls that had a first attempt. Later attempts are served. */
  const begun = new Set<number>();
  const server = await startHttpServer((request, response) => {
    running += 1;
    response.on('close', () => {
      running -= 1;
    });
    serve(request, response, (call) => {
      calls.push(call);
      const isFirst = !begun.has(call.n);
      begun.add(call.n);
      return isFirst;
    }).catch(() => response.destroy());
  });
  return {
    url: server.url,
    calls,
    get running() {
      return running;
    },
    close: () => server.close(),
  };
}

interface InstructionBody {
  readonly stream?: boolean;
  readonly messages: readonly { readonly content: string }[];
}

/** @param log returns whether this is the first attempt of the call */
async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  log: (call: LoggedCall) => boolean,
): Promise<void> {
  const [, source = '', ...path] = (request.url ?? '').split('/');
  const { stream = false, messages } = (await json(request)) as InstructionBody;
  const instruction = JSON.parse(messages[0]?.content ?? '') as Instruction;
  const parts = partsOf(`/${path.join('/')}`, instruction, stream);
  const { n, pauseMs } = instruction;
  const call: LoggedCall = { n, source, ending: 'running', usage: null, begunAt: Date.now(), endedAt: null };
  const part = log(call) ? instruction.part : 'answers';
  const closed = new Promise<void>((resolve) => {
    response.on('close', () => {
      call.endedAt = Date.now();
      if (call.ending === 'running') call.ending = response.writableFinished ? 'whole' : 'left';
      resolve();
    });
  });
  if (part === 'unavailable' || part === 'fails') {
    call.ending = 'failed';
    const refusal = JSON.stringify({ error: { type: 'server_error', message: 'failed on purpose' } });
    response.writeHead(part === 'fails' ? 500 : 503, { 'content-type': 'application/json' }).end(refusal);
    return;
  }
  if (part === 'answers') call.usage = tokensOf(n);
  const bytes = parts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const plainHead = { 'content-type': 'application/json', 'content-length': bytes };
  response.writeHead(200, stream ? { 'content-type': 'text/event-stream' } : plainHead);
  for (const text of part === 'cuts' ? parts.slice(0, parts.length / 2) : parts) {
    if (pauseMs > 0) await delay(pauseMs);
    if (response.destroyed) return;
    if (!response.write(text)) await Promise.race([once(response, 'drain'), closed]);
  }
  if (part !== 'cuts') response.end();
  else {
    call.ending = 'cut';
    response.destroy();
  }
}

/** Returns the events of a stream, or both halves of a plain response. */
function partsOf(path: string, instruction: Instruction, isStream: boolean): string[] {
  const { plain, events } = answerOf(path, instruction);
  if (isStream) return [...events.map(eventText), ...(path === '/v1/messages' ? [] : ['data: [DONE]\n\n'])];
  const body = JSON.stringify(plain);
  return [body.slice(0, body.length / 2), body.slice(body.length / 2)];
}

function answerOf(path: string, instruction: Instruction): ScriptedAnswer {
  const { input, output } = tokensOf(instruction.n);
  const texts = piecesOf(instruction);
  if (path === '/v1/chat/completions') {
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
    return chatAnswer(usage, {}, texts);
  }
  if (path !== '/v1/messages') throw new Error(`no such path: ${path}`);
  const usage = { input_tokens: input, output_tokens: output };
  const { plain, events } = messageAnswer([textBlock(texts.join(''))], usage);
  const isText = (event: object): boolean => 'type' in event && event.type === 'content_block_delta';
  const deltas = texts.map((text) => ({ index: 0, delta: { type: 'text_delta', text } }));
  return {
    plain,
    events: events.flatMap((event) => (isText(event) ? deltas.map((one) => ({ ...event, ...one })) : event)),
  };
}
