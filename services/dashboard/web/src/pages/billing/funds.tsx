import { useOverview } from '../../api/queries.js';
import { formatUsd, parseNano } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { Amount } from '../../ui/amount.js';
import { CopyLine } from '../../ui/copy.js';
import { Loaded } from '../../ui/loaded.js';
import { Meter } from '../../ui/meter.js';
import { Card, Stat } from '../../ui/page.js';
import { PlanStat } from '../../ui/plan-stat.js';
import { CountDown, Time } from '../../ui/time.js';
import { inUnit } from '../overview/balance-cards.js';

/** Wallet and plan, and how funds are added. */
export function Funds() {
  const { account } = useCurrent();
  const overview = useOverview(account.id);
  return (
    <Loaded query={overview}>
      {({ wallet, plan, windows }) => (
        <div className="stack loose">
          <div className="grid-cards">
            <Stat
              label="Wallet balance"
              value={wallet.balanceUsd === null ? '—' : <Amount usd={wallet.balanceUsd} />}
              note={
                parseNano(wallet.heldUsd) > 0n
                  ? `${formatUsd(wallet.heldUsd)} of it is held for unsettled calls`
                  : wallet.balanceUsd === null
                    ? 'No funds were added yet'
                    : 'Nothing is held for unsettled calls'
              }
            />
            <PlanStat
              plan={plan}
              note={
                plan === null ? (
                  'Every call is paid from the wallet'
                ) : (
                  <>
                    <Time at={plan.periodStart} /> to <Time at={plan.periodEnd} />
                    {plan.renews ? ', then renewed' : ', then it ends'}
                  </>
                )
              }
            />
          </div>
          {windows.length > 0 && (
            <Card
              title="What the plan grants"
              about="When a window is used up, calls of the plan's models are refused until it resets; the wallet does not take over"
            >
              <div className="stack loose">
                {windows.map(({ type, unit, label, used, limit, percent, resetsAt }) => (
                  <div className="stack tight" key={`${type}-${unit}`}>
                    <div className="row apart">
                      <span className="strong">{label}</span>
                      <span className="num muted small">
                        {inUnit(used, unit)} of {inUnit(limit, unit)} ·{' '}
                        {resetsAt === null ? (
                          'starts with the next call'
                        ) : (
                          <>
                            resets in <CountDown until={resetsAt} />
                          </>
                        )}
                      </span>
                    </div>
                    <Meter label={`${label}, used`} percent={percent} />
                  </div>
                ))}
              </div>
            </Card>
          )}
          <Card title="Add funds">
            <div className="stack">
              <p>
                Whoever runs this gateway adds funds and sets plans. Send them the id of this account and the amount;
                the balance is in force for the next call as soon as it is added.
              </p>
              <CopyLine text={account.id} label="Copy the id of the account" />
              <p className="muted small">
                With a plan, its models are paid by the plan. What a single call costs beyond that comes from the
                wallet, but the wallet does not take over when a window is used up. Without a plan, or for other models,
                the wallet pays: a call is admitted when the balance covers its worst case, so that a smaller{' '}
                <code className="code">max_tokens</code> may pass where a larger one does not.
              </p>
            </div>
          </Card>
        </div>
      )}
    </Loaded>
  );
}
