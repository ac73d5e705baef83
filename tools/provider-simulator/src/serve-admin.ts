import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { ProviderSimulator } from './start-provider-simulator.js';

/** Serves health and metrics on a second address. Port 0 selects a free port. */
export async function serveAdmin(simulator: ProviderSimulator, host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const page = request.method === 'GET' ? pageOf(request.url ?? '/', simulator) : undefined;
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(page ?? 'not found\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  return server;
}

/** The listeners open before this address, so healthy and ready are the same. */
function pageOf(url: string, simulator: ProviderSimulator): string | undefined {
  if (url === '/healthz' || url === '/readyz') return 'ok\n';
  if (url !== '/metrics') return undefined;
  const { calls, aborted, scriptsQueued } = simulator.counters();
  return [
    '# HELP provider_simulator_calls_total Model calls received.',
    '# TYPE provider_simulator_calls_total counter',
    `provider_simulator_calls_total{listener="a"} ${calls.a}`,
    `provider_simulator_calls_total{listener="b"} ${calls.b}`,
    '# HELP provider_simulator_calls_aborted_total Calls whose client disconnected before the response ended.',
    '# TYPE provider_simulator_calls_aborted_total counter',
    `provider_simulator_calls_aborted_total ${aborted}`,
    '# HELP provider_simulator_scripts_queued Scripts that wait for a call.',
    '# TYPE provider_simulator_scripts_queued gauge',
    `provider_simulator_scripts_queued ${scriptsQueued}`,
    '',
  ].join('\n');
}
