import { CONNECTION_HEADERS, ENDPOINTS } from '@gateway/contracts/messages';
import {
  isRefusal,
  mayForward,
  refuse,
  type ManagementRefusal,
  type ModelSpec,
  type ProviderSpec,
  type SourceSpec,
} from '@gateway/contracts/operator';
import { checkProfile, connectionOf, endpointsOf, profileOf } from '../profiles/profile-rules.js';
import { checkBaseUrl } from './base-url-rules.js';
import type { Model, Provider, Source } from './rules.js';

/**
 * Maximum JSON bytes of a source including its profile, without its costs. With them it still fits
 * into an entry of the bucket (64 KiB).
 */
export const SOURCE_BYTES_MAX = 32 * 1024;

/** The operator API uses `/sources/health` otherwise, so this source could not be read. */
const TAKEN_ID = 'health';
/** Headers of the connection and the body, which the relay sets. */
const RELAY_HEADERS = new Set([...CONNECTION_HEADERS, 'accept-encoding', 'content-encoding', 'content-type']);
/** Headers with credentials, which responses would show. Use `auth` and `credential` instead. */
const CREDENTIAL_HEADERS = new Set([
  'api-key',
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
]);

/**
 * Returns the stored form of a provider, or refuses it. @param sealedCredential the provider's
 * future credential
 */
export function providerOf(
  id: string,
  { name, format, auth }: ProviderSpec,
  sealedCredential: string | null,
): Provider | ManagementRefusal {
  return checkAuth(auth) ?? { id, name, format, auth: auth ?? null, sealedCredential };
}

function checkAuth(auth: SourceSpec['auth']): ManagementRefusal | null {
  if (auth?.type !== 'header' || !RELAY_HEADERS.has(auth.header.toLowerCase())) return null;
  return refuse('invalid_request', `header ${auth.header} cannot carry a credential`, 'auth.header');
}

export function modelOf(id: string, spec: ModelSpec): Model {
  return {
    id,
    displayName: spec.displayName,
    active: spec.active,
    available: spec.available,
    kind: spec.kind,
    contextLength: spec.contextLength ?? null,
    maxOutputTokens: spec.maxOutputTokens ?? null,
    bytesPerToken: spec.bytesPerToken,
  };
}

/** Parts of a source in addition to its spec. */
export interface SourceParts {
  /** The source's future credential. */
  readonly sealedCredential: string | null;
  readonly privateAllowed: boolean;
  readonly format: Provider['format'];
  /** Kind of the source's model. */
  readonly kind: Model['kind'];
}

/** Returns the stored form of a source, or refuses it. */
export function sourceOf(
  id: string,
  spec: SourceSpec,
  { sealedCredential, privateAllowed, format, kind }: SourceParts,
): Source | ManagementRefusal {
  if (id === TAKEN_ID) return refuse('invalid_request', `no source can have the id ${TAKEN_ID}: choose another`, 'id');
  const named = { profile: spec.profile ?? null, parameters: spec.parameters ?? {}, baseUrl: spec.baseUrl ?? null };
  const misfit = checkProfile(named);
  if (misfit !== null) return misfit;
  const profile = profileOf(named, format);
  if (spec.endpoints == null && named.profile === null)
    return refuse('invalid_request', 'endpoints are required without a profile', 'endpoints');
  const wanted = spec.endpoints ?? endpointsOf(profile, kind);
  const endpoints = ENDPOINTS.filter((endpoint) => wanted.includes(endpoint));
  if (endpoints.length === 0)
    return refuse('invalid_request', `${profile.name} has no endpoint for a model of kind ${kind}`, 'endpoints');
  const paths = Object.fromEntries(
    ENDPOINTS.flatMap((endpoint) => {
      const path = spec.paths?.[endpoint];
      return path === undefined ? [] : [[endpoint, path]];
    }),
  ) as Source['paths'];
  const badAuth = checkAuth(spec.auth);
  if (badAuth !== null) return badAuth;
  const headers = headersOf(spec.headers ?? {});
  if (isRefusal(headers)) return headers;
  const forwardHeaders = spec.forwardHeaders == null ? null : forwardedOf(spec.forwardHeaders);
  if (forwardHeaders !== null && isRefusal(forwardHeaders)) return forwardHeaders;
  const source: Source = {
    id,
    model: spec.modelId,
    provider: spec.providerId,
    ...named,
    upstreamModel: spec.upstreamModel,
    endpoints,
    paths,
    auth: spec.auth ?? null,
    sealedCredential,
    headers,
    forwardHeaders,
    betas: spec.betas ?? null,
    priority: spec.priority,
    weight: spec.weight,
    enabled: spec.enabled,
    body: spec.body ?? null,
    streamUsage: spec.streamUsage ?? null,
    cancelStopsBilling: spec.cancelStopsBilling ?? null,
    totalExtra: spec.totalExtra ?? null,
    unpriced: spec.unpriced,
    foreignIds: spec.foreignIds ?? null,
    freeTools: spec.freeTools ?? [],
    attachments: spec.attachments ?? null,
    reportedCostAt: spec.reportedCostAt ?? null,
    limits: {
      headersTimeoutMs: spec.limits?.headersTimeoutMs ?? null,
      firstEventTimeoutMs: spec.limits?.firstEventTimeoutMs ?? null,
      silenceTimeoutMs: spec.limits?.silenceTimeoutMs ?? null,
    },
    quota: {
      requestsPerMinute: spec.quota?.requestsPerMinute ?? null,
      callsAtOnce: spec.quota?.callsAtOnce ?? null,
      tokensPerMinute: spec.quota?.tokensPerMinute ?? null,
    },
  };
  const { pricing, errors, body } = profile;
  if (Buffer.byteLength(JSON.stringify([source, pricing, errors, body])) > SOURCE_BYTES_MAX)
    return refuse('invalid_request', `a source has at most ${SOURCE_BYTES_MAX} bytes; shorten its headers`, 'headers');
  const connection = connectionOf(source, profile);
  const allPathsGiven = endpoints.every((endpoint) => connection.paths[endpoint] !== undefined);
  const baseUrl = checkBaseUrl(connection.baseUrl, { privateAllowed, allPathsGiven });
  if (typeof baseUrl !== 'string') return baseUrl;
  return source.baseUrl === null ? source : { ...source, baseUrl };
}

/** Returns the names in lower case, sorted, once each. */
function forwardedOf(given: readonly string[]): string[] | ManagementRefusal {
  const names = [...new Set(given.map((name) => name.toLowerCase()))].sort();
  const refused = names.find((name) => !mayForward(name));
  return refused === undefined
    ? names
    : refuse('invalid_request', `header ${refused} cannot be forwarded`, 'forwardHeaders');
}

/** Returns the headers in lower case and sorted, so that equal ones are equal text. */
function headersOf(given: Readonly<Record<string, string>>): Record<string, string> | ManagementRefusal {
  const entries = Object.entries(given).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const names = entries.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return refuse('invalid_request', `header ${twice} is given twice`, 'headers');
  const refused = names.find((name) => RELAY_HEADERS.has(name) || CREDENTIAL_HEADERS.has(name));
  if (refused !== undefined) return refuse('invalid_request', `header ${refused} cannot be set here`, 'headers');
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
