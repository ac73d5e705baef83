import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/request.js';
import { EmailInput } from '../../ui/new-password.js';
import { ErrorNotice } from '../../ui/notice.js';

interface SendAgainProps {
  /** Absent: the form has a field for it. */
  readonly email?: string;
}

/** Requests another verification email, with the same response for unknown addresses. */
export function SendAgain({ email: known }: SendAgainProps) {
  const [typed, setTyped] = useState('');
  const email = (known ?? typed).trim();
  const again = useMutation({ mutationFn: () => request('/resend-verification', { method: 'POST', body: { email } }) });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        again.mutate();
      }}
    >
      {again.isError && <ErrorNotice error={again.error} />}
      {known === undefined && <EmailInput value={typed} onChange={setTyped} />}
      <Button type="submit" variant="default" fullWidth loading={again.isPending}>
        {known === undefined ? 'Send a new link' : 'Send the email again'}
      </Button>
      {again.isSuccess && (
        <p role="status" className="muted small">
          If the address is not verified yet, we sent another email. You can request five emails per hour.
        </p>
      )}
    </form>
  );
}
