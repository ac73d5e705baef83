/** Formats a number with thousands separators: 0.213, 4.7, 163, 12,400. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '';
  const size = Math.abs(value);
  if (size >= 10_000) return (Math.round(value / 100) * 100).toLocaleString('en-US');
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}
