import { connectBus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { gauge, type RunningService, type ServiceContext } from '@gateway/service-kit';
import type { Request, Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { makeSecrets } from './adapters/secrets.js';
import type { DASHBOARD_FIELDS } from './config.js';
import { refuse } from './domain/refuse.js';
import { openListener } from './http/listener.js';
import { sendAnswer } from './http/send-answer.js';
import { makeOperatorApp } from './operator/make-app.js';
import { brokenRequestAnswer, errorBody, REQUEST_ID_HEADER } from './operator/operator-error.js';
import type { Door } from './ports.js';
import { ROUTE_TABLE } from './routes/route-table.js';

/** Steps of a stop, in milliseconds: what is being answered may wait for a change to be in force. */
export const STOP_STEP_MS = { requests: 10_000, bus: 3_000 } as const;

export interface RunningDashboard extends RunningService {
  /** Where the operator API listens, without its prefix. */
  readonly operatorUrl: string;
  readonly operatorPort: number;
  /** Requests that are being answered. */
  requestsOpen(): number;
}

/** Joins the bus with the operator API; resolves when its port listens. */
export async function startDashboard(
  { config, log, clock, replica, ready }: ServiceContext<typeof DASHBOARD_FIELDS>,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunningDashboard> {
  const bus = await connectBus({ url: config.GATEWAY_NATS_URL.reveal(), service: 'dashboard', replica, log });
  const door: Door = { services: bus, secrets: makeSecrets(config, env), clock, log };
  const app = makeOperatorApp(door, ROUTE_TABLE);
  ready.add('bus', () => bus.connected() || 'not connected to the bus');
  const listener = await openListener({
    host: config.GATEWAY_OPERATOR_HOST,
    port: config.GATEWAY_OPERATOR_PORT,
    serve: (request, response) => void app(request as Request, response as Response),
    refuseBusy: (request, response) => refuseBusy(request, response, makeUuidV7(clock.nowMs())),
    brokenAnswer: () => brokenRequestAnswer(makeUuidV7(clock.nowMs())),
  });
  gauge('gateway_operator_requests_open', 'Requests that are being answered', () => listener.requestsOpen());
  log.info({ host: config.GATEWAY_OPERATOR_HOST, port: listener.port }, 'the operator API listens');

  return {
    operatorUrl: listener.url,
    operatorPort: listener.port,
    requestsOpen: () => listener.requestsOpen(),
    async stop() {
      await listener.close(STOP_STEP_MS.requests);
      await bus.drain(STOP_STEP_MS.bus);
    },
  };
}

function refuseBusy(request: IncomingMessage, response: ServerResponse, requestId: string): void {
  const refusal = refuse('dependency_unavailable', 'too many requests are being answered; try again shortly');
  response.setHeader(REQUEST_ID_HEADER, requestId);
  response.setHeader('retry-after', '1');
  sendAnswer(request, response, 503, errorBody(refusal, requestId));
}
