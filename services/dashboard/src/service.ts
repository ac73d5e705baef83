import { connectBus } from '@gateway/bus';
import { gauge, type RunningService, type ServiceContext } from '@gateway/service-kit';
import { fileURLToPath } from 'node:url';
import { startFlushing } from './access-log.js';
import { createApps, loadWebFiles, openListener, PAGES_CLIENT, serveApps, type AppsParts } from './apps.js';
import type { DASHBOARD_FIELDS } from './config.js';
import type { ClientBounds, Listener } from './http/listener.js';
import { createEdgeClient } from './people-api/models/edge-client.js';

/** Timeouts of a stop in milliseconds. A request may wait until its change is in force. */
export const STOP_STEP_MS = { requests: 10_000, bus: 3_000 } as const;

/**
 * Bounds for one client network on the operator API. Programs of operators send many concurrent
 * requests from one machine; the rest is for others.
 */
const OPERATOR_CLIENT: ClientBounds = { connections: 384, requests: 384, worked: 128, files: 16, streams: 0 };

export interface DashboardOptions extends Pick<AppsParts, 'passwordLogN' | 'tokenAttempts'> {
  readonly env?: NodeJS.ProcessEnv;
  /** Directory of the built pages; default: `web/dist` of this package. */
  readonly webDirectory?: string;
  /** Timeout in milliseconds for a client that reads nothing; tests set a shorter one. */
  readonly stalledMsMax?: number;
}

export interface RunningDashboard extends RunningService {
  /** URL of the operator API without its prefix; empty, with port 0, if it is not served. */
  readonly operatorUrl: string;
  readonly operatorPort: number;
  /** URL of the pages and their API; empty if they are not served. */
  readonly pagesUrl: string;
  /** Running requests on both listeners. */
  requestsOpen(): number;
  /** Bytes of memory that request bodies hold on both listeners. */
  bodyBytesHeld(): number;
}

/** Connects to the bus, opens the listeners, and resolves when their ports listen. */
export async function startDashboard(
  { config, log, clock, replica, ready }: ServiceContext<typeof DASHBOARD_FIELDS>,
  { env = process.env, webDirectory = WEB_DIRECTORY, passwordLogN, stalledMsMax, tokenAttempts }: DashboardOptions = {},
): Promise<RunningDashboard> {
  const web = loadWebFiles(webDirectory);
  if (web.index === null) log.warn({}, 'the pages are not built; only their API is served');
  const bus = await connectBus({ url: config.GATEWAY_NATS_URL.reveal(), service: 'dashboard', replica, log, clock });
  const edge = createEdgeClient(config.GATEWAY_EDGE_URL ?? config.GATEWAY_PUBLIC_URL);
  const parts = { config, services: bus, edge, web, env, clock, log, passwordLogN, tokenAttempts };
  const { context, operatorApp, pagesApp } = createApps(parts);
  const flushing = startFlushing(context.access);
  ready.add('bus', () => bus.connected() || 'not connected to the bus');
  const serves = config.GATEWAY_DASHBOARD_LISTENERS;
  const operator =
    serves === 'pages'
      ? null
      : await openListener({
          host: config.GATEWAY_OPERATOR_HOST,
          port: config.GATEWAY_OPERATOR_PORT,
          perClient: OPERATOR_CLIENT,
          proxies: 0,
          stalledMsMax,
          ...serveApps(() => operatorApp, clock),
        });
  const pages =
    serves === 'operator'
      ? null
      : await openListener({
          host: config.GATEWAY_DASHBOARD_HOST,
          port: config.GATEWAY_DASHBOARD_PORT,
          perClient: PAGES_CLIENT,
          proxies: config.GATEWAY_DASHBOARD_PROXIES,
          stalledMsMax,
          ...serveApps(() => pagesApp, clock),
        });
  const listeners = [operator, pages].filter((listener) => listener !== null);
  const sum = (count: (listener: Listener) => number): number =>
    listeners.reduce((total, listener) => total + count(listener), 0);
  if (operator !== null) {
    gauge('gateway_operator_requests_open', 'Running requests of the operator API', () => operator.requestsOpen());
    log.info({ host: config.GATEWAY_OPERATOR_HOST, port: operator.port }, 'the operator API listens');
  }
  if (pages !== null) {
    gauge('gateway_dashboard_requests_open', 'Running requests of pages', () => pages.requestsOpen());
    log.info({ host: config.GATEWAY_DASHBOARD_HOST, port: pages.port }, 'the dashboard listens');
  }

  return {
    operatorUrl: operator?.url ?? '',
    operatorPort: operator?.port ?? 0,
    pagesUrl: pages?.url ?? '',
    requestsOpen: () => sum((listener) => listener.requestsOpen()),
    bodyBytesHeld: () => sum((listener) => listener.bodyBytesHeld()),
    async stop() {
      await Promise.all(listeners.map((listener) => listener.close(STOP_STEP_MS.requests)));
      await edge.stop();
      await flushing.stop();
      await bus.drain(STOP_STEP_MS.bus);
    },
  };
}

const WEB_DIRECTORY = fileURLToPath(new URL('../web/dist', import.meta.url));
