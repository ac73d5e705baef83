import { gauge } from '@gateway/service-kit';
import type { ThreadedBodyParser } from './adapters/body-parser.js';
import type { CatalogMirror } from './adapters/catalog-mirror.js';
import type { JoinedVerbs } from './join-verbs.js';
import { isResting } from './domain/sources/source-order.js';
import type { SourceQuotas } from './quotas/source-quotas.js';
import { HELD_ANSWERS, REQUEST_BODIES, UNOPENED_BODIES } from './memory/held-bytes.js';

/** Sources with a series of their own. */
const QUOTA_SERIES_MAX = 64;

/** What of this edge is looked at when somebody asks for the metrics. */
export function declareGauges(
  { edge, journal, admissionClient, load, quotas }: JoinedVerbs,
  bodies: ThreadedBodyParser,
  catalog: CatalogMirror,
  answerIdsMax: number,
): void {
  gauge('gateway_edge_calls_open', 'Calls that hold a slot or a hold', () => edge.running.size);
  gauge('gateway_edge_shedding', 'Whether new calls are refused for overload', () => (load.shedding === null ? 0 : 1));
  gauge('gateway_edge_large_bodies_waiting', 'Large bodies that are being read, or wait for it', () => bodies.waiting);
  gauge('gateway_edge_sources', 'Enabled sources by whether they rest', () => sourceStates(edge), { label: 'state' });
  gauge(
    'gateway_edge_quota_used_ratio',
    'Used part of the fullest quota of a source, at all edges',
    () => quotasUsed(quotas),
    {
      label: 'source',
    },
  );
  gauge('gateway_edge_unreadable_credentials', 'Sources whose credential no key here opens', () =>
    catalog.unreadable(),
  );
  gauge('gateway_edge_outdated_credentials', 'Sources whose credential only a previous key opens', () =>
    catalog.outdated(),
  );
  const { answers } = edge;
  gauge(
    'gateway_edge_answer_ids',
    'IDs of stored responses in the shared store, at most a minute old while IDs are stored',
    () => answers.idsStored,
  );
  gauge('gateway_edge_answer_ids_max', 'IDs that the store may have', () => answerIdsMax);
  gauge('gateway_edge_events_unstored', 'Usage events that no stream has yet', () => journal.unstored);
  gauge(
    'gateway_edge_event_unstored_age_seconds',
    'Age of the oldest unstored event',
    () => journal.oldestAgeMs() / 1000,
  );
  gauge('gateway_edge_admissions_waiting', 'Questions that wait for admission', () => admissionClient.waiting);
  gauge(
    'gateway_edge_body_bytes_buffered',
    'Bytes of request bodies that a source may still need',
    () => REQUEST_BODIES.held,
  );
  gauge(
    'gateway_edge_unopened_body_bytes',
    'Bytes of request bodies whose key admission has not confirmed',
    () => UNOPENED_BODIES.held,
  );
  gauge(
    'gateway_edge_answer_bytes_held',
    'Bytes of plain answers that are not sent before they are complete',
    () => HELD_ANSWERS.held,
  );
}

/** Of the sources whose quotas this edge uses, at most {@link QUOTA_SERIES_MAX}. */
function quotasUsed(quotas: SourceQuotas): [source: string, ratio: number][] {
  const ratios: [string, number][] = [];
  for (const [source, use] of quotas.uses()) {
    const parts = Object.values(use).map((each) => (each === null ? 0 : each.used / each.allowed));
    ratios.push([source, Math.max(...parts)]);
    if (ratios.length === QUOTA_SERIES_MAX) break;
  }
  return ratios;
}

function sourceStates({
  catalog,
  health,
  clock,
}: JoinedVerbs['edge']): [state: 'healthy' | 'cooling', count: number][] {
  const nowMs = clock.nowMs();
  let [healthy, cooling] = [0, 0];
  for (const { id } of catalog.models()) {
    for (const source of catalog.sourcesOf(id)) {
      if (!source.enabled) continue;
      if (isResting(health.get(source.id), nowMs)) cooling += 1;
      else healthy += 1;
    }
  }
  return [
    ['healthy', healthy],
    ['cooling', cooling],
  ];
}
