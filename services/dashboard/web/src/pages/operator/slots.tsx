import { Button } from '@mantine/core';
import type { SlotView } from '@gateway/contracts/pages';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { useSlots } from '../../api/operator-queries.js';
import { request } from '../../api/request.js';
import { countOf } from '../../format/number.js';
import { useOperatorMay } from '../../layout/operator-shell.js';
import { Amount } from '../../ui/amount.js';
import { Confirm } from '../../ui/confirm.js';
import { Empty } from '../../ui/empty.js';
import { Loaded } from '../../ui/loaded.js';
import { Mark } from '../../ui/mark.js';
import { Card, Page } from '../../ui/page.js';
import { Table } from '../../ui/table.js';
import { Ago } from '../../ui/time.js';

/** Calls that run at this moment. */
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
    <Page title="Open slots" about="Calls that have not ended, as the gate has them; renewed every five seconds.">
      <Loaded query={slots}>
        {({ data, next_cursor }) => (
          <Card flush title={`${countOf(data.length, 'call')}${next_cursor === null ? '' : ' and more'}`}>
            {data.length === 0 ? (
              <Empty icon="slots" title="Nothing runs at this moment">
                Calls stand here from admission to their end.
              </Empty>
            ) : (
              <Table
                label="Open slots"
                columns={[
                  { label: 'Request id' },
                  { label: 'Account' },
                  { label: 'Model' },
                  { label: 'State' },
                  { label: 'Held', right: true },
                  { label: 'Admitted' },
                  { label: 'Edge' },
                  { label: 'Actions', silent: true },
                ]}
              >
                {data.map((slot) => (
                  <tr key={slot.requestId}>
                    <th scope="row" className="code nowrap">
                      {slot.requestId}
                    </th>
                    <td>
                      <Link className="code nowrap" to={`/operator/accounts/${slot.accountId}`}>
                        {slot.accountId}
                      </Link>
                    </td>
                    <td className="code nowrap">{slot.modelId}</td>
                    <td>
                      <Mark tone={slot.state === 'open' ? 'good' : 'warn'}>
                        {slot.state === 'open' ? 'Running' : 'Edge is silent'}
                      </Mark>
                    </td>
                    <td className="right">
                      <Amount usd={slot.heldUsd} />
                    </td>
                    <td>
                      <Ago at={slot.admittedAt} />
                    </td>
                    <td className="code nowrap">{slot.edge ?? '—'}</td>
                    <td className="right">
                      <Button
                        size="compact-xs"
                        variant="default"
                        disabled={!mayWrite}
                        onClick={() => setReleasing(slot)}
                      >
                        Release
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
        title="Release this slot?"
        action="Release"
        danger
        onClose={() => setReleasing(null)}
        onConfirm={release}
      >
        <p>The call ends now. Its money stays held until its record comes.</p>
      </Confirm>
    </Page>
  );
}
