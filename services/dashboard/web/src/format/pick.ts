/** Options that are drawn at once; what is beyond them is found by typing. */
export const PICKED_MAX = 50;

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/**
 * The first options that hold the text, and a last one that cannot be chosen and counts the others.
 */
export function pick<T extends Choice>(options: readonly T[], text: string): (T | (Choice & { disabled: true }))[] {
  const wanted = text.trim().toLowerCase();
  const found = options.filter(({ label }) => label.toLowerCase().includes(wanted));
  const rest = found.length - PICKED_MAX;
  if (rest <= 0) return found;
  return [...found.slice(0, PICKED_MAX), { value: '…more', label: `${rest} more: type to search`, disabled: true }];
}
