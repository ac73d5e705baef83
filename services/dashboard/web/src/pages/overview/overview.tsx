import { Button, SegmentedControl } from '@mantine/core';
import type { OverviewView } from '@gateway/contracts/pages';
import { useState } from 'react';
import { Link } from 'react-router';
import { useOverview } from '../../api/queries.js';
import { formatUsd, parseNano } from '../../format/usd.js';
import { RANGES } from '../../format/range.js';
import type { RangeName } from '../../format/range.js';
import { useCurrent } from '../../layout/current-account.js';
import { Skeleton } from '../../ui/empty.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';
import { Page } from '../../ui/page.js';
import { Allotments } from './allotments.js';
import { FirstSteps } from './first-steps.js';
import { Refusals } from './refusals.js';
import { BalanceCards } from './balance-cards.js';
import { UsageChart } from './usage-chart.js';
import './overview.css';

/** Remaining balances, usage and refused requests; members see only their own usage. */
export function Component() {
  const { account, isManager } = useCurrent();
  const [range, setRange] = useState<RangeName>('30d');
  return (
    <Page
      title="Overview"
      about={account.name}
      actions={
        <SegmentedControl
          aria-label="Time"
          size="xs"
          data={[...RANGES]}
          value={range}
          onChange={(value) => setRange(value as RangeName)}
        />
      }
    >
      {isManager ? <Balances accountId={account.id} /> : <FirstSteps isFunded={null} />}
      <UsageChart range={range} />
      <Refusals range={range} />
    </Page>
  );
}

function Balances({ accountId }: { readonly accountId: string }) {
  const overview = useOverview(accountId);
  if (overview.data === undefined) {
    if (overview.isError) return <ErrorNotice error={overview.error} retry={() => void overview.refetch()} />;
    return (
      <div className="card">
        <Skeleton />
      </div>
    );
  }
  return (
    <>
      <Debt overview={overview.data} />
      <FirstSteps isFunded={isFunded(overview.data)} />
      <BalanceCards overview={overview.data} />
      <Allotments allotments={overview.data.allotments} />
    </>
  );
}

function isFunded({ plan, debtUsd, wallet: { balanceUsd } }: OverviewView): boolean {
  if (parseNano(debtUsd) > 0n) return false;
  return plan !== null || (balanceUsd !== null && parseNano(balanceUsd) > 0n);
}

function Debt({ overview: { debtUsd } }: { readonly overview: OverviewView }) {
  if (!/[1-9]/.test(debtUsd)) return null;
  return (
    <Notice
      tone="bad"
      title={`The account owes ${formatUsd(debtUsd)}`}
      actions={
        <Button component={Link} to="/billing" size="compact-sm" variant="default">
          How to add funds
        </Button>
      }
    >
      The wallet balance is negative. Until you add funds, all requests are refused with{' '}
      <code className="code">402 outstanding_debt</code>.
    </Notice>
  );
}
