import type { ModelView } from '@gateway/contracts/pages';
import { useCatalogModels, useModelSearch } from '../../api/operator-queries.js';
import { formatShort } from '../../format/number.js';
import { formatUsdExact } from '../../format/usd.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { StateBadge } from '../../ui/meter.js';
import { Page } from '../../ui/page.js';
import { FoundCard, SearchField, useSearchText } from '../../ui/search.js';
import type { Column } from '../../ui/table.js';
import { ShortId } from '../../ui/copy.js';
import { Aliases } from './aliases.js';

const COLUMNS: readonly Column[] = [
  { label: 'Model' },
  { label: 'State', wide: true },
  { label: 'Context', right: true, wide: true },
  { label: 'Input', right: true },
  { label: 'Cache read', right: true, wide: true },
  { label: 'Output', right: true },
  { label: 'Price version', wide: true },
];

/** The catalog with hidden and unavailable models, or the models that match a search. */
export function Component() {
  const search = useSearchText();
  const models = useCatalogModels();
  const found = useModelSearch(search.wanted);
  return (
    <Page
      title="Models"
      about="Prices in USD per million tokens. Use the operator API to change models and prices."
      actions={<SearchField label="Search models" placeholder="Name or ID" search={search} />}
    >
      {search.wanted === '' ? (
        <ListCard
          title="Catalog"
          list={models}
          columns={COLUMNS}
          nouns={['model', 'models']}
          empty={
            <Empty icon="models" title="No models yet">
              Add providers, models and sources with <code className="code">npm run operator -- apply</code>.
            </Empty>
          }
          row={(model) => <ModelRow key={model.id} model={model} />}
        />
      ) : (
        <FoundCard
          query={found}
          columns={COLUMNS}
          noun="models"
          hint="Search for another part of the name or ID."
          beyond="Find others by ID with the operator API."
          row={(model) => <ModelRow key={model.id} model={model} />}
        />
      )}
      <Aliases />
    </Page>
  );
}

function ModelRow({
  model: { id, displayName, active, available, contextLength, prices, priceVersion, upcomingPrices },
}: {
  readonly model: ModelView;
}) {
  return (
    <tr>
      <th scope="row">
        <div>{displayName}</div>
        <div className="cell-sub code breakable">{id}</div>
        <div className="narrow-only">
          <ModelState isActive={active} isAvailable={available} isPriced={prices !== null} />
        </div>
      </th>
      <td>
        <ModelState isActive={active} isAvailable={available} isPriced={prices !== null} />
      </td>
      <td className="right">{contextLength === null ? '—' : formatShort(contextLength)}</td>
      <td className="right">{prices === null ? '—' : formatUsdExact(prices.inputPerMillion)}</td>
      <td className="right">
        {prices?.cachedInputPerMillion == null ? '—' : formatUsdExact(prices.cachedInputPerMillion)}
      </td>
      <td className="right">{prices === null ? '—' : formatUsdExact(prices.outputPerMillion)}</td>
      <td>
        {priceVersion === null ? '—' : <ShortId id={priceVersion} />}
        {upcomingPrices.length > 0 && <div className="cell-sub">{upcomingPrices.length} upcoming</div>}
      </td>
    </tr>
  );
}
interface ModelStateProps {
  readonly isActive: boolean;
  readonly isAvailable: boolean;
  readonly isPriced: boolean;
}

/** Whether customers can use the model, and why not. */
function ModelState({ isActive, isAvailable, isPriced }: ModelStateProps) {
  if (!isActive) return <StateBadge>Hidden</StateBadge>;
  if (!isAvailable) return <StateBadge tone="warn">Switched off</StateBadge>;
  return isPriced ? <StateBadge tone="good">Available</StateBadge> : <StateBadge tone="warn">No price</StateBadge>;
}
