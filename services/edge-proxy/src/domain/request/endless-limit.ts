import { REFUSAL } from '@gateway/contracts/errors';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { EndlessLimit } from './fields.js';
import type { ParseResult } from './parse-call.js';

/** Whether a source takes a call with this limit; null: it has none. */
export function takesLimit(
  limit: EndlessLimit | null,
  { unlimitedMaxTokens = [] }: Pick<CatalogSource, 'unlimitedMaxTokens'>,
): boolean {
  return limit === null || unlimitedMaxTokens.includes(limit.value);
}

/** The limit is none at any source of the call. */
export function refusedLimit({ name }: EndlessLimit): Extract<ParseResult, { ok: false }> {
  const message = `"${name}" must be an integer of at least 0.`;
  return { ok: false, finding: { rank: REFUSAL.invalid_request, message, param: name } };
}
