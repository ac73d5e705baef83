import { useCatalogModels } from '../../api/operator-queries.js';
import { formatShort } from '../../format/number.js';
import { formatUsdExact } from '../../format/usd.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { Mark } from '../../ui/mark.js';
import { Page } from '../../ui/page.js';

/** The catalog as customers meet it, with what is switched off. */
export function Component() {
  const models = useCatalogModels();
  return (
    <Page
      title="Models"
      about="Prices in USD for a million tokens. Models and prices are changed over the operator API."
    >
      <ListCard
        title="Catalog"
        list={models}
        columns={[
          { label: 'Model' },
          { label: 'State' },
          { label: 'Context', right: true },
          { label: 'Input', right: true },
          { label: 'Cache read', right: true },
          { label: 'Output', right: true },
          { label: 'Price version' },
        ]}
        nouns={['model', 'models']}
        empty={
          <Empty icon="models" title="No models yet">
            Add providers, models and sources with <code className="code">npm run operator -- apply</code>.
          </Empty>
        }
        row={({ id, displayName, active, available, contextLength, prices, priceVersion, upcomingPrices }) => (
          <tr key={id}>
            <th scope="row">
              <div>{displayName}</div>
              <div className="cell-sub code">{id}</div>
            </th>
            <td>
              {!active ? (
                <Mark>Unknown to clients</Mark>
              ) : !available ? (
                <Mark tone="warn">Switched off</Mark>
              ) : prices === null ? (
                <Mark tone="warn">No price</Mark>
              ) : (
                <Mark tone="good">Available</Mark>
              )}
            </td>
            <td className="right">{contextLength === null ? '—' : formatShort(contextLength)}</td>
            <td className="right">{prices === null ? '—' : formatUsdExact(prices.inputPerMillion)}</td>
            <td className="right">
              {prices?.cachedInputPerMillion == null ? '—' : formatUsdExact(prices.cachedInputPerMillion)}
            </td>
            <td className="right">{prices === null ? '—' : formatUsdExact(prices.outputPerMillion)}</td>
            <td>
              <span className="code">{priceVersion ?? '—'}</span>
              {upcomingPrices.length > 0 && <div className="cell-sub">{upcomingPrices.length} to come</div>}
            </td>
          </tr>
        )}
      />
    </Page>
  );
}
