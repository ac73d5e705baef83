import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'react-router';
import type { AccountView } from '@gateway/contracts/pages';
import { useAccount, useAccountKeys, useAccountWallet, useSubscription } from '../../api/operator-queries.js';
import { request } from '../../api/request.js';
import { formatUsd, parseNano } from '../../format/usd.js';
import { useOperatorMay } from '../../layout/operator-shell.js';
import { Confirm } from '../../ui/confirm.js';
import { CopyText } from '../../ui/copy.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { Loaded } from '../../ui/loaded.js';
import { Page, Stat } from '../../ui/page.js';
import { Ago, Amount, Time } from '../../ui/time.js';
import { useToast } from '../../ui/toasts.js';
import { KeyState } from '../keys/key-table.js';
import { AccountState } from './account-row.js';
import { Credit } from './credit.js';

/** One account with its funds and keys. Adds funds, suspends and reinstates. */
export function Component() {
  const { id = '' } = useParams();
  const account = useAccount(id);
  return (
    <Loaded query={account}>
      {(data) => (
        <Page
          title={data.name}
          about={
            <>
              <Link to="/operator">Accounts</Link> / <CopyText text={data.id} label="Copy the account ID" />
            </>
          }
          actions={<Actions account={data} />}
        >
          <Figures account={data} />
          <Keys id={data.id} />
        </Page>
      )}
    </Loaded>
  );
}

function Actions({ account }: { readonly account: AccountView }) {
  const client = useQueryClient();
  const toast = useToast();
  const mayWrite = useOperatorMay('write');
  const mayPay = useOperatorMay('money');
  const [asking, setAsking] = useState<'state' | 'credit' | null>(null);
  const verb = account.state === 'suspended' ? 'reinstate' : 'suspend';
  const change = async () => {
    await request(`/operator/v1/accounts/${account.id}/${verb}`, { method: 'POST' });
    toast(verb === 'suspend' ? 'Account suspended everywhere' : 'Account reinstated everywhere');
    await client.invalidateQueries({ queryKey: ['operator'] });
  };
  if (account.state === 'closed') return null;
  return (
    <>
      <Button component={Link} to={`/operator/audit?account=${account.id}`} variant="default">
        Audit log
      </Button>
      <Button disabled={!mayPay} onClick={() => setAsking('credit')}>
        Add funds
      </Button>
      <Button
        variant={verb === 'suspend' ? 'danger' : 'default'}
        disabled={!mayWrite}
        onClick={() => setAsking('state')}
      >
        {verb === 'suspend' ? 'Suspend' : 'Reinstate'}
      </Button>
      <Credit account={account} opened={asking === 'credit'} onClose={() => setAsking(null)} />
      <Confirm
        opened={asking === 'state'}
        title={verb === 'suspend' ? 'Suspend this account?' : 'Reinstate this account?'}
        action={verb === 'suspend' ? 'Suspend account' : 'Reinstate account'}
        danger={verb === 'suspend'}
        onClose={() => setAsking(null)}
        onConfirm={change}
      >
        <p>
          {verb === 'suspend' ? (
            <>
              All keys of <strong>{account.name}</strong> are refused with{' '}
              <code className="code">403 account_suspended</code>, and its running requests end.
            </>
          ) : (
            <>
              Keys of <strong>{account.name}</strong> work again, except keys that are revoked, suspended or expired.
            </>
          )}
        </p>
      </Confirm>
    </>
  );
}

function Figures({ account }: { readonly account: AccountView }) {
  const wallet = useAccountWallet(account.id);
  const subscription = useSubscription(account.id);
  return (
    <div className="grid-cards four">
      <Stat
        label="State"
        value={<AccountState state={account.state} />}
        note={account.type === 'team' ? 'Team account' : 'Personal account'}
      />
      <Stat
        label="Owner"
        value={<span className="breakable small">{account.email}</span>}
        note={account.emailVerified ? 'Address verified' : 'Address not verified'}
      />
      <Stat
        label="Wallet"
        value={wallet.data?.balanceUsd == null ? '—' : <Amount usd={wallet.data.balanceUsd} />}
        note={
          wallet.data !== undefined && parseNano(wallet.data.heldUsd) > 0n
            ? `${formatUsd(wallet.data.heldUsd)} held for unsettled requests`
            : wallet.data?.balanceUsd === null
              ? 'No entry yet'
              : wallet.data === undefined
                ? ''
                : 'Nothing held'
        }
      />
      <Stat
        label="Plan"
        value={subscription.data == null ? 'None' : subscription.data.planId}
        note={
          subscription.data == null ? (
            'Pay as you go'
          ) : (
            <>
              until <Time at={subscription.data.periodEnd} />
            </>
          )
        }
      />
    </div>
  );
}

function Keys({ id }: { readonly id: string }) {
  const keys = useAccountKeys(id);
  return (
    <ListCard
      title="Keys"
      list={keys}
      columns={[
        { label: 'Name' },
        { label: 'State' },
        { label: 'Monthly cap', right: true, wide: true },
        { label: 'Last used', wide: true },
        { label: 'Created', wide: true },
      ]}
      nouns={['key', 'keys']}
      empty={<Empty icon="key" title="No keys" />}
      row={(key) => (
        <tr key={key.id} className={key.state === 'active' ? undefined : 'quiet'}>
          <th scope="row">
            <div className="breakable">{key.name}</div>
            <div className="cell-sub code">{key.maskedSecret}</div>
          </th>
          <td>
            <KeyState state={key.state} />
          </td>
          <td className="right">
            {key.monthlySpendCapUsd === null ? 'No cap' : <Amount usd={key.monthlySpendCapUsd} />}
          </td>
          <td>{key.lastUsedAt === null ? 'Never' : <Ago at={key.lastUsedAt} />}</td>
          <td>
            <Time at={key.createdAt} />
          </td>
        </tr>
      )}
    />
  );
}
