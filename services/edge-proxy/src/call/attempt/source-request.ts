import type { CatalogSource } from '@gateway/contracts/messages';
import { FORWARDED_VALUE_LENGTH_MAX } from '@gateway/contracts/operator';
import { shouldRequestUsage, buildForwardBody, withStreamUsageRule } from '../../parse/forward-body.js';
import type { ClientHeaders, DecryptedSource, SourceRequest } from '../../ports.js';
import type { AdmittedCall, SourceReading } from '../call.js';

/** The only query parameter that is forwarded (docs/behaviour.md#paths). */
const BETA_PARAMETER = /(?:^|&)(beta=[A-Za-z0-9._~-]{0,64})(?=&|$)/;

/**
 * Version of the messages protocol for clients that send none. The specification does not require
 * it, but providers do. A source with another version sets it in its own headers.
 */
const ANTHROPIC_VERSION_DEFAULT = '2023-06-01';

/** User agent, which provider firewalls require. A source's own headers may replace it. */
const USER_AGENT = 'model-gateway/1';

/**
 * Builds the request to a source: the allow-listed headers, the source's own headers, and the body
 * with the model replaced.
 */
export function buildSourceRequest(
  call: AdmittedCall,
  opened: DecryptedSource,
  freshConnection: boolean,
): SourceRequest {
  const { source, origin, headers } = opened;
  const addStreamUsage = shouldRequestUsage(call.parsed, source.streamUsage);
  if (call.body === null) throw new Error('the request body was freed before the last attempt');
  return {
    origin,
    path: buildPath(opened, call),
    headers: mergeHeaders(selectForwardedHeaders(call, opened), headers),
    body: buildForwardBody(call.parsed, call.body.bytes, {
      upstreamModel: source.upstreamModel,
      addStreamUsage,
      rule: withStreamUsageRule(call.parsed, source),
    }),
    streamed: call.parsed.stream,
    freshConnection,
  };
}

function buildPath({ source, basePath }: DecryptedSource, { row, parsed, request: { query } }: AdmittedCall): string {
  const streamed = parsed.stream ? source.streamedPaths?.[row.path] : undefined;
  const path = basePath + (streamed ?? source.paths[row.path] ?? row.path);
  const beta = query === '' ? undefined : BETA_PARAMETER.exec(query)?.[1];
  if (beta === undefined) return path;
  return path + (path.includes('?') ? '&' : '?') + beta;
}

/**
 * The allow-list (docs/behaviour.md#requests-to-sources). All other client headers are dropped,
 * above all the key.
 */
function selectForwardedHeaders(
  { request, row: { style }, reading }: AdmittedCall,
  { source }: DecryptedSource,
): string[] {
  const client: ClientHeaders = request.headers;
  // Does not forward the client's content type: with a character set or another parameter, the
  // provider could interpret the body differently than the gateway did.
  const headers = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', USER_AGENT];
  if (client.accept !== undefined) headers.push('accept', client.accept);
  if (client.openaiBeta !== undefined) headers.push('openai-beta', client.openaiBeta);
  const version = client.anthropicVersion ?? (style === 'messages' ? ANTHROPIC_VERSION_DEFAULT : undefined);
  if (version !== undefined) headers.push('anthropic-version', version);
  const betas = filterBetas(client.anthropicBeta, source, findClassBetas(reading));
  if (betas !== '') headers.push('anthropic-beta', betas);
  for (const [name, value] of client.classHeaders) if (isRead(name, source)) headers.push(name, value);
  if (source.forwardHeaders !== undefined) addListed(headers, client.raw, source.forwardHeaders, source.auth);
  return headers;
}

/** Printable ASCII, which all parsers read in the same way. */
const FORWARDED_VALUE = new RegExp(`^[\\x20-\\x7e]{1,${FORWARDED_VALUE_LENGTH_MAX}}$`);

/** Adds the client's headers that are on the source's list, the first of each name. */
function addListed(
  headers: string[],
  raw: readonly string[],
  listed: readonly string[],
  auth: CatalogSource['auth'],
): void {
  const left = new Set(listed);
  if (auth.type === 'header') left.delete(auth.header.toLowerCase());
  for (let at = 0; at + 1 < raw.length && left.size > 0; at += 2) {
    const name = (raw[at] as string).toLowerCase();
    const value = raw[at + 1] as string;
    if (left.delete(name) && FORWARDED_VALUE.test(value)) headers.push(name, value);
  }
}

/** Whether the source's pricing rules read this header. */
function isRead(header: string, { pricing }: Pick<CatalogSource, 'pricing'>): boolean {
  return pricing?.classes.some(({ field }) => field === header) === true;
}

type BetaRule = Pick<CatalogSource, 'betas' | 'betasRefused'>;

/** Prefixes of the betas that the requested class needs. The class has a price. */
function findClassBetas(reading: SourceReading | null): readonly string[] {
  if (reading?.rules === undefined || reading.read.asked.class === 'standard') return [];
  const { field } = reading.read.asked;
  return reading.rules.classes.find((rule) => rule.field === field)?.betas ?? [];
}

function filterBetas(
  sent: string | undefined,
  { betas: rule, betasRefused: refused = [] }: BetaRule,
  ofClass: readonly string[],
): string {
  if (sent === undefined) return '';
  if (rule === 'pass' && refused.length === 0) return sent;
  const betas = sent.split(',').map((beta) => beta.trim());
  const begins = (beta: string, starts: readonly string[]): boolean =>
    starts.some((start) => beta.toLowerCase().startsWith(start));
  const isAllowed = (beta: string): boolean =>
    begins(beta, ofClass) || (rule === 'pass' ? !begins(beta, refused) : rule.includes(beta));
  return betas.filter(isAllowed).join(',');
}

/** Merges headers. The source's own headers replace the client's headers of the same name. */
function mergeHeaders(client: readonly string[], own: readonly string[]): string[] {
  const merged: string[] = [];
  for (let at = 0; at < client.length; at += 2) {
    if (!hasName(own, client[at] as string)) merged.push(client[at] as string, client[at + 1] as string);
  }
  return merged.concat(own);
}

function hasName(headers: readonly string[], name: string): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return true;
  return false;
}
