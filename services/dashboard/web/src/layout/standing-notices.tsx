import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { request } from '../api/request.js';
import { ErrorNotice, Notice } from '../ui/notice.js';

/** Plain HTTP on a host that others can reach. */
export function TlsNeeded() {
  return (
    <Notice tone="warn" title="This dashboard is served without encryption">
      Passwords and keys travel readable for everybody on the way. Whoever runs it has to put TLS in front of it and set
      its address to https before it is used.
    </Notice>
  );
}

/** An address that nobody has proven yet. */
export function Unverified({ email }: { readonly email: string }) {
  const again = useMutation({ mutationFn: () => request('/resend-verification', { method: 'POST' }) });
  return (
    <>
      <Notice
        tone="info"
        title="Verify your e-mail address"
        announced={again.isSuccess}
        actions={
          again.isSuccess ? (
            <span>Sent again. The newest link is the one that works.</span>
          ) : (
            <Button size="compact-sm" variant="default" loading={again.isPending} onClick={() => again.mutate()}>
              Send the mail again
            </Button>
          )
        }
      >
        We sent a link to {email}. Until it is opened, no keys can be created.
      </Notice>
      {again.isError && <ErrorNotice error={again.error} />}
    </>
  );
}
