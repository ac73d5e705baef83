import { once } from 'node:events';
import { request, type Agent, type IncomingMessage } from 'node:http';

export const CHAT = '/v1/chat/completions';

export interface RequestContent {
  readonly port: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface RequestOptions extends RequestContent {
  /** Loopback address of the client; default: 127.0.0.1. */
  readonly from?: string;
  /** Default: a separate connection. */
  readonly agent?: Agent;
  readonly signal?: AbortSignal;
}

export interface SentRequest {
  /** The status, or the reason why there is no complete response. */
  readonly outcome: string;
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
}

/** Long, because a slow response is not a refusal: clients and attackers share this machine. */
const ANSWER_MS_MAX = 30_000;

/** Sends one request and reads the complete response. Never rejects. */
export async function sendRequest({
  from = '127.0.0.1',
  agent,
  signal,
  body,
  ...rest
}: RequestOptions): Promise<SentRequest> {
  const late = AbortSignal.timeout(ANSWER_MS_MAX);
  const ended = signal === undefined ? late : AbortSignal.any([late, signal]);
  try {
    const { port, method, path, headers = {} } = rest;
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request({
      host: '127.0.0.1',
      localAddress: from,
      port,
      method,
      path,
      headers: { ...type, ...headers },
      signal: ended,
      agent: agent ?? false,
    });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += String(chunk);
    return { outcome: String(answer.statusCode), text, headers: answer.headers };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { outcome: late.aborted ? 'no response' : (code ?? message), text: '', headers: {} };
  }
}
