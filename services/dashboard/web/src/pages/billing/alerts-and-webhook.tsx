import type { AlertView } from '@gateway/contracts/pages';
import { useAlerts, useKeys } from '../../api/queries.js';
import { useCurrent } from '../../layout/current-account.js';
import { Skeleton, Empty } from '../../ui/empty.js';
import { StateBadge } from '../../ui/meter.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Card } from '../../ui/page.js';
import { Table, TableFoot } from '../../ui/table.js';
import { Time } from '../../ui/time.js';
import { inUnit } from '../overview/balance-cards.js';
import { Webhook } from './webhook.js';

const WINDOW_NAMES = { session_5h: 'Session (5 hours)', weekly: 'Weekly', monthly: 'Monthly' } as const;

/** Alerts about limits, and the webhook that receives them. */
export function AlertsAndWebhook() {
  const { account } = useCurrent();
  const alerts = useAlerts(account.id);
  const keys = useKeys(account.id);
  const rows = alerts.data?.pages.flatMap(({ data }) => data) ?? [];
  const nameOf = (id: string) => keys.data?.data.find((key) => key.id === id)?.name ?? id;
  return (
    <div className="stack loose">
      <Webhook />
      <Card
        flush
        title="Alerts"
        about="Once per period at 50, 75, 90 and 100 percent of each window and cap; also sent by email"
      >
        {alerts.data === undefined ? (
          alerts.isError ? (
            <div className="card-body">
              <ErrorNotice error={alerts.error} retry={() => void alerts.refetch()} />
            </div>
          ) : (
            <Skeleton />
          )
        ) : rows.length === 0 ? (
          <Empty icon="bell" title="No alerts yet">
            The first alert appears when half of a window or cap is used.
          </Empty>
        ) : (
          <>
            <Table
              label="Alerts"
              columns={[
                { label: 'Time' },
                { label: 'Limit reached' },
                { label: 'Threshold' },
                { label: 'Used', right: true, wide: true },
                { label: 'Limit', right: true },
                { label: 'Period ends', wide: true },
              ]}
            >
              {rows.map((alert) => (
                <AlertRow key={alert.id} alert={alert} nameOf={nameOf} />
              ))}
            </Table>
            <TableFoot
              shown={rows.length}
              noun={rows.length === 1 ? 'alert' : 'alerts'}
              hasMore={alerts.hasNextPage}
              isLoading={alerts.isFetchingNextPage}
              more={() => void alerts.fetchNextPage()}
            />
          </>
        )}
      </Card>
    </div>
  );
}

function AlertRow({ alert, nameOf }: { readonly alert: AlertView; readonly nameOf: (id: string) => string }) {
  const { subject, thresholdPercent, used, limit, raisedAt, periodEnd } = alert;
  const unit = subject.kind === 'window' ? subject.unit : 'usd';
  return (
    <tr>
      <td>
        <Time at={raisedAt} />
      </td>
      <th scope="row" className="breakable">
        {subject.kind === 'window' && `Window: ${WINDOW_NAMES[subject.type]}`}
        {subject.kind === 'key_cap' && `Cap of key ${nameOf(subject.keyId)}`}
        {subject.kind === 'member_cap' && 'Cap of a member'}
      </th>
      <td>
        <StateBadge tone={thresholdPercent >= 90 ? 'bad' : thresholdPercent >= 75 ? 'warn' : 'quiet'}>
          {thresholdPercent} %
        </StateBadge>
      </td>
      <td className="right">{inUnit(used, unit)}</td>
      <td className="right">{inUnit(limit, unit)}</td>
      <td>
        <Time at={periodEnd} />
      </td>
    </tr>
  );
}
