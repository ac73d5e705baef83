import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiError } from '../api/request.js';
import { type Advice, findAdvice } from '../format/advice.js';
import { CopyText } from './copy.js';
import { Icon } from './icons.js';

type NoticeTone = 'info' | 'warn' | 'bad' | 'good';
const ICONS = { info: 'info', warn: 'warn', bad: 'bad', good: 'check' } as const;

interface NoticeProps {
  readonly tone: NoticeTone;
  readonly title: ReactNode;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
  /** Announced to screen readers when it appears; omit it for notices that are part of a page. */
  readonly announced?: boolean;
}

/** A message to the reader. */
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
  /** Replaces the default advice if the code has another meaning here. */
  readonly advice?: Advice | undefined;
}

/** A failed request: the error, the next step, and the request ID for support. */
export function ErrorNotice({ error, retry, advice: own }: ErrorNoticeProps) {
  const fault = error instanceof ApiError ? error : new ApiError('unexpected_answer', messageOf(error), 0, null);
  const advice = own ?? findAdvice(fault.code);
  return (
    <Notice
      tone="bad"
      announced
      title={advice?.title ?? 'Something went wrong'}
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
              Request ID <CopyText text={fault.requestId} label="Copy the request ID" />
            </span>
          )}
        </>
      }
    >
      {(advice === null || advice.showsMessage === true) && <div>{sentence(fault.message)}</div>}
      {advice !== null && <div className="muted">{nextOf(fault, advice.next)}</div>}
    </Notice>
  );
}

function nextOf(fault: ApiError, next: string): string {
  return fault.retryAfter === null ? next : `${next} Try again in ${fault.retryAfter} s.`;
}

/** Writes a message of the API as a sentence. A field name at its beginning stays as it is. */
function sentence(message: string): string {
  const text = /^[a-z]+[ ,]/.test(message) ? message.charAt(0).toUpperCase() + message.slice(1) : message;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'An unexpected error occurred.';
}

/** Returns the message of an error that names this field. */
export function fieldError(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError) || error.param === null || error.code !== 'invalid_request') return undefined;
  const named = error.param.split(/[.[]/).at(0) === field || error.param === field;
  return named ? error.message : undefined;
}

/** Returns whether an error names none of the fields and must be shown above the form. */
export function isFormError(error: unknown, fields: readonly string[]): boolean {
  return error !== null && error !== undefined && fields.every((field) => fieldError(error, field) === undefined);
}
