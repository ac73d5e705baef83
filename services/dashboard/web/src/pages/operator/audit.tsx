import { Drawer, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { AuditEntryView } from '@gateway/contracts/pages';
import { useState } from 'react';
import { useAudit } from '../../api/operator-queries.js';
import { CodeBlock } from '../../ui/copy.js';
import { Empty } from '../../ui/empty.js';
import { ListCard } from '../../ui/list-card.js';
import { Page } from '../../ui/page.js';
import { ShortTime, Time } from '../../ui/time.js';

const TYPING_MS = 300;

/** Who changed what. */
export function Component() {
  const [text, setText] = useState('');
  const [account] = useDebouncedValue(text.trim(), TYPING_MS);
  const audit = useAudit(account);
  const [chosen, setChosen] = useState<AuditEntryView | null>(null);
  return (
    <Page
      title="Audit log"
      about="Every change by operators, people and the gateway itself, newest first."
      actions={
        <TextInput
          aria-label="Only of this account"
          placeholder="Account id"
          w={260}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      }
    >
      <ListCard
        title="Changes"
        list={audit}
        columns={[
          { label: 'Time (UTC)' },
          { label: 'Who' },
          { label: 'What' },
          { label: 'Object' },
          { label: 'Account' },
        ]}
        nouns={['change', 'changes']}
        empty={<Empty icon="audit" title={account === '' ? 'Nothing was changed yet' : 'No change of this account'} />}
        row={(entry) => (
          <tr key={entry.id} className="choosable" onClick={() => setChosen(entry)}>
            <td>
              <button type="button" className="row-button">
                <ShortTime at={entry.at} />
                <span className="hidden-text">, show change {entry.id}</span>
              </button>
            </td>
            <td className="code nowrap">{entry.actor}</td>
            <th scope="row" className="nowrap">
              {entry.action}
            </th>
            <td className="code breakable">{entry.objectId}</td>
            <td className="code nowrap">{entry.accountId ?? '—'}</td>
          </tr>
        )}
      />
      <Drawer
        opened={chosen !== null}
        onClose={() => setChosen(null)}
        position="right"
        size={560}
        title={chosen?.action ?? 'Change'}
      >
        {chosen !== null && <Entry entry={chosen} />}
      </Drawer>
    </Page>
  );
}

function Entry({ entry }: { readonly entry: AuditEntryView }) {
  return (
    <div className="stack loose">
      <dl className="facts small">
        <dt>At</dt>
        <dd>
          <Time at={entry.at} seconds />
        </dd>
        <dt>Who</dt>
        <dd className="code">{entry.actor}</dd>
        <dt>Object</dt>
        <dd className="code">{entry.objectId}</dd>
      </dl>
      <div className="stack tight">
        <h3>Before</h3>
        <CodeBlock
          label="State before"
          code={entry.before === null ? 'not there' : JSON.stringify(entry.before, null, 2)}
        />
      </div>
      <div className="stack tight">
        <h3>After</h3>
        <CodeBlock
          label="State after"
          code={entry.after === null ? 'not there' : JSON.stringify(entry.after, null, 2)}
        />
      </div>
    </div>
  );
}
