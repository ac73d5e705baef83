/** Most characters of a Cookie header that are read; a longer one counts as absent. */
const COOKIE_CHARS_MAX = 8 * 1024;

/**
 * The value of a cookie in a Cookie header. Returns null if the cookie is missing or occurs more
 * than once: another site of the same domain can set a cookie of the same name, and the two cannot
 * be told apart. Takes time linear in the header's length, because unauthenticated clients send it.
 */
export function cookieOf(header: string | undefined, name: string): string | null {
  if (header === undefined || header.length > COOKIE_CHARS_MAX) return null;
  const values = header.split(';').flatMap((part) => {
    const equals = part.indexOf('=');
    return equals > 0 && part.slice(0, equals).trim() === name ? [part.slice(equals + 1).trim()] : [];
  });
  return values.length === 1 ? (values[0] ?? null) : null;
}

export interface CookieForm {
  /** Whether the dashboard is reached over TLS. The browser then binds the cookie to this host. */
  readonly secure: boolean;
}

export type CookieName = 'session' | 'operator';
const NAMES = { session: 'gw_session', operator: 'gw_operator' } as const;

/** Returns the cookie's name. `__Host-` binds a cookie to this host, path `/` and TLS. */
export function cookieName(name: CookieName, { secure }: CookieForm): string {
  return secure ? `__Host-${NAMES[name]}` : NAMES[name];
}

/** Returns a Set-Cookie line. `maxAgeSeconds` 0 deletes the cookie. */
export function setCookie(name: CookieName, value: string, maxAgeSeconds: number, form: CookieForm): string {
  // Lax keeps the session when a link in an email is opened. Without TLS, the stricter value is
  // used.
  const attributes = form.secure ? ['Secure', 'SameSite=Lax'] : ['SameSite=Strict'];
  return [`${cookieName(name, form)}=${value}`, 'Path=/', 'HttpOnly', `Max-Age=${maxAgeSeconds}`, ...attributes].join(
    '; ',
  );
}
