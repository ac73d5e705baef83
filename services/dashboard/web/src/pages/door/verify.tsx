import { Button, Loader } from '@mantine/core';
import type { TokenUsed } from '@gateway/contracts/pages';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link } from 'react-router';
import { SESSION_KEY, useSession } from '../../api/queries.js';
import { request } from '../../api/request.js';
import { Door } from '../../layout/door.js';
import { ErrorNotice, Notice } from '../../ui/notice.js';
import { useMailToken } from './mail-token.js';

/** Where the link of a verification mail leads. */
export function Component() {
  const token = useMailToken();
  const client = useQueryClient();
  const session = useSession();
  const asked = useRef(false);
  const verify = useMutation({
    mutationFn: (body: { token: string }) => request<TokenUsed>('/verify-email', { method: 'POST', body }),
    onSuccess: () => client.invalidateQueries({ queryKey: SESSION_KEY }),
  });
  useEffect(() => {
    // A token works once: a page that is drawn twice must not use it twice.
    if (token === null || asked.current) return;
    asked.current = true;
    verify.mutate({ token });
  }, [token, verify]);
  const isIn = session.data?.user != null;
  return (
    <Door title="Verify your e-mail address">
      {token === null && (
        <Notice tone="warn" title="The link is not complete">
          Open it from the mail, or copy all of it into the address bar.
        </Notice>
      )}
      {verify.isPending && (
        <div className="row" role="status">
          <Loader size="xs" /> Verifying
        </div>
      )}
      {verify.isError && <ErrorNotice error={verify.error} />}
      {verify.isSuccess && (
        <Notice tone="good" announced title="Your address is verified">
          <span className="breakable">{verify.data.email}</span>
        </Notice>
      )}
      {!verify.isPending && (
        <Button
          component={Link}
          to={isIn ? '/' : '/sign-in'}
          fullWidth
          variant={verify.isSuccess ? 'filled' : 'default'}
        >
          {isIn ? 'Go to the overview' : 'Sign in'}
        </Button>
      )}
    </Door>
  );
}
