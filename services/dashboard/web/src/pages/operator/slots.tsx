import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import type { SlotView } from '@gateway/contracts/pages';
import { useSlots } from '../../api/operator-queries.js';
import { request } from '../../api/request.js';
import { countOf } from '../../format/number.js';
import { useOperatorMay } from '../../layout/operator-shell.js';
import { Confirm } from '../../ui/confirm.js';
import { ShortId } from '../../ui/copy.js';
import { Empty } from '../../ui/empty.js';
import { Loaded } from '../../ui/loaded.js';
import { StateBadge } from '../../ui/meter.js';
import { Card, Page } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { Ago, Amount } from '../../ui/time.js';

/** The running requests. */
export function Component() {
  const slots = useSlots();
  const client = useQueryClient();
  const mayWrite = useOperatorMay('write');
  const [releasing, setReleasing] = useState<SlotView | null>(null);
  const release = async () => {
    if (releasing === null) return;
    await request(`/operator/v1/slots/${encodeURIComponent(releasing.requestId)}`, { method: 'DELETE' });
    await client.invalidateQueries({ queryKey: ['operator', 'slots'] });
  };
  return (
    <Page title="Running requests" about="Refreshed every five seconds.">
      <Loaded query={slots}>
        {({ data, next_cursor }) => (
          <Card flush title={`${countOf(data.length, 'request')}${next_cursor === null ? '' : ' and more'}`}>
            {data.length === 0 ? (
              <Empty icon="slots" title="No running requests">
                A request is listed from its admission to its end.
              </Empty>
            ) : (
              <Table
                label="Running requests"
                columns={[
                  { label: 'Request' },
                  { label: 'Account', wide: true },
                  { label: 'State' },
                  { label: 'Held', right: true, wide: true },
                  { label: 'Admitted', wide: true },
                  { label: 'Edge', wide: true },
                  { label: 'Actions', silent: true, pinned: true },
                ]}
              >
                {data.map((slot) => (
                  <tr key={slot.requestId}>
                    <th scope="row">
                      <div className="code breakable">{slot.modelId}</div>
                      <div className="cell-sub">
                        <ShortId id={slot.requestId} />
                      </div>
                    </th>
                    <td>
                      <Link to={`/operator/accounts/${slot.accountId}`}>
                        <ShortId id={slot.accountId} />
                      </Link>
                    </td>
                    <td>
                      <StateMark slot={slot} />
                    </td>
                    <td className="right">
                      <Amount usd={slot.heldUsd} />
                    </td>
                    <td>
                      <Ago at={slot.admittedAt} />
                    </td>
                    <td className="code nowrap">{slot.edge ?? '—'}</td>
                    <td className="right pinned">
                      <Button
                        size="compact-xs"
                        variant="default"
                        disabled={!mayWrite}
                        onClick={() => setReleasing(slot)}
                      >
                        End
                      </Button>
                    </td>
                  </tr>
                ))}
              </Table>
            )}
          </Card>
        )}
      </Loaded>
      <Confirm
        opened={releasing !== null}
        title="End this request?"
        action="End request"
        danger
        onClose={() => setReleasing(null)}
        onConfirm={release}
      >
        <p>
          The client's response breaks off. The amount held for the request stays held until its usage record is
          settled.
        </p>
      </Confirm>
    </Page>
  );
}

function StateMark({ slot }: { readonly slot: SlotView }) {
  if (slot.state === 'expiring') return <StateBadge tone="warn">No heartbeat</StateBadge>;
  return slot.takesSlot ? (
    <StateBadge tone="good">Running</StateBadge>
  ) : (
    <StateBadge tone="warn">Without a slot</StateBadge>
  );
}
