import type { Bus } from '@gateway/bus';
import { catalogSourceHealth } from '@gateway/contracts/messages';
import { isRefusal, type ManagementRefusal, type SourceHealthView } from '@gateway/contracts/operator';
import { groupBy } from '@gateway/service-kit';
import { answer, READS } from '../objects/answer.js';
import { sourceHealthOf, type SourceReport } from './rules.js';
import type { CatalogStore } from '../storage/store.js';
import { pageOf, placeOf, type PageOf, type PageRequest } from '../objects/page-rules.js';

export interface SourceHealthDeps {
  readonly store: CatalogStore;
  readonly reports: { all(nowMs: number): SourceReport[] };
  /** The clock that edges use for cooldowns, epoch milliseconds. */
  readonly nowMs: () => number;
}

const LIST = 'source-health';

/** Lists the last report of each edge about each existing source, by source and edge. */
export async function listSourceHealth(
  { store, reports, nowMs }: SourceHealthDeps,
  request: PageRequest,
): Promise<PageOf<SourceHealthView> | ManagementRefusal> {
  const from = placeOf(LIST, request, 2);
  if (from && isRefusal(from)) return from;
  const now = nowMs();
  const all = reports.all(now);
  const behind = all.filter((report) => !from || compare(placeOfReport(report), from.place) > 0);
  behind.sort((a, b) => compare(placeOfReport(a), placeOfReport(b)));
  const models = await store.read((reads) => reads.modelsOfSources(behind.map(({ health }) => health.source)));
  const bySource = groupBy(all, ({ health }) => health.source);
  const found: SourceHealthView[] = [];
  for (const report of behind) {
    const model = models.get(report.health.source);
    if (model !== undefined)
      found.push(sourceHealthOf(report, model, bySource.get(report.health.source) ?? [report], now));
    if (found.length > request.limit) break;
  }
  return pageOf(LIST, found, request.limit, ({ sourceId, edge }) => [sourceId, edge]);
}

function placeOfReport({ health, edge }: SourceReport): readonly string[] {
  return [health.source, edge];
}

function compare(a: readonly string[], b: readonly string[]): number {
  const index = a.findIndex((part, at) => part !== b[at]);
  return index < 0 ? 0 : (a[index] ?? '') < (b[index] ?? '') ? -1 : 1;
}

/** Registers the handler of source health requests. */
export function serveHealth(bus: Pick<Bus, 'serve'>, deps: SourceHealthDeps): void {
  bus.serve(
    catalogSourceHealth,
    (body) => answer(listSourceHealth(deps, body), ({ entries, nextCursor }) => ({ sources: entries, nextCursor })),
    READS,
  );
}
