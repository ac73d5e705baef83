import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/request.js';
import { EmailInput } from '../../ui/email-input.js';
import { ErrorNotice } from '../../ui/notice.js';

interface SendAgainProps {
  /** Absent: it is asked for. */
  readonly email?: string;
}

/**
 * Asks for another mail that verifies an address. The answer is the same whether or not the address
 * is known.
 */
export function SendAgain({ email: known }: SendAgainProps) {
  const [typed, setTyped] = useState('');
  const email = (known ?? typed).trim();
  const again = useMutation({
    mutationFn: () => request('/resend-verification', { method: 'POST', body: { email } }),
  });
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
        {known === undefined ? 'Send a new link' : 'Send the mail again'}
      </Button>
      {again.isSuccess && (
        <p role="status" className="muted small">
          If the address waits to be verified, another mail is on its way. An hour has room for five of them.
        </p>
      )}
    </form>
  );
}
