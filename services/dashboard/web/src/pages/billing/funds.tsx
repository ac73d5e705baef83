import { useOverview } from '../../api/queries.js';
import { formatUsd, parseNano } from '../../format/usd.js';
import { useCurrent } from '../../layout/current-account.js';
import { CopyLine } from '../../ui/copy.js';
import { Loaded } from '../../ui/loaded.js';
import { Meter } from '../../ui/meter.js';
import { Card, Stat } from '../../ui/page.js';
import { PlanStat } from '../../ui/plan-stat.js';
import { Amount, CountDown, Time } from '../../ui/time.js';
import { inUnit } from '../overview/balance-cards.js';

/** The wallet, the plan, and how to add funds. */
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
                  ? `${formatUsd(wallet.heldUsd)} of it is held for unsettled requests`
                  : wallet.balanceUsd === null
                    ? 'No funds added yet'
                    : 'Nothing is held for unsettled requests'
              }
            />
            <PlanStat
              plan={plan}
              note={
                plan === null ? (
                  'All requests are paid from the wallet'
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
              title="Usage windows of the plan"
              about="When a window is used up, requests to the plan's models are refused until it resets; the wallet does not pay for them"
            >
              <div className="stack loose">
                {windows.map(({ type, unit, label, used, limit, percent, resetsAt }) => (
                  <div className="stack tight" key={`${type}-${unit}`}>
                    <div className="row apart">
                      <span className="strong">{label}</span>
                      <span className="num muted small">
                        {inUnit(used, unit)} of {inUnit(limit, unit)} ·{' '}
                        {resetsAt === null ? (
                          'starts with the next request'
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
                The operator of this gateway adds funds and sets plans. Send the operator the account ID and the amount.
                Added funds are available for the next request.
              </p>
              <CopyLine text={account.id} label="Copy the account ID" />
              <p className="muted small">
                A plan pays for its models. If a single request costs more than the plan has left, the wallet pays the
                rest, but not when a window is used up. Without a plan, or for other models, the wallet pays. A request
                is accepted if the balance covers its worst-case cost, so a smaller{' '}
                <code className="code">max_tokens</code> may be accepted where a larger one is refused.
              </p>
            </div>
          </Card>
        </div>
      )}
    </Loaded>
  );
}
