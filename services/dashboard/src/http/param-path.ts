const PATH_CHARS_MAX = 200;

/** A place in a body as people write it: `prices.tiers[0].inputPerMillion`; null for the body as a whole. */
export function paramPath(path: readonly PropertyKey[]): string | null {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? String(step) : `.${String(step)}`;
  }
  return text === '' ? null : text.slice(0, PATH_CHARS_MAX);
}
