import { systemClock } from '@gateway/service-kit';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Deadlines } from '../src/call/deadlines.js';
import { throwFault } from './throw-fault.js';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
});

/** A provider of plain chat completions that counts its concurrent requests. */
export interface CountingProvider {
  readonly url: string;
  requests: number;
  running: number;
  runningMost: number;
  /** Milliseconds until it responds. */
  takesMs: number;
  /** Status of its responses. */
  status: number;
  stop(): Promise<void>;
}

export async function startCountingProvider(): Promise<CountingProvider> {
  const deadlines = new Deadlines(systemClock, throwFault);
  const server = createServer((request, response) => {
    provider.requests += 1;
    provider.running += 1;
    provider.runningMost = Math.max(provider.runningMost, provider.running);
    request.resume();
    const answer = (): void => {
      provider.running -= 1;
      response.writeHead(provider.status, { 'content-type': 'application/json' });
      response.end(provider.status === 200 ? ANSWER : '{"error":{"message":"no"}}');
    };
    if (provider.takesMs === 0) request.on('end', answer);
    else deadlines.in(provider.takesMs, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider: CountingProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: 0,
    running: 0,
    runningMost: 0,
    takesMs: 0,
    status: 200,
    stop: () => {
      deadlines.stop();
      server.closeAllConnections();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
  return provider;
}
