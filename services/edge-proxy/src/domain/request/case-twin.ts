import type { EndpointRow } from '../endpoints.js';
import type { Member } from '../json/json-scanner.js';

/**
 * A longer name is none of those that are read, whatever its case: folding changes a length by
 * little.
 */
const NAME_LENGTH_MAX = 64;

/**
 * The first name that differs only in case from one that the gateway reads, with that one. A
 * provider that matches names without case would obey what the gateway has not seen: another model,
 * another bound of the cost.
 */
export function caseTwin(row: EndpointRow, members: readonly Member[]): { sent: string; read: string } | null {
  for (const { name } of members) {
    if (name.length > NAME_LENGTH_MAX || row.fields.some((rule) => rule.name === name)) continue;
    const folded = foldCase(name);
    if (folded !== name && row.fields.some((rule) => rule.name === folded)) return { sent: name, read: folded };
  }
  return null;
}

/**
 * Also of the long s (U+017F) and the Kelvin sign (U+212A), which upper or lower case alone leaves
 * as they are.
 */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}
