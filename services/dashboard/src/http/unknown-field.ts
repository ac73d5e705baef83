/**
 * The place of the first field of `input` that its validated form does not have, or null. Schemas drop what they do not
 * know; an operator who misspells a field must hear of it.
 */
export function unknownField(input: unknown, validated: unknown, path: PropertyKey[] = []): PropertyKey[] | null {
  if (typeof input !== 'object' || input === null || typeof validated !== 'object' || validated === null) return null;
  for (const [key, value] of Object.entries(input)) {
    const here = [...path, Array.isArray(input) ? Number(key) : key];
    if (!Object.hasOwn(validated, key)) return here;
    const found = unknownField(value, (validated as Record<string, unknown>)[key], here);
    if (found !== null) return found;
  }
  return null;
}
