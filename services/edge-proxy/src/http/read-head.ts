import { CLASS_HEADERS } from '@gateway/contracts/operator';
import { parseBearer } from '../call/receive.js';
import type { ClientHeaders } from '../ports.js';

type Field = Exclude<
  keyof ClientHeaders,
  'hasTwoAuthorizations' | 'hasTwoApiKeys' | 'contentLength' | 'classHeaders' | 'raw'
>;

/** The headers that the edge reads. All others are skipped. */
const FIELDS: ReadonlyMap<string, Field> = new Map([
  ['authorization', 'authorization'],
  ['x-api-key', 'apiKey'],
  ['content-type', 'contentType'],
  ['content-encoding', 'contentEncoding'],
  ['accept', 'accept'],
  ['x-request-id', 'requestId'],
  ['traceparent', 'traceparent'],
  ['openai-beta', 'openaiBeta'],
  ['anthropic-version', 'anthropicVersion'],
  ['anthropic-beta', 'anthropicBeta'],
]);
/**
 * Most header names of client libraries have a length that is not in this set, so they cost only
 * this comparison.
 */
const NAME_LENGTHS: ReadonlySet<number> = new Set(
  [...FIELDS.keys(), ...CLASS_HEADERS, 'content-length', 'transfer-encoding'].map((name) => name.length),
);
/** Fields that are lists. Repeated headers are joined as HTTP defines. */
const LISTS: ReadonlySet<Field> = new Set(['accept', 'requestId', 'openaiBeta', 'anthropicBeta', 'contentEncoding']);

/**
 * Reads the raw headers in one pass. A second Bearer token or `x-api-key` makes the key ambiguous
 * (docs/behaviour.md#keys-in-headers). An Authorization header of another scheme is ignored if
 * there is a Bearer token. For other repeated headers the first one counts.
 */
export function readHead(rawHeaders: readonly string[]): ClientHeaders {
  const values: { [K in Field]?: string } = {};
  let contentLength: number | null = 0;
  let hasTwoAuthorizations = false;
  let apiKeys = 0;
  const classHeaders: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] as string;
    if (!NAME_LENGTHS.has(sent.length)) continue;
    const name = sent.toLowerCase();
    const value = rawHeaders[at + 1] as string;
    if (name === 'content-length') {
      if (contentLength !== null) contentLength = Number(value);
      continue;
    }
    if (name === 'transfer-encoding') {
      contentLength = null;
      continue;
    }
    const field = FIELDS.get(name);
    if (field === undefined) {
      if (CLASS_HEADERS.includes(name)) classHeaders.push([name, value]);
      continue;
    }
    if (field === 'apiKey') apiKeys += 1;
    const before = values[field];
    if (before === undefined) values[field] = value;
    else if (LISTS.has(field)) values[field] = `${before}, ${value}`;
    else if (field === 'authorization' && parseBearer(value) !== '') {
      if (parseBearer(before) === '') values.authorization = value;
      else hasTwoAuthorizations = true;
    }
  }
  return {
    authorization: values.authorization ?? null,
    hasTwoAuthorizations,
    apiKey: values.apiKey ?? null,
    hasTwoApiKeys: apiKeys > 1,
    contentType: values.contentType,
    contentEncoding: values.contentEncoding,
    contentLength,
    accept: values.accept,
    requestId: values.requestId,
    traceparent: values.traceparent,
    openaiBeta: values.openaiBeta,
    anthropicVersion: values.anthropicVersion,
    anthropicBeta: values.anthropicBeta,
    classHeaders,
    raw: rawHeaders,
  };
}

/** X-Forwarded-For, with repeated headers joined. Only used behind trusted proxies. */
export function findForwardedFor(rawHeaders: readonly string[]): string | undefined {
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() === 'x-forwarded-for') values.push(rawHeaders[at + 1] as string);
  }
  return values.length === 0 ? undefined : values.join(', ');
}
