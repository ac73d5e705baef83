import { useState } from 'react';

/** The token of a mail's link. It stands in the fragment, which no server sees, and leaves the address bar at once. */
export function useMailToken(): string | null {
  const [token] = useState(() => new URLSearchParams(window.location.hash.slice(1)).get('token'));
  if (window.location.hash !== '') window.history.replaceState(window.history.state, '', window.location.pathname);
  return token;
}
