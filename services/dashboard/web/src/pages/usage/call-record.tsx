import { Fragment, type ReactNode } from 'react';
import type { UsageLookup } from '@gateway/contracts/pages';
import { formatCount, usesOf } from '../../format/number.js';
import { formatDuration } from '../../format/time.js';
import { StateBadge } from '../../ui/meter.js';
import { Amount, Time } from '../../ui/time.js';
import { kindWords } from '../billing/ledger.js';
import { Outcome, outcomeAbout } from './outcome.js';

type Found = Exclude<UsageLookup, { refused: unknown }>;

const EVIDENCE = {
  reported: 'Tokens reported by the provider',
  estimated: 'Estimated from the delivered content, because the provider reported no tokens; never above the hold',
  none: 'Tokens unknown',
} as const;
const ATTEMPTS = {
  completed: { tone: 'good', word: 'Completed' },
  rejected: { tone: 'warn', word: 'Rejected' },
  unreachable: { tone: 'bad', word: 'Unreachable' },
  timed_out: { tone: 'bad', word: 'Timed out' },
  broken: { tone: 'bad', word: 'Broke off' },
  abandoned: { tone: 'quiet', word: 'Client disconnected' },
} as const;
/** Tokens of audio and images, which the counts above include. */
const KINDS = [
  ['audioInput', 'Audio in input'],
  ['imageInput', 'Images in input'],
  ['audioOutput', 'Audio in output'],
  ['imageOutput', 'Images in output'],
] as const;
const EXACT_PLACES = 2;

/** Tokens, price, payment, evidence, attempts, timing. */
export function RequestRecord({ record }: { readonly record: Found }) {
  return (
    <>
      <div className="row apart">
        <span className="stat-value">
          <Amount usd={record.chargedUsd} exact={EXACT_PLACES} />
        </span>
        <Outcome outcome={record.outcome} />
      </div>
      <p className="muted small">{outcomeAbout(record.outcome)}</p>
      <Part title="Paid by">
        <dt>Plan</dt>
        <dd>
          <Amount usd={record.planUsd} exact={EXACT_PLACES} />
        </dd>
        <dt>Wallet</dt>
        <dd>
          <Amount usd={record.walletUsd} exact={EXACT_PLACES} />
        </dd>
      </Part>
      <Part title="Tokens">
        {record.tokens !== null && (
          <>
            <dt>Input</dt>
            <dd className="num">{formatCount(record.tokens.input)}</dd>
            <dt>Read from cache</dt>
            <dd className="num">{formatCount(record.tokens.cachedInput)}</dd>
            <dt>Written to cache</dt>
            <dd className="num">{formatCount(record.tokens.cacheWrite)}</dd>
            {record.tokens.cacheWrite1h > 0 && (
              <>
                <dt>Written to cache for 1 h</dt>
                <dd className="num">{formatCount(record.tokens.cacheWrite1h)}</dd>
              </>
            )}
            <dt>Output</dt>
            <dd className="num">{formatCount(record.tokens.output)}</dd>
            {KINDS.map(([kind, label]) => {
              const tokens = record.kinds?.[kind] ?? 0;
              return (
                tokens > 0 && (
                  <Fragment key={kind}>
                    <dt>{label}</dt>
                    <dd className="num">{formatCount(tokens)}</dd>
                  </Fragment>
                )
              );
            })}
          </>
        )}
        <dt>Evidence</dt>
        <dd>{EVIDENCE[record.evidence]}</dd>
      </Part>
      <Part title="Price">
        <dt>Version</dt>
        <dd className="code">{record.priceVersion ?? '—'}</dd>
        <dt>Class</dt>
        <dd>{record.class}</dd>
        {Object.entries(record.units).map(([unit, count]) => (
          <Fragment key={unit}>
            <dt>Tool</dt>
            <dd>{usesOf(unit, count)}</dd>
          </Fragment>
        ))}
      </Part>
      <Part title="Request">
        <dt>Model</dt>
        <dd className="code">{record.modelId}</dd>
        <dt>Endpoint</dt>
        <dd className="code">{record.endpoint ?? '—'}</dd>
        <dt>Streamed</dt>
        <dd>{record.streamed ? 'Yes' : 'No'}</dd>
        <dt>Key</dt>
        <dd>{record.keyName}</dd>
        <dt>Member</dt>
        <dd>{record.memberEmail ?? 'A former member'}</dd>
        <dt>Started</dt>
        <dd>
          <Time at={record.startedAt} seconds />
        </dd>
        <dt>Duration</dt>
        <dd>{formatDuration(Date.parse(record.endedAt) - Date.parse(record.startedAt))}</dd>
      </Part>
      <section className="stack tight">
        <h3>Attempts</h3>
        {record.attempts.length === 0 && <p className="muted small">No attempt reached a provider.</p>}
        <ol className="plain stack tight">
          {record.attempts.map((attempt, index) => (
            <li className="row apart" key={index}>
              <span className="code small">{attempt.sourceId}</span>
              <span className="row">
                {attempt.status !== null && <span className="num muted small">{attempt.status}</span>}
                <StateBadge tone={ATTEMPTS[attempt.outcome].tone}>{ATTEMPTS[attempt.outcome].word}</StateBadge>
              </span>
            </li>
          ))}
        </ol>
      </section>
      <Transactions transactions={record.transactions} />
    </>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="stack tight">
      <h3>{title}</h3>
      <dl className="facts small">{children}</dl>
    </section>
  );
}

/** Keeps entries of the customer's own money. Other entries belong to the operator's books. */
const isCustomers = ({ ledgerAccount }: { readonly ledgerAccount: string }) => /^(wallet|plan):/.test(ledgerAccount);

function Transactions({ transactions }: { readonly transactions: Found['transactions'] }) {
  if (transactions.length === 0) return null;
  return (
    <section className="stack tight">
      <h3>Ledger</h3>
      {transactions.map(({ id, at, kind, entries }) => (
        <Fragment key={id}>
          <p className="small muted">
            {kindWords(kind)}, <Time at={at} seconds />
          </p>
          <dl className="facts small">
            {entries.filter(isCustomers).map(({ ledgerAccount, amountUsd }) => (
              <Fragment key={ledgerAccount}>
                <dt>{ledgerAccount.startsWith('wallet:') ? 'Wallet' : 'Plan'}</dt>
                <dd>
                  <Amount usd={amountUsd} exact={EXACT_PLACES} />
                </dd>
              </Fragment>
            ))}
          </dl>
        </Fragment>
      ))}
    </section>
  );
}
