import { startHttpServer } from '../../test/http-server.js';

export interface ReplayedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly isStream: boolean;
}

export interface ReplayingProvider {
  urlOf(at: number): string;
  close(): Promise<void>;
}

/**
 * Starts a provider on a free port of this machine. The first part of the path selects the
 * response.
 */
export async function startReplayingProvider(answers: readonly ReplayedAnswer[]): Promise<ReplayingProvider> {
  const server = await startHttpServer((request, response) => {
    const answer = answers[Number(request.url?.split('/')[1])];
    request.resume();
    request.on('end', () => {
      if (answer === undefined) return response.destroy();
      const { status, headers, text, isStream } = answer;
      const type = { 'content-type': isStream ? 'text/event-stream' : 'application/json' };
      response.writeHead(status, { ...type, ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
    });
  });
  return {
    urlOf: (at) => `${server.url}/${at}`,
    close: () => server.close(),
  };
}
