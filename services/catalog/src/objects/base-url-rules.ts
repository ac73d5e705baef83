import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import { isPrivateHost } from '@gateway/service-kit/network-address';

export interface BaseUrlRules {
  /** Permits private and loopback addresses, and plain HTTP to them. */
  readonly privateAllowed: boolean;
  /** Whether every endpoint has its own path, so that the base URL may end in `/v1`. */
  readonly allPathsGiven: boolean;
}

/**
 * Returns the base URL of a source as it is stored: normalized by the URL parser, without a slash
 * at the end. Only the text of host names is checked. The edge checks the addresses that they
 * resolve to.
 */
export function checkBaseUrl(
  text: string,
  { privateAllowed, allPathsGiven }: BaseUrlRules,
): string | ManagementRefusal {
  const wrong = (message: string) => refuse('invalid_request', `baseUrl ${message}`, 'baseUrl');
  if (!URL.canParse(text)) return wrong('is no URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return wrong('must begin with https://');
  if (url.username !== '' || url.password !== '') return wrong('must not contain a user or password; use credential');
  if (/[?#]/.test(text)) return wrong('must not have a query or fragment');
  const isPrivate = isPrivateHost(url.hostname);
  if (isPrivate && !privateAllowed)
    return wrong('is a private, loopback or link-local address, which this deployment does not allow');
  if (url.protocol === 'http:' && !isPrivate) return wrong('must begin with https://');
  const path = url.pathname.replace(/(?<!\/)\/+$/, '');
  if (path.endsWith('/v1') && !allPathsGiven)
    return wrong('must be given without /v1, because the path of the endpoint is appended');
  return url.origin + path;
}
