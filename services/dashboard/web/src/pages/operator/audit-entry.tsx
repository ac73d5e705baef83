import type { AuditEntryView } from '@gateway/contracts/pages';
import { CodeBlock } from '../../ui/copy.js';
import { Time } from '../../ui/time.js';

export function AuditEntry({ entry }: { readonly entry: AuditEntryView }) {
  const { at, actor, action, objectId, accountId, before, after, origin } = entry;
  const facts: [name: string, value: string | null][] = [
    ['Who', actor],
    ['Action', action],
    ['Object', objectId],
    ['Account', accountId],
    ['Network', origin?.client ?? null],
    ['Client', origin?.agent ?? null],
    ['Request ID', origin?.requestId ?? null],
  ];
  return (
    <div className="stack loose">
      <dl className="facts small">
        <dt>Time</dt>
        <dd>
          <Time at={at} seconds />
        </dd>
        {facts.map(([name, value]) => (
          <Fact key={name} name={name} value={value} />
        ))}
      </dl>
      {before !== null && <State title="Before" state={before} />}
      {after !== null && <State title={before === null ? 'Recorded' : 'After'} state={after} />}
      {before !== null && after === null && <p className="muted small">After: it no longer exists.</p>}
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string | null }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className={value === null ? 'muted' : 'code'}>{value ?? '—'}</dd>
    </>
  );
}

function State({ title, state }: { readonly title: string; readonly state: object }) {
  return (
    <div className="stack tight">
      <h3>{title}</h3>
      <CodeBlock label={title} code={JSON.stringify(state, null, 2)} />
    </div>
  );
}
