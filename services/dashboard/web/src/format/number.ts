import type { PageUsageRecord } from '@gateway/contracts/pages';

/** "12,400". */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** "1.2K", "3.4M" for axes and narrow places. */
export function formatShort(count: number): string {
  return Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 }).format(count);
}

/** "1 request", "12,400 requests". */
export function countOf(count: number, noun: string, many = `${noun}s`): string {
  return `${formatCount(count)} ${count === 1 ? noun : many}`;
}

/** Formats a share between 0 and 1: "0.4 %", "100 %"; "<0.1 %" if it is not zero. */
export function formatShare(share: number): string {
  if (share > 0 && share < 0.001) return '<0.1 %';
  return `${(share * 100).toFixed(share >= 0.1 || share === 0 ? 0 : 1)} %`;
}

/** "3.1 MB". */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Describes billing apart from tokens: "flex, 3 × web search"; empty if there is none. */
export function formatServed({ class: name, units }: Pick<PageUsageRecord, 'class' | 'units'>): string {
  const uses = Object.entries(units).map(([unit, count]) => usesOf(unit, count));
  return [...(name === 'standard' ? [] : [name]), ...uses].join(', ');
}

/** "3 × web search". */
export function usesOf(unit: string, count: number): string {
  return `${formatCount(count)} × ${unit.replaceAll('_', ' ')}`;
}
