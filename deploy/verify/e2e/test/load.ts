import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { HELLO } from './call.js';

/** What a client saw of one call. */
export interface Seen {
  /** Null when the connection broke before a head arrived. */
  readonly requestId: string | null;
  readonly status: number | null;
  /** A 200 whose end was the one of a complete answer. */
  readonly complete: boolean;
  /** What the provider said in the answer that it used. */
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly account: string;
  readonly body: string;
  readonly begunAt: string;
  /** When the client had all of it. */
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
  /** Calls of one caller at a time. */
  readonly atOnce: number;
  /** Between two calls of one lane; absent: none, as much load as the machine bears. */
  readonly pauseMs?: number;
}

export interface Load {
  /** Grows with every answer. */
  readonly seen: readonly Seen[];
  /** May be called twice. */
  stop(): Promise<readonly Seen[]>;
}

const RETRY_MS = 20;

/**
 * Keeps every caller calling, plain and streamed in turn, until told to stop; then waits for the
 * last answers.
 */
export function startLoad(options: LoadOptions): Load {
  const seen: Seen[] = [];
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
  const end = async (): Promise<readonly Seen[]> => {
    await Promise.all(workers);
    await agent.close();
    return seen;
  };
  let ended: Promise<readonly Seen[]> | undefined;
  return {
    seen,
    stop() {
      stopped = true;
      return (ended ??= end());
    },
  };
}

async function callOnce(options: LoadOptions, caller: Caller, n: number, agent: Agent): Promise<Seen> {
  const stream = n % 2 === 0;
  // Plain and streamed at each of the edges.
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
    // A killed edge: the connection is refused, reset or cut. A client that cannot connect tries
    // again a little later.
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

function usageOf(body: string, stream: boolean): Seen['usage'] {
  if (!stream) return (JSON.parse(body) as { usage: Seen['usage'] }).usage;
  const sseEvents = body.split('\n\n').filter((sseEvent) => sseEvent.startsWith('data: {'));
  const last = sseEvents
    .map((sseEvent) => JSON.parse(sseEvent.slice(6)) as { usage?: Seen['usage'] })
    .findLast(({ usage }) => usage);
  return last?.usage ?? null;
}
