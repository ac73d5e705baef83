import { type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import type { EdgeSettings } from '../call/call.js';
import { type CallParts, handleModelCall } from '../call/handle-model-call.js';
import { refuse } from '../call/respond.js';
import { ENDPOINT_TABLE, type EndpointStyle } from '../formats/endpoints.js';
import { type ListParts, listModels, showConfig, showUsage } from '../lists/lists.js';
import type { ClientRequest } from '../ports.js';

/** Serves one request. A rejection is a fault of the edge. */
export type Route = (request: ClientRequest) => Promise<void>;

/**
 * Paths whose responses have the messages envelope, for any method (docs/behaviour.md#envelopes).
 */
const MESSAGES_PATHS: ReadonlySet<string> = new Set(['/v1/messages', '/v1/messages/count_tokens']);

/** The served routes: methods and raw paths, compared byte by byte (docs/behaviour.md#paths). */
export interface RouteTable {
  find(method: string, path: string): Route | undefined;
  styleOf(path: string): EndpointStyle;
  /** The response when a route fails. */
  readonly fault: GatewayError;
}

export function makeRouteTable(
  routes: readonly { readonly method: string; readonly path: string; readonly route: Route }[],
  fault: GatewayError,
): RouteTable {
  const byPath = new Map<string, Map<string, Route>>();
  for (const { method, path, route } of routes) {
    const methods = byPath.get(path) ?? new Map<string, Route>();
    byPath.set(path, methods.set(method, route));
  }
  return {
    find: (method, path) => byPath.get(path)?.get(method),
    styleOf: (path) => (MESSAGES_PATHS.has(path) ? 'messages' : 'chat'),
    fault,
  };
}

/** Parts of the routes. */
export type EdgeRoutesParts = CallParts & ListParts & { readonly settings: EdgeSettings };

/** All routes of the gateway. Any other path is `unsupported_endpoint`. */
export function makeEdgeRoutes(edge: EdgeRoutesParts): RouteTable {
  const { errors, messagesEnabled } = edge.settings;
  const disabled = refusalError('anthropic_protocol_disabled', {}, errors);
  const calls = [...ENDPOINT_TABLE.values()].map((row) => ({
    method: 'POST',
    path: row.path,
    route:
      row.style === 'messages' && !messagesEnabled
        ? async (request: ClientRequest) => refuse(edge, row, request, disabled)
        : (request: ClientRequest) => handleModelCall(edge, row, request),
  }));
  const lists = [
    { method: 'GET', path: '/v1/models', route: (request: ClientRequest) => listModels(edge, request) },
    { method: 'GET', path: '/v1/gateway/usage', route: (request: ClientRequest) => showUsage(edge, request) },
    { method: 'GET', path: '/api/gateway/config', route: (request: ClientRequest) => showConfig(errors, request) },
  ];
  return makeRouteTable([...calls, ...lists], gatewayError('admission_error'));
}
