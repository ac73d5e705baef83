/** Most options shown at once; typing finds the others. */
export const PICKED_MAX = 50;

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** Returns the first matching options, and a disabled one that counts the others. */
export function filterOptions<T extends Choice>(
  options: readonly T[],
  text: string,
): (T | (Choice & { disabled: true }))[] {
  const wanted = text.trim().toLowerCase();
  const found = options.filter(({ label }) => label.toLowerCase().includes(wanted));
  const rest = found.length - PICKED_MAX;
  if (rest <= 0) return found;
  return [...found.slice(0, PICKED_MAX), { value: '…more', label: `${rest} more: type to search`, disabled: true }];
}
