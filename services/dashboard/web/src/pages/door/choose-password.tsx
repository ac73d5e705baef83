import { Button } from '@mantine/core';
import type { TokenUsed } from '@gateway/contracts/pages';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { request } from '../../api/request.js';
import { Door } from '../../layout/door.js';
import { NewPassword } from '../../ui/new-password.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';
import { useMailToken } from './mail-token.js';

interface ChoosePasswordProps {
  readonly title: string;
  readonly about: string;
  readonly path: '/reset-password' | '/accept-invitation';
  readonly done: string;
}

/** A mail's link with which a password is set. */
export function ChoosePassword({ title, about, path, done }: ChoosePasswordProps) {
  const token = useMailToken();
  const [password, setPassword] = useState('');
  const choose = useMutation({
    mutationFn: () => request<TokenUsed>(path, { method: 'POST', body: { token, password } }),
  });
  const foot = <Link to="/sign-in">Go to sign-in</Link>;
  if (token === null) {
    return (
      <Door title={title} foot={foot}>
        <Notice tone="warn" title="The link is not complete">
          Open it from the mail, or copy all of it into the address bar.
        </Notice>
      </Door>
    );
  }
  if (choose.isSuccess) {
    return (
      <Door title={title}>
        <Notice tone="good" announced title={done}>
          <span className="breakable">{choose.data.email}</span>
        </Notice>
        <Button component={Link} to="/sign-in" fullWidth>
          Sign in
        </Button>
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
          Set password
        </Button>
      </form>
    </Door>
  );
}
