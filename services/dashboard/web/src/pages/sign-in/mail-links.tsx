import { Button } from '@mantine/core';
import type { PageSession, TokenUsed } from '@gateway/contracts/pages';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Link } from 'react-router';
import { ApiError, request } from '../../api/request.js';
import { SignInPage } from '../../layout/sign-in-page.js';
import { Form } from '../../ui/form.js';
import { NewPassword } from '../../ui/new-password.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';
import { SendAgain } from './send-again.js';
import { useEnter } from './sign-in.js';

interface ChoosePasswordProps {
  readonly title: string;
  readonly about: string;
  readonly path: '/verify-email' | '/reset-password' | '/accept-invitation';
  /** Text of the button. */
  readonly submit: string;
  /** Called after the password was set; if absent, the person is signed in. */
  readonly onDone?: (used: TokenUsed) => void;
  /** Shown if the link was used or has expired. */
  readonly spent?: ReactNode;
}

/** Sets a password with the token of an email link. */
function ChoosePassword({ title, about, path, submit, onDone, spent }: ChoosePasswordProps) {
  const token = useMailToken();
  const enter = useEnter();
  const [password, setPassword] = useState('');
  const choose = useMutation({
    mutationFn: () => request<unknown>(path, { method: 'POST', body: { token, password } }),
    // The path determines the response: a session, or the address whose password was set.
    onSuccess: (answer) => (onDone === undefined ? enter(answer as PageSession) : onDone(answer as TokenUsed)),
  });
  const foot = <Link to="/sign-in">Go to sign-in</Link>;
  if (token === null) {
    return (
      <SignInPage title={title} foot={foot}>
        <Notice tone="warn" title="The link is incomplete">
          Open it from the email, or copy all of it into the address bar.
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
      <Form change={choose} submit={submit}>
        <NewPassword label="New password" value={password} onChange={setPassword} />
      </Form>
    </SignInPage>
  );
}

/**
 * Returns the token of an email link. It is in the fragment, which browsers do not send to servers,
 * and is removed from the address bar at once.
 */
function useMailToken(): string | null {
  const [token] = useState(() => new URLSearchParams(window.location.hash.slice(1)).get('token'));
  if (window.location.hash !== '') window.history.replaceState(window.history.state, '', window.location.pathname);
  return token;
}

/** The target of verification emails: sets the first password and signs in. */
export function Verify() {
  return (
    <ChoosePassword
      title="Verify your email address"
      about="Choose a password for your account to verify the address."
      path="/verify-email"
      submit="Verify and sign in"
      spent={<SendAgain />}
    />
  );
}

const RESET_TITLE = 'Choose a new password';

/** The target of reset emails. */
export function Reset() {
  const [done, setDone] = useState<TokenUsed | null>(null);
  if (done !== null) {
    return (
      <SignInPage title={RESET_TITLE}>
        <Notice tone="good" announced title="Password changed">
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
      about="This ends all your sessions on all devices."
      path="/reset-password"
      submit="Set password"
      onDone={setDone}
      spent={<Link to="/forgot">Send a new link</Link>}
    />
  );
}

/** The target of invitations: verifies the address, sets the password and signs in. */
export function Invitation() {
  return (
    <ChoosePassword
      title="Join the team"
      about="Choose a password for your account. If you already have one, sign in; you are a member."
      path="/accept-invitation"
      submit="Set password and sign in"
    />
  );
}
