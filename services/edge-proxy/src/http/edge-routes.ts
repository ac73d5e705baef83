import { REFUSAL, gatewayError, refusalError } from '@gateway/contracts/errors';
import type { Edge } from '../call/call.js';
import { handleModelCall } from '../call/handle-model-call.js';
import { writeError } from '../call/write-error.js';
import { ENDPOINT_TABLE, type EndpointRow } from '../domain/endpoints.js';
import { listModels } from '../lists/list-models.js';
import { showConfig } from '../lists/show-config.js';
import { showUsage } from '../lists/show-usage.js';
import type { ClientRequest } from '../ports.js';
import { makeRouteTable, type RouteTable } from './routes.js';

/** Everything that the gateway serves; whatever is not here is `unsupported_endpoint`. */
export function edgeRoutes(edge: Edge): RouteTable {
  const { errors, messagesEnabled } = edge.settings;
  const calls = [...ENDPOINT_TABLE.values()].map((row) => ({
    method: 'POST',
    path: row.path,
    route: (request: ClientRequest): Promise<void> =>
      row.style === 'messages' && !messagesEnabled
        ? refuseDisabled(edge, row, request)
        : handleModelCall(edge, row, request),
  }));
  const lists = [
    { method: 'GET', path: '/v1/models', route: (request: ClientRequest) => listModels(edge, request) },
    { method: 'GET', path: '/v1/gateway/usage', route: (request: ClientRequest) => showUsage(edge, request) },
    { method: 'GET', path: '/api/gateway/config', route: (request: ClientRequest) => showConfig(errors, request) },
  ];
  return makeRouteTable([...calls, ...lists], gatewayError('admission_error'));
}

async function refuseDisabled({ metrics, settings }: Edge, row: EndpointRow, request: ClientRequest): Promise<void> {
  const error = refusalError(REFUSAL.anthropic_protocol_disabled, {}, settings.errors);
  metrics.callEnded(row.path, error.status);
  metrics.errorAnswered(error.code);
  writeError(request.answer, error, request.id, row.style);
}
