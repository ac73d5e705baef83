const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

export type RangeName = '24h' | '7d' | '30d' | '90d';
export const RANGES: readonly { value: RangeName; label: string }[] = [
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
  { value: '90d', label: '90 days' },
];

/** A span of whole UTC hours or days that ends after now, and the step of its chart. */
export interface Span {
  readonly from: string;
  readonly to: string;
  readonly by: 'day' | 'hour';
}

/** Returns the span of a range. Queries within one step are equal. */
export function computeSpan(range: RangeName, nowMs: number): Span {
  const by = range === '24h' ? 'hour' : 'day';
  const step = by === 'hour' ? HOUR_MS : DAY_MS;
  const steps = { '24h': 24, '7d': 7, '30d': 30, '90d': 90 }[range];
  const to = (Math.floor(nowMs / step) + 1) * step;
  return { from: new Date(to - steps * step).toISOString(), to: new Date(to).toISOString(), by };
}

/** Returns every start of a step, oldest first, including steps without requests. */
export function listStarts({ from, to, by }: Span): string[] {
  const step = by === 'hour' ? HOUR_MS : DAY_MS;
  const starts: string[] = [];
  for (let at = Date.parse(from); at < Date.parse(to); at += step) starts.push(new Date(at).toISOString());
  return starts;
}
