/** Scheme and authority of a target in absolute form; one of another scheme is no endpoint. */
const SCHEME_AND_AUTHORITY = /^https?:\/\/[^/?]*/i;
const SLASH = 0x2f;

/**
 * The path and query of a request's target. Most begin with a slash and are it; one in absolute form, as for a proxy, is
 * accepted too (RFC 9112, section 3.2.2), and whom it names decides nothing, like the Host header.
 */
export function pathAndQuery(target: string): string {
  return target.charCodeAt(0) === SLASH ? target : originForm(target);
}

function originForm(target: string): string {
  const start = SCHEME_AND_AUTHORITY.exec(target)?.[0].length;
  if (start === undefined) return target;
  return target.charCodeAt(start) === SLASH ? target.slice(start) : `/${target.slice(start)}`;
}
