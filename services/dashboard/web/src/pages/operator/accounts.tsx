import { useAccounts, useAccountSearch } from '../../api/operator-queries.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { Page } from '../../ui/page.js';
import { FoundCard, SearchField, useSearchText } from '../../ui/search.js';
import { ACCOUNT_COLUMNS, AccountRow } from './account-row.js';

/** All accounts, or those that match a search. */
export function Component() {
  const search = useSearchText();
  const accounts = useAccounts();
  const found = useAccountSearch(search.wanted);
  return (
    <Page
      title="Accounts"
      actions={<SearchField label="Search accounts" placeholder="Name, email address or ID" search={search} />}
    >
      {search.wanted === '' ? (
        <ListCard
          title="All accounts"
          list={accounts}
          columns={ACCOUNT_COLUMNS}
          nouns={['account', 'accounts']}
          empty={
            <Empty icon="team" title="No accounts yet">
              People sign up on this dashboard, or you create an account with the operator API.
            </Empty>
          }
          row={(account) => <AccountRow key={account.id} account={account} />}
        />
      ) : (
        <FoundCard
          query={found}
          columns={ACCOUNT_COLUMNS}
          noun="accounts"
          hint="Search for another part of the name or address."
          beyond="Search by ID."
          row={(account) => <AccountRow key={account.id} account={account} />}
        />
      )}
    </Page>
  );
}
