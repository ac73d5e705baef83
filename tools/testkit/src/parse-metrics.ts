/**
 * The sum over all series of one sample name in Prometheus' text format; null: there is none.
 * @param label only series that have it, as `store="redis"`
 */
export function sumOfMetric(text: string, name: string, label = ''): number | null {
  const labels = label === '' ? '(?:\\{.*\\})?' : `\\{(?:.*,)?${label}(?:,.*)?\\}`;
  const values = [...text.matchAll(new RegExp(`^${name}${labels} (\\S+)`, 'gm'))].map(([, value]) => Number(value));
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
