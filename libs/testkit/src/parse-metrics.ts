/** The sum over all series of one sample name in Prometheus' text format; null: there is none. */
export function sumOfMetric(text: string, name: string): number | null {
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)`, 'gm'))].map(([, value]) => Number(value));
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
