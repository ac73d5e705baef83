import { Drawer } from '@mantine/core';
import type { UsageLookup } from '@gateway/contracts/pages';
import { Link } from 'react-router';
import { useUsageLookup } from '../../api/queries.js';
import { findCallAdvice } from '../../format/advice.js';
import { useCurrent } from '../../layout/current-account.js';
import { CopyText } from '../../ui/copy.js';
import { Loaded } from '../../ui/loaded.js';
import { Notice } from '../../ui/notice.js';
import { Time } from '../../ui/time.js';
import { RequestRecord } from './call-record.js';

interface CallDrawerProps {
  readonly requestId: string | null;
  readonly onClose: () => void;
}

export function RequestDrawer({ requestId, onClose }: CallDrawerProps) {
  const { account } = useCurrent();
  const lookup = useUsageLookup(account.id, requestId);
  return (
    <Drawer opened={requestId !== null} onClose={onClose} position="right" size={520} title="Request">
      {requestId !== null && (
        <div className="stack loose">
          <CopyText text={requestId} label="Copy the request ID" />
          <Loaded query={lookup} lines={8}>
            {(found) => (isRefused(found) ? <Refused call={found} /> : <RequestRecord record={found} />)}
          </Loaded>
        </div>
      )}
    </Drawer>
  );
}

type RefusedCall = Extract<UsageLookup, { refused: unknown }>;

function isRefused(found: UsageLookup): found is RefusedCall {
  return 'refused' in found;
}

function Refused({ call: { refused } }: { readonly call: RefusedCall }) {
  const advice = findCallAdvice(refused.code);
  return (
    <>
      <Notice
        tone="warn"
        title={`Refused: ${advice.title}`}
        actions={advice.link !== undefined && <Link to={advice.link.to}>{advice.link.label}</Link>}
      >
        <div>{advice.next}</div>
      </Notice>
      <dl className="facts">
        <dt>Code</dt>
        <dd className="code">{refused.code}</dd>
        <dt>Time</dt>
        <dd>
          <Time at={refused.at} seconds />
        </dd>
        <dt>Cost</dt>
        <dd>None, because no provider was used</dd>
      </dl>
    </>
  );
}
