import { readFileSync } from 'node:fs';
import { ENDPOINTS, type Endpoint } from '@gateway/contracts/messages';
import type { ProviderProfile } from '@gateway/contracts/operator';
import { PROFILES } from '@gateway/contracts/providers';

/** The known meaning of a provider's response. */
export interface ExpectedUsage {
  /** Input tokens that are neither read from a cache nor written to one. */
  readonly input?: number | null;
  readonly cachedInput?: number | null;
  readonly cacheWrite?: number | null;
  readonly cacheWrite1h?: number | null;
  /** Output tokens, including reasoning. */
  readonly output?: number | null;
  readonly errorClass?: string | null;
  readonly retryAfterMs?: number | null;
  /** The price class of the response, or the provider's name for it if the gateway has none. */
  readonly class?: string;
  /** Set for a body with status 200 that is not a usable response. */
  readonly unusable?: boolean;
  /** Expectations for the whole system: tests/e2e/test/shape-outcome.ts. */
  readonly [ofSystem: string]: unknown;
}

/** A response of a real provider, copied from public sources. */
export interface RecordedResponse {
  readonly name: string;
  readonly endpoint: Endpoint;
  readonly kind: 'plain' | 'stream' | 'error';
  readonly status: number;
  /** The relevant parts of the request: members of the body, and headers. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly requestHeaders: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body. */
  readonly text: string;
  readonly isStream: boolean;
  readonly expected: ExpectedUsage;
  readonly source: string;
  readonly date: string;
}

const FOLDER = new URL('../../../libs/contracts/src/providers/', import.meta.url);

/** Returns the recorded responses of each profile. */
export function recordedShapes(): (readonly [ProviderProfile, readonly RecordedResponse[]])[] {
  return PROFILES.map((profile) => {
    const text = readFileSync(new URL(`${profile.id}/responses.json`, FOLDER), 'utf8');
    return [profile, (JSON.parse(text) as Record<string, unknown>[]).map(shapeOf)] as const;
  });
}

function shapeOf(raw: Record<string, unknown>): RecordedResponse {
  const { name, endpoint, kind, status, request, headers, body, frames, text, expect: expected, source, date } = raw;
  if (!ENDPOINTS.includes(endpoint as Endpoint)) throw new Error(`${String(name)}: no endpoint ${String(endpoint)}`);
  const { headers: sent = {}, ...asked } = (request ?? {}) as { headers?: Record<string, string> };
  const isStream = Array.isArray(frames);
  const plain = typeof text === 'string' ? text : typeof body === 'string' ? body : JSON.stringify(body ?? null);
  return {
    name: String(name),
    endpoint: endpoint as Endpoint,
    kind: kind as RecordedResponse['kind'],
    status: typeof status === 'number' ? status : 200,
    request: asked,
    requestHeaders: Object.entries(sent).map(([header, value]) => [header.toLowerCase(), value]),
    headers: (headers ?? {}) as Record<string, string>,
    text: isStream ? (frames as string[]).join('') : plain,
    isStream,
    expected: (expected ?? {}) as ExpectedUsage,
    source: String(source),
    date: String(date),
  };
}
