import { Drawer, SegmentedControl } from '@mantine/core';
import type { AuditEntryView, AuditKind } from '@gateway/contracts/pages';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { useAudit } from '../../api/operator-queries.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { Page } from '../../ui/page.js';
import { ShortId, shortId } from '../../ui/copy.js';
import { ShortTime } from '../../ui/time.js';
import { AccountPicker } from './account-picker.js';
import { AuditEntry } from './audit-entry.js';

const KINDS: { value: AuditKind | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'change', label: 'Changes' },
  { value: 'access', label: 'Access' },
  { value: 'refused', label: 'Refused' },
];
const EMPTY: Record<AuditKind | 'all', string> = {
  all: 'No entries',
  change: 'No changes',
  access: 'No sign-ins, requested links, exports or source tests',
  refused: 'No refused attempts',
};

/** The audit log. The filters are in the URL. */
export function Component() {
  const [query, setQuery] = useSearchParams();
  const accountId = query.get('account');
  const kind = KINDS.find(({ value }) => value === query.get('kind'))?.value ?? 'all';
  const audit = useAudit(accountId, kind === 'all' ? null : kind);
  const [chosen, setChosen] = useState<AuditEntryView | null>(null);
  const set = (name: string, value: string | null) =>
    setQuery(
      (before) => {
        const after = new URLSearchParams(before);
        if (value === null) after.delete(name);
        else after.set(name, value);
        return after;
      },
      { replace: true },
    );
  return (
    <Page
      title="Audit log"
      about="Changes, sign-ins, exports, source tests and refused attempts of operators, people and the gateway."
    >
      <ListCard
        title="Newest first"
        actions={
          <div className="row">
            <SegmentedControl
              aria-label="Kind of entry"
              size="xs"
              data={KINDS}
              value={kind}
              onChange={(value) => set('kind', value === 'all' ? null : value)}
            />
            <AccountPicker value={accountId} onChange={(value) => set('account', value)} />
          </div>
        }
        list={audit}
        columns={[
          { label: 'Time (UTC)' },
          { label: 'Action' },
          { label: 'Actor', wide: true },
          { label: 'Account', wide: true },
          { label: 'Origin', wide: true },
        ]}
        nouns={['entry', 'entries']}
        empty={<Empty icon="audit" title={`${EMPTY[kind]}${accountId === null ? '' : ' in this account'}`} />}
        row={(entry) => <AuditRow key={entry.id} entry={entry} onChoose={() => setChosen(entry)} />}
      />
      <Drawer
        opened={chosen !== null}
        onClose={() => setChosen(null)}
        position="right"
        size={560}
        title={chosen === null ? 'Entry' : actionText(chosen.action)}
      >
        {chosen !== null && <AuditEntry entry={chosen} />}
      </Drawer>
    </Page>
  );
}

function AuditRow({ entry, onChoose }: { readonly entry: AuditEntryView; readonly onChoose: () => void }) {
  const { origin } = entry;
  return (
    <tr className="selectable" onClick={onChoose}>
      <td>
        <button type="button" className="row-button">
          <ShortTime at={entry.at} />
          <span className="hidden-text">, show entry {entry.id}</span>
        </button>
      </td>
      <th scope="row">
        <div className="breakable">{actionText(entry.action)}</div>
        <div className="cell-sub">
          <ShortId id={entry.objectId} />
        </div>
        <div className="cell-sub narrow-only">
          by <ShortId id={entry.actor} />
        </div>
      </th>
      <td>
        <ShortId id={entry.actor} />
      </td>
      <td>
        {entry.accountId === null ? (
          '—'
        ) : (
          <Link to={`/operator/accounts/${entry.accountId}`} onClick={(event) => event.stopPropagation()}>
            <ShortId id={entry.accountId} />
          </Link>
        )}
      </td>
      <td>
        {origin === null ? (
          <span className="muted">No request</span>
        ) : (
          <>
            <div className="code nowrap">{origin.client ?? '—'}</div>
            {origin.agent !== null && (
              <div className="cell-sub clip" style={{ maxWidth: 200 }} title={origin.agent}>
                {origin.agent}
              </div>
            )}
            <div className="cell-sub">
              request <span title={origin.requestId}>{shortId(origin.requestId)}</span>
            </div>
          </>
        )}
      </td>
    </tr>
  );
}

/** Formats `put_source` as words; the entry shows the name itself. */
function actionText(action: string): string {
  const words = action.replace(/[_.-]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
