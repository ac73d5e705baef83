import type { PageSession } from '@gateway/contracts/pages';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearchParams } from 'react-router';
import { SESSION_KEY } from '../../api/queries.js';
import { keepCsrfToken } from '../../api/request.js';

/** Starts a new session and opens the requested page, or the overview. */
export function useEnter(): (session: PageSession) => void {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [query] = useSearchParams();
  return (session) => {
    keepCsrfToken(session.csrfToken);
    client.clear();
    client.setQueryData(SESSION_KEY, session);
    void navigate(ownPath(query.get('next')), { replace: true });
  };
}

/** Allows only paths of this dashboard, because another site could have made the link. */
export function ownPath(next: string | null): string {
  return next !== null && /^\/(?![/\\])/.test(next) ? next : '/';
}
