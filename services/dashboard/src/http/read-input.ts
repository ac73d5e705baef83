import { isRefusal, refuse } from '@gateway/contracts/operator';
import type { IncomingMessage } from 'node:http';
import { readDocument } from './read-document.js';
import { readBody, type BodyBounds } from './read-body.js';
import { checkInput } from './check-input.js';
import { isRouteRefusal, refuseForNow, type Refusal } from './refusals.js';
import type { Route } from './route.js';

const JSON_TYPE = 'application/json';
const YAML_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml'];

/** Schemas that a request is validated with. */
type InputSpec = Pick<Route, 'method' | 'params' | 'query' | 'body' | 'bodyForm'>;

/** Sources of a request's parts. */
export interface RawInput {
  readonly request: IncomingMessage;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
}

export interface ValidInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** Validates all parts of a request. `aborted`: the client disconnected. */
export async function readInput(
  route: InputSpec,
  { request, params, query }: RawInput,
  bounds: BodyBounds,
): Promise<ValidInput | Refusal | 'aborted'> {
  const checkedParams = checkInput(route.params, params);
  if (isRefusal(checkedParams))
    return route.method === 'PUT' ? checkedParams : refuse('not_found', 'there is no such object');
  const checkedQuery = checkInput(route.query, query);
  if (isRefusal(checkedQuery)) return checkedQuery;
  const input = { params: checkedParams.value, query: checkedQuery.value };
  if (route.method === 'GET') return { ...input, body: undefined };

  const read = await readBody(request, bounds);
  if (read === 'aborted') return read;
  if (typeof read === 'string') return refuseUnread(read, bounds);
  const parsed = parseBody(read.bytes, request, route);
  if (isRouteRefusal(parsed)) return parsed;
  if (route.body === null) {
    const field = Object.keys(parsed.value as object)[0];
    if (field !== undefined) return refuse('invalid_request', `${field}: is not known`, field);
    return { ...input, body: undefined };
  }
  const checkedBody = checkInput(route.body, parsed.value);
  return isRefusal(checkedBody) ? checkedBody : { ...input, body: checkedBody.value };
}

function refuseUnread(why: 'too_large' | 'too_slow' | 'no_room', { bytesMax, msMax }: BodyBounds): Refusal {
  switch (why) {
    case 'too_large':
      return refuse('invalid_request', `the body is larger than ${bytesMax} bytes`);
    case 'too_slow':
      return refuse('invalid_request', `the body did not arrive within ${msMax / 1_000} seconds`);
    case 'no_room':
      return refuseForNow('too many bodies are being read; try again shortly');
  }
}

/** Parses the body. Parser messages are dropped, because they quote the input. */
function parseBody(bytes: Buffer, request: IncomingMessage, route: InputSpec): { value: unknown } | Refusal {
  if (bytes.length === 0) {
    return route.body === null ? { value: {} } : refuse('invalid_request', 'a body is required');
  }
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    return refuse('invalid_request', 'Content-Encoding: must be absent or identity', 'Content-Encoding');
  }
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const isYaml = route.bodyForm === 'document' && YAML_TYPES.includes(type);
  if (type !== JSON_TYPE && !isYaml) {
    const taken = route.bodyForm === 'document' ? [JSON_TYPE, ...YAML_TYPES] : [JSON_TYPE];
    return refuse('invalid_request', `Content-Type: must be ${taken.join(' or ')}`, 'Content-Type');
  }
  const text = decode(bytes);
  if (text === null) return refuse('invalid_request', 'the body is not valid UTF-8');
  if (isYaml) return readDocument(text);
  const value = parseJson(text);
  if (value === undefined) return refuse('invalid_request', 'the body is not valid JSON');
  if (route.bodyForm === 'document' && Array.isArray(value)) return { value: { objects: value } };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('invalid_request', 'the body must be a JSON object');
  }
  return { value };
}

function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return null;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
