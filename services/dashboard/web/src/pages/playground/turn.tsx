import type { UsageLookup } from '@gateway/contracts/pages';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { ApiError, request } from '../../api/request.js';
import { formatCount } from '../../format/number.js';
import { Amount } from '../../ui/time.js';
import { CopyButton } from '../../ui/copy.js';
import type { Turn } from './use-conversation.js';

/** Most attempts to read the usage record. It exists as soon as billing has settled the request. */
const COST_TRIES_MAX = 40;
const COST_EVERY_MS = 750;
const EXACT_PLACES = 6;

/** One message with its response and cost. */
export function TurnView({ account, turn }: { readonly account: string; readonly turn: Turn }) {
  const { question, answer, state, requestId, model } = turn;
  return (
    <article className="turn">
      <div className="said">
        <span className="hidden-text">You: </span>
        {question}
      </div>
      {(answer !== '' || state === 'running') && (
        <div className={`answer${state === 'running' ? ' running' : ''}`}>
          <span className="hidden-text">Model: </span>
          {answer}
        </div>
      )}
      <div className="turn-foot">
        <span className="code">{model}</span>
        {state === 'stopped' && <span>Stopped</span>}
        {state !== 'running' && state !== 'failed' && requestId !== null && (
          <Cost account={account} requestId={requestId} />
        )}
        {requestId !== null && state !== 'running' && (
          <Link className="code" to={`/usage?request=${encodeURIComponent(requestId)}`}>
            {requestId}
          </Link>
        )}
        {answer !== '' && state !== 'running' && <CopyButton text={answer} label="Copy the response" size={22} />}
      </div>
    </article>
  );
}

function Cost({ account, requestId }: { readonly account: string; readonly requestId: string }) {
  const record = useQuery({
    queryKey: ['account', account, 'turn-cost', requestId],
    queryFn: () => request<UsageLookup>(`/accounts/${account}/usage-records/${encodeURIComponent(requestId)}`),
    retry: (failures, fault) => failures < COST_TRIES_MAX && fault instanceof ApiError && fault.status === 404,
    retryDelay: COST_EVERY_MS,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (record.data === undefined) return <span>{record.isError ? 'Cost unknown' : 'Settling the cost'}</span>;
  if ('refused' in record.data) return null;
  const { tokens, chargedUsd } = record.data;
  return (
    <>
      <span className="strong">
        <Amount usd={chargedUsd} exact={EXACT_PLACES} />
      </span>
      {tokens !== null && (
        <span className="num">
          {formatCount(tokens.input)} in, {formatCount(tokens.output)} out
        </span>
      )}
    </>
  );
}
