import { Link } from 'react-router';
import type { OverviewView } from '@gateway/contracts/pages';
import { formatCount } from '../../format/number.js';
import { formatUsd, parseNano } from '../../format/usd.js';
import { Meter } from '../../ui/meter.js';
import { Stat } from '../../ui/page.js';
import { PlanStat } from '../../ui/plan-stat.js';
import { Amount, CountDown, Time } from '../../ui/time.js';

/** Windows, wallet, plan and limits as figures. */
export function BalanceCards({ overview }: { readonly overview: OverviewView }) {
  const { windows, plan, limits, wallet } = overview;
  return (
    <div className="grid-cards windows">
      {windows.map((entry) => (
        <Stat
          key={`${entry.type}-${entry.unit}`}
          label={
            <>
              {entry.label}
              <span className="num">{entry.percent} %</span>
            </>
          }
          value={
            <>
              {inUnit(entry.used, entry.unit)} <small>of {inUnit(entry.limit, entry.unit)}</small>
            </>
          }
          note={
            entry.resetsAt === null ? (
              'Starts with the next request'
            ) : (
              <>
                Resets in <CountDown until={entry.resetsAt} />
              </>
            )
          }
        >
          <Meter label={`${entry.label}, used`} percent={entry.percent} />
        </Stat>
      ))}
      <Stat
        label={
          <>
            Wallet
            <Link to="/billing">Billing</Link>
          </>
        }
        value={wallet.balanceUsd === null ? '—' : <Amount usd={wallet.balanceUsd} />}
        note={walletNote(wallet)}
      />
      <PlanStat
        plan={plan}
        note={
          plan === null ? (
            'Requests are paid from the wallet'
          ) : (
            <>
              {plan.renews ? 'Renews' : 'Ends'} <Time at={plan.periodEnd} />
            </>
          )
        }
      />
      {limits !== null && (
        <Stat
          label="Limits of the account"
          value={
            <>
              {formatCount(limits.requestsPerMinute)} <small>requests per minute</small>
            </>
          }
          note={`${formatCount(limits.concurrency)} concurrent, all keys together`}
        />
      )}
    </div>
  );
}

export function inUnit(amount: string | number, unit: 'usd' | 'requests'): string {
  return unit === 'usd' ? formatUsd(String(amount)) : formatCount(Number(amount));
}

function walletNote({ balanceUsd, heldUsd }: OverviewView['wallet']): string {
  if (parseNano(heldUsd) > 0n) return `${formatUsd(heldUsd)} held for unsettled requests`;
  return balanceUsd === null ? 'No funds added yet' : 'Nothing held for unsettled requests';
}
