import type { IncomingMessage, ServerResponse } from 'node:http';
import { startHttpServer, type HttpServer } from '../../test/http-server.js';

/**
 * The provider refuses a prompt with this prefix with 400. The rest of the prompt is the error's
 * message.
 */
export const REPEAT = 'repeat: ';
/** The provider responds to this prompt with a text that exceeds all buffers on the path. */
export const LARGE = 'a large answer';

const LARGE_BYTES = 2 * 1024 * 1024;
const USAGE = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
const HEAD = { id: 'chatcmpl-1', created: 0, model: 'm' };

/** Computed once, because the valid load runs in the same process. */
const ANSWER = answerOf('Hello');
const LARGE_ANSWER = answerOf('x'.repeat(LARGE_BYTES));

/** A provider that responds immediately: plain, streamed, or as the prompt requests. */
export function startRepeatingProvider(): Promise<HttpServer> {
  return startHttpServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  const { messages, stream } = JSON.parse(text) as { messages: { content: string }[]; stream?: boolean };
  const prompt = messages[0]?.content ?? '';
  if (prompt.startsWith(REPEAT)) {
    const message = prompt.slice(REPEAT.length);
    send(response, 400, { error: { message, type: 'invalid_request_error', param: null, code: null } });
  } else if (stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const choice = (delta: object, reason: string | null) => [{ index: 0, delta, finish_reason: reason }];
    for (const event of [
      { choices: choice({ role: 'assistant', content: 'Hello' }, null) },
      { choices: choice({}, 'stop') },
      { choices: [], usage: USAGE },
    ]) {
      response.write(`data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...event })}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  } else {
    sendText(response, 200, prompt === LARGE ? LARGE_ANSWER : ANSWER);
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  sendText(response, status, Buffer.from(JSON.stringify(body)));
}

function sendText(response: ServerResponse, status: number, body: Buffer): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

function answerOf(content: string): Buffer {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  return Buffer.from(JSON.stringify({ ...HEAD, object: 'chat.completion', choices, usage: USAGE }));
}
