import type { SourceHealthView } from '@gateway/contracts/pages';
import { useSourceHealth, useSources } from '../../api/operator-queries.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { Mark } from '../../ui/mark.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Page } from '../../ui/page.js';
import { CountDown } from '../../ui/time.js';

/** Ways to reach the models, and how they do at this moment. */
export function Component() {
  const sources = useSources();
  const health = useSourceHealth();
  return (
    <Page title="Sources" about="Health is what each running edge remembers; it is renewed every five seconds.">
      {health.isError && <ErrorNotice error={health.error} retry={() => void health.refetch()} />}
      <ListCard
        title="Upstream sources"
        list={sources}
        columns={[
          { label: 'Source' },
          { label: 'Health' },
          { label: 'Model', wide: true },
          { label: 'Provider', wide: true },
          { label: 'Priority', right: true, wide: true },
          { label: 'Weight', right: true, wide: true },
          { label: 'Credential' },
        ]}
        nouns={['source', 'sources']}
        empty={
          <Empty icon="server" title="No sources yet">
            Without a source no model can be served. Add them with{' '}
            <code className="code">npm run operator -- apply</code>.
          </Empty>
        }
        row={(source) => (
          <tr key={source.id} className={source.enabled ? undefined : 'quiet'}>
            <th scope="row">
              <div className="code">{source.id}</div>
              <div className="cell-sub breakable" style={{ fontWeight: 400 }}>
                {source.baseUrl}
              </div>
            </th>
            <td>
              {source.enabled ? (
                <Health
                  entries={(health.data?.data ?? []).filter(({ sourceId }) => sourceId === source.id)}
                  isKnown={health.data?.isWhole === true}
                />
              ) : (
                <Mark>Switched off</Mark>
              )}
            </td>
            <td className="code nowrap">{source.modelId}</td>
            <td>{source.providerId}</td>
            <td className="right">{source.priority}</td>
            <td className="right">{source.weight}</td>
            <td>{source.hasCredential ? 'Set' : <Mark tone="warn">Missing</Mark>}</td>
          </tr>
        )}
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
  /** Everything was read: what is not there is not known to any edge. */
  readonly isKnown: boolean;
}

/** The worst of what the edges say. */
function Health({ entries, isKnown }: HealthProps) {
  const worst = (['open', 'cooling', 'healthy'] as const)
    .map((state) => entries.find((entry) => entry.state === state))
    .find((entry) => entry !== undefined);
  if (worst === undefined) return <span className="muted">{isKnown ? 'Not tried yet' : 'Not known'}</span>;
  const rests = entries.filter(({ state }) => state !== 'healthy').length;
  return (
    <>
      <Mark tone={STATES[worst.state].tone}>{STATES[worst.state].word}</Mark>
      <div className="cell-sub">
        {rests > 0 && `${rests} of ${entries.length} edges`}
        {worst.restsUntil !== null && (
          <>
            , again in <CountDown until={worst.restsUntil} />
          </>
        )}
        {rests === 0 && worst.lastStatus !== null && `last answer ${worst.lastStatus}`}
      </div>
    </>
  );
}
