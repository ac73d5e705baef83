import { SegmentedControl, TextInput } from '@mantine/core';
import type { PageModel } from '@gateway/contracts/pages';
import { useState } from 'react';
import { Link } from 'react-router';
import { useModels } from '../../api/queries.js';
import { formatShort } from '../../format/number.js';
import { formatUsdExact } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { CopyButton } from '../../ui/copy.js';
import { Empty } from '../../ui/empty.js';
import { Icon } from '../../ui/icons.js';
import { Loaded } from '../../ui/loaded.js';
import { StateBadge } from '../../ui/meter.js';
import { Card, Page } from '../../ui/page.js';
import { Table } from '../../ui/table.js';

type Shown = 'allowed' | 'all';

/** The models that the account may use, with prices. */
export function Component() {
  const { account } = useCurrent();
  const models = useModels(account.id);
  const [text, setText] = useState('');
  const [shown, setShown] = useState<Shown>('all');
  return (
    <Page title="Models" about="Prices in USD per million tokens. Send the ID as the model of a request.">
      <Card
        flush
        title="Catalog"
        actions={
          <div className="row">
            <TextInput
              aria-label="Search models"
              placeholder="Search"
              size="xs"
              w={200}
              leftSection={<Icon name="search" size={14} />}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
            <SegmentedControl
              aria-label="Which models"
              size="xs"
              data={[
                { value: 'all', label: 'All' },
                { value: 'allowed', label: 'Usable now' },
              ]}
              value={shown}
              onChange={(value) => setShown(value as Shown)}
            />
          </div>
        }
      >
        <Loaded query={models} lines={8}>
          {(data) => (
            <ModelRows models={data.filter((model) => fits(model, text, shown))} isEmpty={data.length === 0} />
          )}
        </Loaded>
      </Card>
      <p className="muted small">
        A request is charged at the price in force when it was accepted, rounded once to a billionth of a dollar.
      </p>
    </Page>
  );
}

function ModelRows({ models, isEmpty }: { readonly models: readonly PageModel[]; readonly isEmpty: boolean }) {
  if (models.length === 0) {
    return (
      <Empty icon="models" title={isEmpty ? 'No models yet' : 'No models match'}>
        {isEmpty ? 'Ask the operator of this gateway to add models.' : 'Change the search, or show all models.'}
      </Empty>
    );
  }
  return (
    <Table
      label="Models"
      columns={[
        { label: 'Model' },
        { label: 'Usable', wide: 'own' },
        { label: 'Context', right: true, wide: 'own' },
        { label: 'Input', right: true },
        { label: 'Cache read', right: true, wide: 'own' },
        { label: 'Cache write 5 min', right: true, wide: 'own' },
        { label: '1 h', right: true, wide: 'own' },
        { label: 'Output', right: true },
      ]}
    >
      {models.map((model) => (
        <ModelRow key={model.id} model={model} />
      ))}
    </Table>
  );
}

function ModelRow({
  model: { id, displayName, kind, allowed, available, failing, contextLength, maxOutputTokens, prices },
}: {
  readonly model: PageModel;
}) {
  return (
    <>
      <tr className={allowed ? undefined : 'quiet'}>
        <th scope="row">
          <div className="row fixed">
            <div>
              <div className="cell-main">{displayName}</div>
              <div className="cell-sub row fixed">
                <span className="code">{id}</span>
                <CopyButton text={id} label={`Copy ${id}`} size={22} />
              </div>
            </div>
          </div>
        </th>
        <td className="wide-only">
          {!allowed ? (
            <NotUsable isPriced={prices !== null} isAvailable={available} />
          ) : failing ? (
            <span title="The last request failed at its provider">
              <StateBadge tone="bad">Failing now</StateBadge>
            </span>
          ) : (
            <StateBadge tone="good">Yes</StateBadge>
          )}
          {kind === 'embedding' && (
            <>
              {' '}
              <StateBadge plain>Embedding</StateBadge>
            </>
          )}
        </td>
        <td
          className="right wide-only"
          title={maxOutputTokens === null ? undefined : `At most ${maxOutputTokens} output tokens`}
        >
          {contextLength === null ? '—' : formatShort(contextLength)}
        </td>
        {prices === null ? (
          <td className="right muted" colSpan={5}>
            No price, so it cannot be used
          </td>
        ) : (
          <Prices prices={prices} isEmbedding={kind === 'embedding'} />
        )}
      </tr>
      {prices?.tiers.map((tier) => (
        <tr key={tier.aboveInputTokens} className="quiet">
          <td className="right">above {formatShort(tier.aboveInputTokens)} input tokens</td>
          <td className="wide-only" />
          <td className="wide-only" />
          <Prices prices={tier} isEmbedding={kind === 'embedding'} />
        </tr>
      ))}
    </>
  );
}

type Figures = Pick<
  NonNullable<PageModel['prices']>,
  'inputPerMillion' | 'cachedInputPerMillion' | 'cacheWritePerMillion' | 'cacheWrite1hPerMillion' | 'outputPerMillion'
> & { perCall?: string };

function Prices({ prices, isEmbedding }: { readonly prices: Figures; readonly isEmbedding: boolean }) {
  const hasCallPrice = prices.perCall !== undefined && /[1-9]/.test(prices.perCall);
  return (
    <>
      <td className="right">
        {formatUsdExact(prices.inputPerMillion)}
        {hasCallPrice && <div className="cell-sub">+ {formatUsdExact(prices.perCall ?? '0')} per request</div>}
      </td>
      <td className="right wide-only">{isEmbedding ? '—' : formatUsdExact(prices.cachedInputPerMillion)}</td>
      <td className="right wide-only">{isEmbedding ? '—' : formatUsdExact(prices.cacheWritePerMillion)}</td>
      <td className="right wide-only">{isEmbedding ? '—' : formatUsdExact(prices.cacheWrite1hPerMillion)}</td>
      <td className="right">{isEmbedding ? '—' : formatUsdExact(prices.outputPerMillion)}</td>
    </>
  );
}

function NotUsable({ isPriced, isAvailable }: { readonly isPriced: boolean; readonly isAvailable: boolean }) {
  if (!isAvailable) return <StateBadge>Not available</StateBadge>;
  if (!isPriced) return <StateBadge tone="warn">Not priced</StateBadge>;
  return (
    <span className="row" title="Your plan does not include the model and the wallet is empty">
      <StateBadge>Needs funds</StateBadge>
      <Link to="/billing" className="tiny">
        Add funds
      </Link>
    </span>
  );
}

function fits({ id, displayName, allowed }: PageModel, text: string, shown: Shown): boolean {
  const wanted = text.trim().toLowerCase();
  return (shown === 'all' || allowed) && `${id} ${displayName}`.toLowerCase().includes(wanted);
}
