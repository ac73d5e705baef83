import { Tabs } from '@mantine/core';
import { useSearchParams } from 'react-router';
import { useOverview } from '../../api/queries.js';
import { formatUsd } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { Notice } from '../../ui/notice.js';
import { Page } from '../../ui/page.js';
import { ExportMenu } from '../usage/export-menu.js';
import { AlertsAndWebhook } from './alerts-and-webhook.js';
import { Funds } from './funds.js';
import { Ledger } from './ledger.js';
import { Statement } from './statement.js';

const TABS = [
  { value: 'funds', label: 'Funds and plan' },
  { value: 'ledger', label: 'Ledger' },
  { value: 'statements', label: 'Statements' },
  { value: 'alerts', label: 'Alerts' },
] as const;

/** The target of billing links in error messages. Funds come first. */
export function Component() {
  const { account, isManager } = useCurrent();
  const [query, setQuery] = useSearchParams();
  const tab = TABS.find(({ value }) => value === query.get('tab'))?.value ?? 'funds';
  if (!isManager) {
    return (
      <Page title="Billing">
        <Notice tone="info" title="Billing is for owners and admins of the account">
          If requests are refused for lack of funds, ask one of them.
        </Notice>
      </Page>
    );
  }
  return (
    <Page
      title="Billing"
      about="Funds, the cost of requests, and alerts about limits."
      actions={<ExportMenu what="ledger-entries" />}
    >
      <DebtNotice account={account.id} />
      <Tabs
        value={tab}
        onChange={(value) => setQuery(value === null || value === 'funds' ? {} : { tab: value }, { replace: true })}
      >
        <Tabs.List aria-label="Billing" mb={20}>
          {TABS.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          {tab === 'funds' && <Funds />}
          {tab === 'ledger' && <Ledger />}
          {tab === 'statements' && <Statement />}
          {tab === 'alerts' && <AlertsAndWebhook />}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function DebtNotice({ account }: { readonly account: string }) {
  const overview = useOverview(account);
  const debtUsd = overview.data?.debtUsd ?? '0';
  if (!/[1-9]/.test(debtUsd)) return null;
  return (
    <Notice tone="bad" title={`The account owes ${formatUsd(debtUsd)}`}>
      The wallet balance is negative. All requests are refused with <code className="code">402 outstanding_debt</code>{' '}
      until it is zero or more. Add funds.
    </Notice>
  );
}
