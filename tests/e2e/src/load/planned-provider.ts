import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { pieceOf, tokensOf } from './call-plan.js';
import type { CallPlan } from './call-plan.js';
import type { ProviderCall } from '../evidence/evidence.js';
import { ANSWER_FORMATS } from './answer-formats.js';
import type { AnswerFormat } from './answer-formats.js';
import { startHttpServer } from '../../test/http-server.js';

/** A provider that follows the instructions in the prompt and logs every request. */
export interface PlannedProvider {
  /** Base URL. The name of a source is the first part of the path: `<url>/a`. */
  readonly url: string;
  readonly calls: readonly ProviderCall[];
  readonly running: number;
  close(): Promise<void>;
}

type Instruction = Pick<CallPlan, 'pieces' | 'pieceBytes' | 'pieceMs' | 'part'> & { readonly call: number };

interface Running {
  n: number;
  source: string;
  ending: ProviderCall['ending'];
  usage: ProviderCall['usage'];
  begunAt: number;
  endedAt: number | null;
}

export async function startPlannedProvider(): Promise<PlannedProvider> {
  const calls: Running[] = [];
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

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  log: (call: Running) => boolean,
): Promise<void> {
  const [, source = '', ...path] = (request.url ?? '').split('/');
  const format = ANSWER_FORMATS[`/${path.join('/')}`];
  if (format === undefined) throw new Error(`no such path: ${request.url}`);
  const body = await readJson(request);
  const instruction = JSON.parse(body.messages[0]?.content ?? '') as Instruction;
  const call: Running = {
    n: instruction.call,
    source,
    ending: 'running',
    usage: null,
    begunAt: Date.now(),
    endedAt: null,
  };
  const part = log(call) ? instruction.part : 'answers';
  response.on('close', () => {
    call.endedAt ??= Date.now();
    if (call.ending === 'running') call.ending = response.writableFinished ? 'whole' : 'left';
  });
  if (part === 'unavailable' || part === 'fails') {
    call.ending = 'failed';
    const refusal = JSON.stringify({ error: { type: 'server_error', message: 'failed on purpose' } });
    response.writeHead(part === 'fails' ? 500 : 503, { 'content-type': 'application/json' }).end(refusal);
    return;
  }
  if (part === 'answers') call.usage = tokensOf(call.n);
  const write = body.stream === true ? writeStream : writePlain;
  await write(response, format, instruction, part === 'cuts' ? Math.ceil(instruction.pieces / 2) : instruction.pieces);
  if (part === 'cuts') {
    call.ending = 'cut';
    response.destroy();
    return;
  }
  response.end();
}

async function writeStream(
  response: ServerResponse,
  format: AnswerFormat,
  instruction: Instruction,
  pieces: number,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(format.begin(tokensOf(instruction.call)));
  for (let index = 0; index < pieces && !response.destroyed; index += 1) {
    if (instruction.pieceMs > 0) await delay(instruction.pieceMs);
    const room = response.write(format.piece(pieceOf(instruction.call, index, instruction.pieceBytes)));
    if (!room && !response.destroyed) await roomIn(response);
  }
  if (pieces === instruction.pieces) response.write(format.end(tokensOf(instruction.call)));
}

function roomIn(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

async function writePlain(
  response: ServerResponse,
  format: AnswerFormat,
  instruction: Instruction,
  pieces: number,
): Promise<void> {
  await delay(instruction.pieceMs);
  let text = '';
  for (let index = 0; index < instruction.pieces; index += 1)
    text += pieceOf(instruction.call, index, instruction.pieceBytes);
  const answer = format.plain(text, tokensOf(instruction.call));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
  response.write(pieces === instruction.pieces ? answer : answer.slice(0, answer.length / 2));
}

interface InstructionBody {
  readonly stream?: boolean;
  readonly messages: readonly { readonly content: string }[];
}

async function readJson(request: IncomingMessage): Promise<InstructionBody> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return JSON.parse(body) as InstructionBody;
}
