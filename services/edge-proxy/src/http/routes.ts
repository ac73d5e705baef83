import type { GatewayError } from '@gateway/contracts/errors';
import type { EndpointStyle } from '../domain/endpoints.js';
import type { ClientRequest } from '../ports.js';

/** Serves one request. A rejection is a fault of the edge. */
export type Route = (request: ClientRequest) => Promise<void>;

/**
 * Paths whose answers have the messages shape, whatever the method (docs/behaviour.md#envelopes).
 */
const MESSAGES_PATHS: ReadonlySet<string> = new Set(['/v1/messages', '/v1/messages/count_tokens']);

/** The served routes: methods and raw paths, compared as they are (docs/behaviour.md#paths). */
export interface RouteTable {
  find(method: string, path: string): Route | undefined;
  styleOf(path: string): EndpointStyle;
  /** What is answered when a route fails. */
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
