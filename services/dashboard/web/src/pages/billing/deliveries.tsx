import type { WebhookDeliveryView } from '@gateway/contracts/pages';
import { useDeliveries } from '../../api/queries.js';
import { countOf } from '../../format/number.js';
import { useCurrent } from '../../layout/current-account.js';
import { Skeleton, Empty } from '../../ui/empty.js';
import { StateBadge } from '../../ui/meter.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Card } from '../../ui/page.js';
import { Table, TableFoot } from '../../ui/table.js';
import { Time } from '../../ui/time.js';

const STATES = {
  waiting: { tone: 'warn', word: 'Waiting' },
  delivered: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
  dropped: { tone: 'quiet', word: 'Dropped' },
} as const;
const FAILURES = {
  status: 'status',
  timeout: 'no response in time',
  connection: 'no connection',
  private_address: 'private address',
  secret_unreadable: 'secret could not be read',
} as const;

/** Deliveries of webhook events, newest first. */
export function Deliveries() {
  const { account } = useCurrent();
  const deliveries = useDeliveries(account.id, true);
  const rows = deliveries.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <Card flush title="Deliveries" about="Kept for 30 days after the last attempt">
      {deliveries.data === undefined ? (
        deliveries.isError ? (
          <div className="card-body">
            <ErrorNotice error={deliveries.error} retry={() => void deliveries.refetch()} />
          </div>
        ) : (
          <Skeleton />
        )
      ) : rows.length === 0 ? (
        <Empty icon="send" title="No deliveries yet">
          The first event is sent with the next alert.
        </Empty>
      ) : (
        <>
          <Table
            label="Deliveries"
            columns={[
              { label: 'Event' },
              { label: 'State' },
              { label: 'Created', wide: true },
              { label: 'Attempts', right: true },
              { label: 'Last attempt' },
            ]}
          >
            {rows.map((delivery) => (
              <tr key={delivery.eventId}>
                <th scope="row" className="code nowrap">
                  {delivery.eventId}
                </th>
                <td>
                  <StateBadge tone={STATES[delivery.state].tone}>{STATES[delivery.state].word}</StateBadge>
                </td>
                <td>
                  <Time at={delivery.createdAt} />
                </td>
                <td className="right">{delivery.attempts}</td>
                <td>{lastAttempt(delivery)}</td>
              </tr>
            ))}
          </Table>
          <TableFoot
            shown={rows.length}
            noun={rows.length === 1 ? 'event' : 'events'}
            hasMore={deliveries.hasNextPage}
            isLoading={deliveries.isFetchingNextPage}
            more={() => void deliveries.fetchNextPage()}
          />
        </>
      )}
    </Card>
  );
}

function lastAttempt({ lastAttempts, attempts }: WebhookDeliveryView): string {
  const last = lastAttempts.at(-1);
  if (last === undefined) return attempts === 0 ? 'none yet' : countOf(attempts, 'attempt');
  if (last.failure === null) return `${last.status ?? ''} in ${last.durationMs} ms`;
  return last.failure === 'status' ? `status ${last.status ?? 'unknown'}` : FAILURES[last.failure];
}
