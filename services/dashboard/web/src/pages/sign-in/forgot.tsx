import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { request } from '../../api/request.js';
import { SignInPage } from '../../layout/sign-in-page.js';
import { Form } from '../../ui/form.js';
import { EmailInput } from '../../ui/new-password.js';

/** Requests an email with a link to set a new password. */
export function Component() {
  const [email, setEmail] = useState('');
  const forgot = useMutation({
    mutationFn: () => request('/forgot-password', { method: 'POST', body: { email: email.trim() } }),
  });
  const foot = <Link to="/sign-in">Back to sign-in</Link>;
  if (forgot.isSuccess) {
    return (
      <SignInPage title="Check your email" foot={foot}>
        <p role="status">
          If <strong className="breakable">{email}</strong> belongs to an account, we sent a link to it. The link works
          once, for an hour.
        </p>
      </SignInPage>
    );
  }
  return (
    <SignInPage title="Set a new password" about="We send you a link to choose one." foot={foot}>
      <Form change={forgot} submit="Send the link">
        <EmailInput value={email} onChange={setEmail} />
      </Form>
    </SignInPage>
  );
}
