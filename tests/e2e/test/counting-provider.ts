import type { IncomingMessage, ServerResponse } from 'node:http';
import { startHttpServer } from './http-server.js';

/** Counts of one model's calls at the provider. */
export interface ProviderCount {
  readonly calls: number;
  /** Highest number of concurrent calls. */
  readonly most: number;
}

export interface ProviderBehaviour {
  /** Delay between the complete request and the response. */
  readonly delayMs?: number;
  /** Every n-th call fails with 500. Absent: none. */
  readonly failEvery?: number;
}

/** A provider that counts calls. Its responses are short and equal, so thousands are cheap. */
export interface CountingProvider {
  readonly url: string;
  behave(upstream: string, behaviour: ProviderBehaviour): void;
  count(upstream: string): ProviderCount;
  close(): Promise<void>;
}

interface ModelCount {
  calls: number;
  running: number;
  most: number;
  behaviour: ProviderBehaviour;
}

const ANSWER = JSON.stringify({
  id: 'chatcmpl-counted',
  object: 'chat.completion',
  created: 0,
  model: 'counted',
  choices: [{ index: 0, message: { role: 'assistant', content: 'counted' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
});
const FAILURE = JSON.stringify({ error: { message: 'failed on purpose', type: 'server_error', code: null } });

/** Listens on a free port of this machine. */
export async function startCountingProvider(): Promise<CountingProvider> {
  const models = new Map<string, ModelCount>();
  const countedOf = (upstream: string): ModelCount => {
    const counted = models.get(upstream) ?? { calls: 0, running: 0, most: 0, behaviour: {} };
    models.set(upstream, counted);
    return counted;
  };
  const server = await startHttpServer((request, response) => {
    readModel(request).then(
      (model) => answer(countedOf(model), response),
      () => response.destroy(),
    );
  });
  return {
    url: server.url,
    behave(upstream, behaviour) {
      countedOf(upstream).behaviour = behaviour;
    },
    count(upstream) {
      const { calls, most } = countedOf(upstream);
      return { calls, most };
    },
    close: () => server.close(),
  };
}

async function readModel(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return (JSON.parse(body) as { model: string }).model;
}

/** Counts a call as running from its complete request until just before its response. */
function answer(counted: ModelCount, response: ServerResponse): void {
  counted.calls += 1;
  counted.running += 1;
  counted.most = Math.max(counted.most, counted.running);
  const { delayMs = 0, failEvery } = counted.behaviour;
  const fails = failEvery !== undefined && counted.calls % failEvery === 0;
  setTimeout(() => {
    counted.running -= 1;
    const body = fails ? FAILURE : ANSWER;
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    response.writeHead(fails ? 500 : 200, headers).end(body);
  }, delayMs);
}
