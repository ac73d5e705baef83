import { Agent, request } from 'undici';
import type { EdgeClient } from '../../page-ports.js';

const CONNECTIONS_MAX = 64;
const CONNECT_MS = 5_000;
/** Longer than the edge's own deadline: it ends a call, not this. */
const ANSWER_MS_MAX = 660_000;

export interface RunningEdgeClient extends EdgeClient {
  stop(): Promise<void>;
}

/** Calls the gateway's edges over HTTP. */
export function makeEdgeClient(edgeUrl: string): RunningEdgeClient {
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    headersTimeout: ANSWER_MS_MAX,
    bodyTimeout: ANSWER_MS_MAX,
  });
  const address = `${edgeUrl.replace(/\/+$/, '')}/v1/chat/completions`;
  return {
    async chat(secret, body, signal) {
      const {
        statusCode,
        headers,
        body: stream,
      } = await request(address, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        dispatcher: agent,
        signal,
      });
      return { status: statusCode, headers, body: stream };
    },
    stop: () => agent.destroy(),
  };
}
