import { makeUuidV7 } from '@gateway/contracts/ids';
import { refuse } from '@gateway/contracts/operator';
import type { Clock, Logger } from '@gateway/service-kit';
import type { Express, Request, Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createAccessLog } from './access-log.js';
import type { ClientBounds, ListenerParts } from './http/listener.js';
import { formatMalformedResponse, errorBody, refuseForNow, REQUEST_ID_HEADER } from './http/refusals.js';
import { sendResponse } from './http/send-answer.js';
import { createOperatorApp } from './operator-api/app.js';
import type { Services } from './operator-api/route.js';
import { ROUTE_TABLE } from './operator-api/routes.js';
import { createTokenAttempts, type TokenAttempts } from './operator-api/token-attempts.js';
import { createPagesApp } from './people-api/app.js';
import type { EdgeClient } from './people-api/models/edge-client.js';
import type { PagesContext } from './people-api/route.js';
import { PAGE_TABLE } from './people-api/routes.js';
import { createSettings, type SettingsConfig } from './people-api/settings.js';
import { createPasswords } from './people-api/sign-in/passwords.js';
import { createSessionSecrets, type SessionSecretsConfig } from './people-api/sign-in/session-secrets.js';
import type { WebFiles } from './people-api/web-files.js';
import { createSecrets, type SecretsConfig } from './secrets.js';

export { openListener } from './http/listener.js';
export { loadWebFiles } from './people-api/web-files.js';

/** Bounds per client network, below the bounds of all clients, which one computer cannot use up. */
export const PAGES_CLIENT: ClientBounds = { connections: 32, requests: 32, worked: 8, files: 8, streams: 16 };

export interface AppsParts {
  readonly config: SecretsConfig & SessionSecretsConfig & SettingsConfig;
  readonly services: Services;
  readonly edge: EdgeClient;
  readonly web: WebFiles;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly log: Logger;
  /** log2 of scrypt's N for new password hashes; tests set a cheaper one. */
  readonly passwordLogN?: number | undefined;
  /** Replaces the bounds on wrong operator tokens in tests. */
  readonly tokenAttempts?: TokenAttempts | undefined;
}

/**
 * Creates the pages and both APIs as Express applications over the given services: the bus, or
 * fixtures. Nothing listens yet.
 */
export function createApps({ config, web, env, passwordLogN, tokenAttempts, ...parts }: AppsParts) {
  const { services, clock, log } = parts;
  const settings = createSettings(config);
  const context: PagesContext = {
    ...parts,
    access: createAccessLog(services, clock, log),
    secrets: createSecrets(config, env),
    attempts: tokenAttempts ?? createTokenAttempts(clock),
    sessions: createSessionSecrets(config, settings.config.keyPrefix),
    passwords: createPasswords(passwordLogN),
    settings,
  };
  const operatorApp = createOperatorApp(context, ROUTE_TABLE);
  return { context, operatorApp, pagesApp: createPagesApp({ context, routes: PAGE_TABLE, web, operatorApp }) };
}

/** Serves applications on a listener; `appOf` selects the application for a request. */
export function serveApps(
  appOf: (request: IncomingMessage) => Express,
  { nowMs }: Clock,
): Pick<ListenerParts, 'serve' | 'refuse' | 'brokenAnswer'> {
  return {
    serve: (request, response) => void appOf(request)(request as Request, response as Response),
    refuse: (why, request, response) => refuseUnserved(why, request, response, makeUuidV7(nowMs())),
    brokenAnswer: () => formatMalformedResponse(makeUuidV7(nowMs())),
  };
}

function refuseUnserved(
  why: Parameters<ListenerParts['refuse']>[0],
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): void {
  response.setHeader(REQUEST_ID_HEADER, requestId);
  if (why === 'host') {
    const refusal = refuse('invalid_request', 'an HTTP/1.1 request needs exactly one Host header');
    return void sendResponse(request, response, 400, errorBody(refusal, requestId));
  }
  const refusal = refuseForNow();
  response.setHeader('retry-after', String(refusal.retryAfterSeconds));
  sendResponse(request, response, 503, errorBody(refusal, requestId));
}
