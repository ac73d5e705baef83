import { connectBus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { gauge, type RunningService, type ServiceContext } from '@gateway/service-kit';
import type { Express, Request, Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createEdgeClient } from './people-api/models/edge-client.js';
import { createPasswords } from './people-api/sign-in/passwords.js';
import { createSecrets } from './secrets.js';
import { createSessionSecrets } from './people-api/sign-in/session-secrets.js';
import { createTokenAttempts, type TokenAttempts } from './operator-api/token-attempts.js';
import { loadWebFiles } from './people-api/web-files.js';
import { createAccessLog, startFlushing } from './access-log.js';
import type { DASHBOARD_FIELDS } from './config.js';
import { settingsOf } from './people-api/settings.js';
import { openListener, type ClientBounds, type ListenerParts } from './http/listener.js';
import { sendAnswer } from './http/send-answer.js';
import { createOperatorApp } from './operator-api/app.js';
import { brokenRequestAnswer, errorBody, refuseForNow, REQUEST_ID_HEADER } from './http/refusals.js';
import { PAGE_TABLE } from './people-api/routes.js';
import type { PagesContext } from './people-api/route.js';
import { createPagesApp } from './people-api/app.js';
import { ROUTE_TABLE } from './operator-api/routes.js';

/** Steps of a stop, in milliseconds: what is being answered may wait for a change to be in force. */
export const STOP_STEP_MS = { requests: 10_000, bus: 3_000 } as const;

/** People, and whoever else reaches the pages: one laptop takes neither all places nor all connections. */
const PAGES_CLIENT: ClientBounds = { connections: 32, requests: 32, worked: 8, files: 8, streams: 16 };
/** Programs of operators work with many requests at once from one machine; it leaves connections for others. */
const OPERATOR_CLIENT: ClientBounds = { connections: 384, requests: 384, worked: 128, files: 16, streams: 0 };

export interface DashboardOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Where the built pages lie; `web/dist` of this package when absent. */
  readonly webDirectory?: string;
  /** The cost of new password hashes, for tests: the logarithm of scrypt's N. */
  readonly passwordLogN?: number;
  /** After how many milliseconds an answer that nobody takes is given up, for tests. */
  readonly stalledMsMax?: number;
  /** In place of the bounds on wrong operator tokens, for tests. */
  readonly tokenAttempts?: TokenAttempts | undefined;
}

export interface RunningDashboard extends RunningService {
  /** Where the operator API listens, without its prefix. */
  readonly operatorUrl: string;
  readonly operatorPort: number;
  /** Where the pages and their API listen. */
  readonly pagesUrl: string;
  /** Requests that are being answered, on both listeners. */
  requestsOpen(): number;
  /** Bytes of memory that bodies of requests hold, on both listeners. */
  bodyBytesHeld(): number;
}

/** Joins the bus with the operator API and the pages; resolves when both ports listen. */
export async function startDashboard(
  { config, log, clock, replica, ready }: ServiceContext<typeof DASHBOARD_FIELDS>,
  { env = process.env, webDirectory = WEB_DIRECTORY, passwordLogN, stalledMsMax, tokenAttempts }: DashboardOptions = {},
): Promise<RunningDashboard> {
  const web = loadWebFiles(webDirectory);
  if (web.index === null) log.warn({}, 'the pages are not built: only their API is served');
  const bus = await connectBus({ url: config.GATEWAY_NATS_URL.reveal(), service: 'dashboard', replica, log });
  const edge = createEdgeClient(config.GATEWAY_EDGE_URL ?? config.GATEWAY_PUBLIC_URL);
  const settings = settingsOf(config);
  const access = createAccessLog(bus, clock, log);
  const flushing = startFlushing(access);
  const context: PagesContext = {
    services: bus,
    access,
    secrets: createSecrets(config, env),
    attempts: tokenAttempts ?? createTokenAttempts(clock),
    sessions: createSessionSecrets(config, settings.config.keyPrefix),
    passwords: createPasswords(passwordLogN),
    edge,
    settings,
    clock,
    log,
  };
  const operatorApp = createOperatorApp(context, ROUTE_TABLE);
  const pagesApp = createPagesApp({ context, routes: PAGE_TABLE, web, operatorApp });
  ready.add('bus', () => bus.connected() || 'not connected to the bus');
  const nowMs = (): number => clock.nowMs();
  const operator = await openListener({
    host: config.GATEWAY_OPERATOR_HOST,
    port: config.GATEWAY_OPERATOR_PORT,
    perClient: OPERATOR_CLIENT,
    proxies: 0,
    stalledMsMax,
    ...servingOf(operatorApp, nowMs),
  });
  const pages = await openListener({
    host: config.GATEWAY_DASHBOARD_HOST,
    port: config.GATEWAY_DASHBOARD_PORT,
    perClient: PAGES_CLIENT,
    proxies: config.GATEWAY_DASHBOARD_PROXIES,
    stalledMsMax,
    ...servingOf(pagesApp, nowMs),
  });
  gauge('gateway_operator_requests_open', 'Requests that are being answered', () => operator.requestsOpen());
  gauge('gateway_dashboard_requests_open', 'Requests of pages that are being answered', () => pages.requestsOpen());
  log.info({ host: config.GATEWAY_OPERATOR_HOST, port: operator.port }, 'the operator API listens');
  log.info({ host: config.GATEWAY_DASHBOARD_HOST, port: pages.port }, 'the dashboard listens');

  return {
    operatorUrl: operator.url,
    operatorPort: operator.port,
    pagesUrl: pages.url,
    requestsOpen: () => operator.requestsOpen() + pages.requestsOpen(),
    bodyBytesHeld: () => operator.bodyBytesHeld() + pages.bodyBytesHeld(),
    async stop() {
      await Promise.all([operator.close(STOP_STEP_MS.requests), pages.close(STOP_STEP_MS.requests)]);
      await edge.stop();
      await flushing.stop();
      await bus.drain(STOP_STEP_MS.bus);
    },
  };
}

const WEB_DIRECTORY = fileURLToPath(new URL('../web/dist', import.meta.url));

function servingOf(app: Express, nowMs: () => number): Pick<ListenerParts, 'serve' | 'refuseBusy' | 'brokenAnswer'> {
  return {
    serve: (request, response) => void app(request as Request, response as Response),
    refuseBusy: (request, response) => refuseBusy(request, response, makeUuidV7(nowMs())),
    brokenAnswer: () => brokenRequestAnswer(makeUuidV7(nowMs())),
  };
}

function refuseBusy(request: IncomingMessage, response: ServerResponse, requestId: string): void {
  const refusal = refuseForNow();
  response.setHeader(REQUEST_ID_HEADER, requestId);
  response.setHeader('retry-after', String(refusal.retryAfterSeconds));
  sendAnswer(request, response, 503, errorBody(refusal, requestId));
}
