const IDENTIFIER = /^[a-z][a-z0-9_]{0,62}$/;

/**
 * Returns a plain lower-case SQL name, which is safe in a statement without quotes. Throws for any
 * other text; `what` names the input in the error.
 */
export function identifier(name: string, what: string): string {
  if (!IDENTIFIER.test(name)) throw new Error(`${what} must be 1 to 63 of a-z, 0-9 and _, beginning with a letter`);
  return name;
}

/** Returns a name with an optional schema, such as `billing.outbox`. */
export function qualifiedIdentifier(name: string, what: string): string {
  const parts = name.split('.');
  if (parts.length > 2) throw new Error(`${what} has more than two parts`);
  return parts.map((part) => identifier(part, what)).join('.');
}
