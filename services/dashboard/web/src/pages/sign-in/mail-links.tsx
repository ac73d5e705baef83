import { Button } from '@mantine/core';
import type { PageSession, TokenUsed } from '@gateway/contracts/pages';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiError, request } from '../../api/request.js';
import { Door } from '../../layout/door.js';
import { NewPassword } from '../../ui/new-password.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';
import { useMailToken } from './mail-token.js';
import { useEnter } from './use-enter.js';

interface ChoosePasswordProps {
  readonly title: string;
  readonly about: string;
  readonly path: '/verify-email' | '/reset-password' | '/accept-invitation';
  /** The button's text. */
  readonly submit: string;
  /** Told of a new password; without it its person goes in. */
  readonly onDone?: (used: TokenUsed) => void;
  /** What to do about a link that is used or too old. */
  readonly spent?: ReactNode;
}

/** A mail's link with which a password is set. */
export function ChoosePassword({ title, about, path, submit, onDone, spent }: ChoosePasswordProps) {
  const token = useMailToken();
  const enter = useEnter();
  const [password, setPassword] = useState('');
  const choose = useMutation({
    mutationFn: () => request<unknown>(path, { method: 'POST', body: { token, password } }),
    // What is answered follows from the path: a session, or whose password was set.
    onSuccess: (answer) => (onDone === undefined ? enter(answer as PageSession) : onDone(answer as TokenUsed)),
  });
  const foot = <Link to="/sign-in">Go to sign-in</Link>;
  if (token === null) {
    return (
      <Door title={title} foot={foot}>
        <Notice tone="warn" title="The link is not complete">
          Open it from the mail, or copy all of it into the address bar.
        </Notice>
        {spent}
      </Door>
    );
  }
  if (choose.error instanceof ApiError && choose.error.code === 'token_invalid') {
    return (
      <Door title={title} foot={foot}>
        <ErrorNotice error={choose.error} />
        {spent}
      </Door>
    );
  }
  return (
    <Door title={title} about={about} foot={foot}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          choose.mutate();
        }}
      >
        {choose.isError && <ErrorNotice error={choose.error} />}
        <NewPassword label="New password" value={password} onChange={setPassword} />
        <Button type="submit" fullWidth loading={choose.isPending}>
          {submit}
        </Button>
      </form>
    </Door>
  );
}
