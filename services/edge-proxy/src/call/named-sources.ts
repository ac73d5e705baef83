import { gatewayError, type GatewayError } from '@gateway/contracts/errors';
import { NAMED_IDS_MAX } from '../stored-ids/answer-names.js';
import { allowSources, checksIds, listIdsToLookUp, formatNotFound } from '../sources/named-sources.js';
import type { DecryptedSource } from '../ports.js';
import type { AdmittedCall, Edge } from './call.js';

const UNREADABLE_TEXT = 'The IDs in the request could not be looked up. Try again.';
const NOTHING_KNOWN: ReadonlyMap<string, string> = new Map();

/** The part of a call that {@link selectSourcesByIds} reads. */
interface NamingCall extends Pick<AdmittedCall, 'account'> {
  readonly parsed: Pick<AdmittedCall['parsed'], 'answers'>;
}

/**
 * Filters the sources that may get a call which names stored objects. Returns an error if no source
 * may, or if the lookup failed (docs/behaviour.md#stored-objects).
 */
export async function selectSourcesByIds(
  edge: Pick<Edge, 'answers'>,
  { account, parsed }: NamingCall,
  known: readonly DecryptedSource[],
): Promise<readonly DecryptedSource[] | GatewayError> {
  const { named } = parsed.answers;
  const sources = known.map(({ source }) => source);
  const isChecked = sources.some(checksIds);
  if (!isChecked && (sources.length < 2 || sources.every(({ keepsState }) => keepsState === false))) return known;
  const ids = named.length > NAMED_IDS_MAX ? [] : listIdsToLookUp(named);
  const found = ids.length === 0 ? NOTHING_KNOWN : await edge.answers.sourcesOf(account, ids);
  if (found === null) return isChecked ? gatewayError('lookup_failed', UNREADABLE_TEXT) : known;
  const result = allowSources(sources, named, found);
  if (result.kind === 'allowed') return known.filter(({ source }) => result.ids.has(source.id));
  const { foreign } = result;
  if (foreign !== null) return gatewayError('invalid_request', formatNotFound(foreign), { param: foreign.param });
  const text = `The request names more than ${NAMED_IDS_MAX} stored objects.`;
  return gatewayError('invalid_request', text, { param: named.at(-1)?.param ?? null });
}
