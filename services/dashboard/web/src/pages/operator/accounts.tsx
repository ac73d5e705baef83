import { TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useAccounts, useAccountSearch } from '../../api/operator-queries.js';
import { Empty } from '../../ui/empty.js';
import { Icon } from '../../ui/icons.js';
import { ListCard } from '../../ui/list-card.js';
import { Loaded } from '../../ui/loaded.js';
import { Card, Page } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { ACCOUNT_COLUMNS, AccountRow } from './account-row.js';

const TYPING_MS = 300;

/** All accounts, or those that match a search. */
export function Component() {
  const [text, setText] = useState('');
  const [wanted] = useDebouncedValue(text.trim().toLowerCase(), TYPING_MS);
  const accounts = useAccounts();
  return (
    <Page
      title="Accounts"
      actions={
        <TextInput
          aria-label="Search accounts"
          placeholder="Name, email address or ID"
          w={280}
          leftSection={<Icon name="search" size={16} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      }
    >
      {wanted === '' ? (
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
        <Found text={wanted} />
      )}
    </Page>
  );
}

function Found({ text }: { readonly text: string }) {
  const search = useAccountSearch(text);
  return (
    <Card flush title="Found">
      <Loaded query={search}>
        {({ found, isWhole }) => (
          <div role="status">
            {found.length === 0 ? (
              <Empty icon="search" title="No accounts match">
                {isWhole
                  ? 'Search for another part of the name or address.'
                  : 'Only the first 2,000 accounts were searched. Search by ID.'}
              </Empty>
            ) : (
              <Table label="Accounts found" columns={ACCOUNT_COLUMNS}>
                {found.map((account) => (
                  <AccountRow key={account.id} account={account} />
                ))}
              </Table>
            )}
          </div>
        )}
      </Loaded>
    </Card>
  );
}
