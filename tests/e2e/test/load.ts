import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { HELLO } from './call.js';

/** One call as its client saw it. */
export interface ClientResult {
  /** Null if the connection broke before the response's head. */
  readonly requestId: string | null;
  readonly status: number | null;
  /** True for a 200 response with the end of a complete response. */
  readonly complete: boolean;
  /** Usage that the provider reported in the response. */
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly account: string;
  readonly body: string;
  readonly begunAt: string;
  /** Time when the client had the complete response. */
  readonly endedAt: string;
}

export interface Caller {
  readonly account: string;
  readonly secret: string;
}

export interface LoadOptions {
  readonly urls: readonly string[];
  readonly model: string;
  readonly callers: readonly Caller[];
  /** Concurrent calls of one caller. */
  readonly atOnce: number;
  /**
   * Pause between two calls of one worker. Absent: no pause, so the load is as high as the machine
   * allows.
   */
  readonly pauseMs?: number;
}

export interface Load {
  /** Grows with every response. */
  readonly seen: readonly ClientResult[];
  /** May be called twice. */
  stop(): Promise<readonly ClientResult[]>;
}

const RETRY_MS = 20;

/**
 * Lets every caller send plain and streaming requests in turn until it is stopped, then waits for
 * the last responses.
 */
export function startLoad(options: LoadOptions): Load {
  const seen: ClientResult[] = [];
  const agent = new Agent({ connections: 64, headersTimeout: 60_000, bodyTimeout: 60_000 });
  let stopped = false;
  let n = 0;
  const workers = options.callers.flatMap((caller) =>
    Array.from({ length: options.atOnce }, async () => {
      while (!stopped) {
        n += 1;
        seen.push(await callOnce(options, caller, n, agent));
        if (options.pauseMs !== undefined) await delay(options.pauseMs);
      }
    }),
  );
  const end = async (): Promise<readonly ClientResult[]> => {
    await Promise.all(workers);
    await agent.close();
    return seen;
  };
  let ended: Promise<readonly ClientResult[]> | undefined;
  return {
    seen,
    stop() {
      stopped = true;
      return (ended ??= end());
    },
  };
}

async function callOnce(options: LoadOptions, caller: Caller, n: number, agent: Agent): Promise<ClientResult> {
  const stream = n % 2 === 0;
  // Sends plain and streaming requests to each edge.
  const url = options.urls[Math.floor(n / 2) % options.urls.length] ?? '';
  const begunAt = new Date().toISOString();
  let requestId: string | null = null;
  let status: number | null = null;
  let body = '';
  let whole = false;
  try {
    const answer = await request(`${url}/v1/chat/completions`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${caller.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: options.model,
        messages: HELLO,
        ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
      }),
    });
    requestId = String(answer.headers['x-gateway-request-id']);
    status = answer.statusCode;
    for await (const chunk of answer.body) body += String(chunk);
    whole = true;
  } catch {
    // The edge was killed: the connection was refused, reset or cut. A client that cannot connect
    // retries a little later.
    await delay(RETRY_MS);
  }
  const complete = whole && status === 200 && (stream ? body.includes('data: [DONE]') : true);
  return {
    requestId,
    status,
    complete,
    usage: complete ? usageOf(body, stream) : null,
    account: caller.account,
    body,
    begunAt,
    endedAt: new Date().toISOString(),
  };
}

function usageOf(body: string, stream: boolean): ClientResult['usage'] {
  if (!stream) return (JSON.parse(body) as { usage: ClientResult['usage'] }).usage;
  const sseEvents = body.split('\n\n').filter((sseEvent) => sseEvent.startsWith('data: {'));
  const last = sseEvents
    .map((sseEvent) => JSON.parse(sseEvent.slice(6)) as { usage?: ClientResult['usage'] })
    .findLast(({ usage }) => usage);
  return last?.usage ?? null;
}
