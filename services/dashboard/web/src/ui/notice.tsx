import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiError } from '../api/request.js';
import { adviceOf } from '../format/advice.js';
import type { Advice } from '../format/advice.js';
import { CopyText } from './copy.js';
import { Icon } from './icons.js';

type NoticeTone = 'info' | 'warn' | 'bad' | 'good';
const ICONS = { info: 'info', warn: 'warn', bad: 'bad', good: 'check' } as const;

interface NoticeProps {
  readonly tone: NoticeTone;
  readonly title: ReactNode;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
  /** Said aloud when it appears; leave it out for what stands on a page from the beginning. */
  readonly announced?: boolean;
}

/** Something to know before going on. */
export function Notice({ tone, title, children, actions, announced = false }: NoticeProps) {
  const role = announced ? (tone === 'bad' ? 'alert' : 'status') : undefined;
  return (
    <div className={`notice ${tone}`} role={role}>
      <Icon name={ICONS[tone]} />
      <div className="notice-text">
        <div className="notice-title">{title}</div>
        {children !== undefined && <div className="notice-words">{children}</div>}
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
    </div>
  );
}

interface ErrorNoticeProps {
  readonly error: unknown;
  readonly retry?: () => void;
  /** In place of the usual one, where the code means something else. */
  readonly advice?: Advice | undefined;
}

/** A failed request: what happened, what to do next, and the id to name when asking for help. */
export function ErrorNotice({ error, retry, advice: own }: ErrorNoticeProps) {
  const fault = error instanceof ApiError ? error : new ApiError('unexpected_answer', messageOf(error), 0, null);
  const advice = own ?? adviceOf(fault.code);
  return (
    <Notice
      tone="bad"
      announced
      title={advice?.title ?? 'That did not work'}
      actions={
        <>
          {advice?.link !== undefined && <Link to={advice.link.to}>{advice.link.label}</Link>}
          {retry !== undefined && (
            <Button size="compact-sm" variant="default" onClick={retry}>
              Try again
            </Button>
          )}
          {fault.requestId !== null && (
            <span className="tiny muted">
              Request id <CopyText text={fault.requestId} label="Copy the request id" />
            </span>
          )}
        </>
      }
    >
      {own === undefined && <div>{fault.message}</div>}
      {advice !== null && <div className="muted">{nextOf(fault, advice.next)}</div>}
    </Notice>
  );
}

function nextOf(fault: ApiError, next: string): string {
  return fault.retryAfter === null ? next : `${next} It is open again in ${fault.retryAfter} s.`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'Something unexpected happened.';
}
