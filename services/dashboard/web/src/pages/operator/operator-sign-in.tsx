import { PasswordInput } from '@mantine/core';
import type { PageSession } from '@gateway/contracts/pages';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useNavigate } from 'react-router';
import { SESSION_KEY, useConfig } from '../../api/queries.js';
import { setCsrfToken, request } from '../../api/request.js';
import { SignInPage } from '../../layout/sign-in-page.js';
import { Form } from '../../ui/form.js';

/** Opens an operator's session. The browser does not keep the token. */
export function Component() {
  const client = useQueryClient();
  const config = useConfig();
  const navigate = useNavigate();
  const [token, setToken] = useState('');
  const signIn = useMutation({
    mutationFn: () => request<PageSession>('/operator/sign-in', { method: 'POST', body: { token: token.trim() } }),
    onSuccess(session) {
      setCsrfToken(session.csrfToken);
      client.setQueryData(SESSION_KEY, session);
      void navigate('/operator', { replace: true });
    },
  });
  if (config.data?.operatorsEnabled === false) {
    return (
      <SignInPage
        title="Operator sign-in"
        about="Operator sign-in is disabled on this deployment. Use the operator API instead."
      >
        <Link to="/sign-in">Sign in as a user instead</Link>
      </SignInPage>
    );
  }
  return (
    <SignInPage
      title="Operator sign-in"
      about="For operators of this gateway. The session ends after 30 minutes without use, or after 8 hours."
      foot={<Link to="/sign-in">Sign in as a user instead</Link>}
    >
      <Form change={signIn} submit="Sign in">
        <PasswordInput
          label="Operator token"
          name="token"
          autoComplete="off"
          required
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
      </Form>
    </SignInPage>
  );
}
