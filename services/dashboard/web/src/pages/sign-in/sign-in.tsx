import { PasswordInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate, useSearchParams } from 'react-router';
import type { PageSession } from '@gateway/contracts/pages';
import { SESSION_KEY, useConfig } from '../../api/queries.js';
import { setCsrfToken, request } from '../../api/request.js';
import { SignInPage } from '../../layout/sign-in-page.js';
import { Form } from '../../ui/form.js';
import { EmailInput } from '../../ui/new-password.js';

/** Signs in with address and password. */
export function Component() {
  const config = useConfig();
  const enter = useEnter();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useMutation({
    mutationFn: () => request<PageSession>('/sign-in', { method: 'POST', body: { email: email.trim(), password } }),
    onSuccess: enter,
    onError: () => setPassword(''),
  });
  return (
    <SignInPage
      title="Sign in"
      foot={
        config.data?.signUpEnabled === true && (
          <>
            New here? <Link to="/sign-up">Create an account</Link>
          </>
        )
      }
    >
      <Form
        change={signIn}
        submit="Sign in"
        below={
          <Link to="/forgot" className="small" style={{ justifySelf: 'center' }}>
            Forgot your password?
          </Link>
        }
      >
        <EmailInput value={email} onChange={setEmail} />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      </Form>
    </SignInPage>
  );
}

/** Starts a new session and opens the requested page, or the overview. */
export function useEnter(): (session: PageSession) => void {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [query] = useSearchParams();
  return (session) => {
    setCsrfToken(session.csrfToken);
    client.clear();
    client.setQueryData(SESSION_KEY, session);
    void navigate(ownPath(query.get('next')), { replace: true });
  };
}

/** Allows only paths of this dashboard, because another site could have made the link. */
export function ownPath(next: string | null): string {
  return next !== null && /^\/(?![/\\])/.test(next) ? next : '/';
}
