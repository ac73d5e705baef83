import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { useConfig } from '../../api/queries.js';
import { request } from '../../api/request.js';
import { SignInPage } from '../../layout/sign-in-page.js';
import { Form } from '../../ui/form.js';
import { EmailInput } from '../../ui/new-password.js';
import { Notice, fieldError } from '../../ui/notice.js';
import { SendAgain } from './send-again.js';

/** Creates an account. The response is the same whether or not the address is known. */
export function Component() {
  const config = useConfig();
  const [form, setForm] = useState({ name: '', email: '' });
  const signUp = useMutation({
    mutationFn: () => request('/sign-up', { method: 'POST', body: { ...form, email: form.email.trim() } }),
  });
  const foot = (
    <>
      Have an account? <Link to="/sign-in">Sign in</Link>
    </>
  );
  if (config.data?.signUpEnabled === false) {
    return (
      <SignInPage title="Create an account" foot={foot}>
        <Notice tone="info" title="Sign-up is disabled on this gateway">
          Ask the operator for an account, or a team owner for an invitation.
        </Notice>
      </SignInPage>
    );
  }
  if (signUp.isSuccess) {
    return (
      <SignInPage title="Check your email" foot={foot}>
        <div role="status" className="stack">
          <p>
            We sent an email to <strong className="breakable">{form.email}</strong>. Open the link to verify the address
            and choose your password.
          </p>
          <p className="muted">
            The link works for 24 hours. If the email does not arrive within a few minutes, check your spam folder, then
            send it again.
          </p>
        </div>
        <SendAgain email={form.email} />
      </SignInPage>
    );
  }
  const set = (name: keyof typeof form) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  return (
    <SignInPage
      title="Create an account"
      about="One key for many models. No card is needed to look around."
      foot={foot}
    >
      <Form change={signUp} fields={Object.keys(form)} submit="Create account">
        <TextInput
          label="Name"
          description="Your name or that of your organization. It becomes the name of the account."
          name="name"
          autoComplete="name"
          required
          maxLength={200}
          value={form.name}
          onChange={(event) => set('name')(event.currentTarget.value)}
          error={fieldError(signUp.error, 'name')}
        />
        <EmailInput value={form.email} onChange={set('email')} error={fieldError(signUp.error, 'email')} />
      </Form>
    </SignInPage>
  );
}
