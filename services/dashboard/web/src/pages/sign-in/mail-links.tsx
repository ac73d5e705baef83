import { Button } from '@mantine/core';
import type { PageSession, TokenUsed } from '@gateway/contracts/pages';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiError, request } from '../../api/request.js';
import { SignInPage } from '../../layout/sign-in-page.js';
import { NewPassword } from '../../ui/new-password.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';
import { SendAgain } from './send-again.js';
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
function ChoosePassword({ title, about, path, submit, onDone, spent }: ChoosePasswordProps) {
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
      <SignInPage title={title} foot={foot}>
        <Notice tone="warn" title="The link is not complete">
          Open it from the mail, or copy all of it into the address bar.
        </Notice>
        {spent}
      </SignInPage>
    );
  }
  if (choose.error instanceof ApiError && choose.error.code === 'token_invalid') {
    return (
      <SignInPage title={title} foot={foot}>
        <ErrorNotice error={choose.error} />
        {spent}
      </SignInPage>
    );
  }
  return (
    <SignInPage title={title} about={about} foot={foot}>
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
    </SignInPage>
  );
}

/**
 * The token of a mail's link. It is in the fragment, which no server sees, and leaves the address
 * bar at once.
 */
function useMailToken(): string | null {
  const [token] = useState(() => new URLSearchParams(window.location.hash.slice(1)).get('token'));
  if (window.location.hash !== '') window.history.replaceState(window.history.state, '', window.location.pathname);
  return token;
}

/**
 * Where the link of a verification mail leads: the first password is set, and its person goes in.
 */
export function Verify() {
  return (
    <ChoosePassword
      title="Verify your e-mail address"
      about="Choose the password of your account. The address is verified with it."
      path="/verify-email"
      submit="Verify and sign in"
      spent={<SendAgain />}
    />
  );
}

const RESET_TITLE = 'Choose a new password';

/** Where the link of a reset mail leads. */
export function Reset() {
  const [done, setDone] = useState<TokenUsed | null>(null);
  if (done !== null) {
    return (
      <SignInPage title={RESET_TITLE}>
        <Notice tone="good" announced title="The new password is set">
          <span className="breakable">{done.email}</span>
        </Notice>
        <Button component={Link} to="/sign-in" fullWidth>
          Sign in
        </Button>
      </SignInPage>
    );
  }
  return (
    <ChoosePassword
      title={RESET_TITLE}
      about="All sessions of this account end, on every device."
      path="/reset-password"
      submit="Set password"
      onDone={setDone}
      spent={<Link to="/forgot">Send a new link</Link>}
    />
  );
}

/** Where the link of an invitation leads; it verifies the address too, and its person goes in. */
export function Invitation() {
  return (
    <ChoosePassword
      title="Join the team"
      about="Choose a password for your account. If you have one already, just sign in: you are a member."
      path="/accept-invitation"
      submit="Set password and sign in"
    />
  );
}
