import type { SourceHealthView } from '@gateway/contracts/pages';
import { useSourceHealth, useSources } from '../../api/operator-queries.js';
import { formatCount, formatShare, formatShort } from '../../format/number.js';
import { formatDuration } from '../../format/time.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { StateBadge } from '../../ui/meter.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Page } from '../../ui/page.js';
import { Ago, CountDown } from '../../ui/time.js';

/** The upstream sources and their current health. */
export function Component() {
  const sources = useSources();
  const health = useSourceHealth();
  return (
    <Page
      title="Sources"
      about="Health is the state at each running edge. Failures and the time to the first byte are of all edges in the last minutes. Refreshed every five seconds."
    >
      {health.isError && <ErrorNotice error={health.error} retry={() => void health.refetch()} />}
      <ListCard
        title="Upstream sources"
        list={sources}
        columns={[
          { label: 'Source' },
          { label: 'Health' },
          { label: 'Quota', wide: true },
          { label: 'Failed', right: true, wide: true },
          { label: 'Model', wide: true },
          { label: 'Priority', right: true, wide: true },
        ]}
        nouns={['source', 'sources']}
        empty={
          <Empty icon="server" title="No sources yet">
            A model needs at least one source. Add sources with <code className="code">npm run operator -- apply</code>.
          </Empty>
        }
        row={(source) => {
          const entries = (health.data?.data ?? []).filter(({ sourceId }) => sourceId === source.id);
          const figures = newest(entries)?.together ?? null;
          return (
            <tr key={source.id} className={source.enabled ? undefined : 'quiet'}>
              <th scope="row">
                <div className="code breakable">{source.id}</div>
                <div className="cell-sub breakable wide-only" style={{ fontWeight: 400 }}>
                  {source.baseUrl}
                </div>
              </th>
              <td>
                {source.enabled ? (
                  <Health entries={entries} isKnown={health.data?.isWhole === true} />
                ) : (
                  <StateBadge>Disabled</StateBadge>
                )}
                {source.credentialOf === null && (
                  <div>
                    <StateBadge tone="warn">No credential</StateBadge>
                  </div>
                )}
              </td>
              <td>
                <Quotas entries={entries} />
              </td>
              <td className="right">
                {figures === null || figures.errorShare === null ? '—' : formatShare(figures.errorShare)}
                {figures !== null && figures.attempts > 0 && (
                  <div className="cell-sub">of {formatCount(figures.attempts)}</div>
                )}
                {figures !== null && figures.firstByteMs !== null && (
                  <div className="cell-sub">{formatDuration(figures.firstByteMs)} first byte</div>
                )}
              </td>
              <td>
                <div className="code breakable">{source.modelId}</div>
                <div className="cell-sub">
                  {source.providerId}
                  {source.credentialOf === 'provider' && ', with its credential'}
                </div>
              </td>
              <td className="right">
                {source.priority}
                <div className="cell-sub">weight {source.weight}</div>
              </td>
            </tr>
          );
        }}
      />
    </Page>
  );
}

const STATES = {
  healthy: { tone: 'good', word: 'Healthy' },
  cooling: { tone: 'warn', word: 'Cooling' },
  open: { tone: 'bad', word: 'Breaker open' },
} as const;

interface HealthProps {
  readonly entries: readonly SourceHealthView[];
  /** Whether all entries were read. A missing entry then means an unused source. */
  readonly isKnown: boolean;
}

function newest(entries: readonly SourceHealthView[]): SourceHealthView | undefined {
  return [...entries].sort((one, other) => (other.lastAttemptAt ?? '').localeCompare(one.lastAttemptAt ?? ''))[0];
}

function LastAttempt({ entry }: { readonly entry: SourceHealthView | undefined }) {
  if (entry === undefined || entry.lastOutcome === null || entry.lastAttemptAt === null) return null;
  const { lastOutcome, lastStatus, lastAttemptAt } = entry;
  return (
    <>
      last {lastOutcome.replaceAll('_', ' ')}
      {lastStatus !== null && ` (${lastStatus})`}, <Ago at={lastAttemptAt} />
    </>
  );
}

const QUOTAS = {
  requestsPerMinute: 'requests/min',
  callsAtOnce: 'concurrent requests',
  tokensPerMinute: 'tokens/min',
} as const;

/** The quota use of all edges, from the newest report. */
function Quotas({ entries }: Pick<HealthProps, 'entries'>) {
  const told = entries.filter(({ quota }) => quota !== null);
  const [last] = told.sort((one, other) => other.reportedAt.localeCompare(one.reportedAt));
  const beyond = entries[0]?.together?.overQuota ?? 0;
  const uses = (Object.keys(QUOTAS) as (keyof typeof QUOTAS)[]).flatMap((name) => {
    const use = last?.quota?.[name];
    return use == null ? [] : [`${formatShort(use.used)} of ${formatShort(use.allowed)} ${QUOTAS[name]}`];
  });
  if (uses.length === 0 && beyond === 0) return <>—</>;
  return (
    <>
      {uses.map((use) => (
        <div key={use} className="cell-sub" style={{ whiteSpace: 'nowrap' }}>
          {use}
        </div>
      ))}
      {beyond > 0 && <StateBadge tone="warn">{`${formatCount(beyond)} over quota`}</StateBadge>}
    </>
  );
}

/** The worst state that an edge reports. */
function Health({ entries, isKnown }: HealthProps) {
  const worst = (['open', 'cooling', 'healthy'] as const)
    .map((state) => entries.find((entry) => entry.state === state))
    .find((entry) => entry !== undefined);
  if (worst === undefined) return <span className="muted">{isKnown ? 'No traffic since restart' : 'Unknown'}</span>;
  const failing = entries.filter(({ failuresInARow }) => failuresInARow > 0);
  const last = newest(failing.length > 0 ? failing : entries);
  const rests = entries.filter(({ state }) => state !== 'healthy').length;
  return (
    <>
      {worst.state === 'healthy' && failing.length > 0 ? (
        <StateBadge tone="bad">Failing</StateBadge>
      ) : (
        <StateBadge tone={STATES[worst.state].tone}>{STATES[worst.state].word}</StateBadge>
      )}
      <div className="cell-sub">
        {rests > 0 && `${rests} of ${entries.length} edges`}
        {worst.restsUntil !== null && (
          <>
            , again in <CountDown until={worst.restsUntil} />
          </>
        )}
        {rests > 0 && last !== undefined && '; '}
        <LastAttempt entry={last} />
      </div>
    </>
  );
}
