import type { PageUsageRecord } from '@gateway/contracts/pages';
import { formatCount } from './number.js';

/** Describes billing apart from tokens: "flex, 3 × web search"; empty if there is none. */
export function servedWords({ class: name, units }: Pick<PageUsageRecord, 'class' | 'units'>): string {
  const uses = Object.entries(units).map(([unit, count]) => usesOf(unit, count));
  return [...(name === 'standard' ? [] : [name]), ...uses].join(', ');
}

/** "3 × web search". */
export function usesOf(unit: string, count: number): string {
  return `${formatCount(count)} × ${unit.replaceAll('_', ' ')}`;
}
