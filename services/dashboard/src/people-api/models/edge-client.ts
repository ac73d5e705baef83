import { Agent, request } from 'undici';
import type { Readable } from 'node:stream';

const CONNECTIONS_MAX = 64;
const CONNECT_MS = 5_000;
/** Longer than the edge's own deadline, so that the edge ends a request first. */
const ANSWER_MS_MAX = 660_000;

export interface EdgeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

export type EdgeClient = ReturnType<typeof createEdgeClient>;

/** Creates a client of the gateway's edges, over HTTP like any other client. */
export function createEdgeClient(edgeUrl: string) {
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    headersTimeout: ANSWER_MS_MAX,
    bodyTimeout: ANSWER_MS_MAX,
  });
  const address = `${edgeUrl.replace(/(?<!\/)\/+$/, '')}/v1/chat/completions`;
  return {
    /**
     * Sends one chat completion with a key and returns the response with its body as a stream.
     * Rejects if no edge responds.
     */
    async chat(secret: string, body: object, signal: AbortSignal): Promise<EdgeAnswer> {
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
    stop: (): Promise<void> => agent.destroy(),
  };
}
