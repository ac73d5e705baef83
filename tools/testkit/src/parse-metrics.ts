/**
 * Returns the sum of all series of a sample name in Prometheus' text format, or null if there is
 * none.
 * @param label includes only series with this label, such as `store="redis"`
 */
export function sumOfMetric(text: string, name: string, label = ''): number | null {
  const labels = label === '' ? '(?:\\{.*\\})?' : `\\{(?:.*,)?${label}(?:,.*)?\\}`;
  const values = [...text.matchAll(new RegExp(`^${name}${labels} (\\S+)`, 'gm'))].map(([, value]) => Number(value));
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
