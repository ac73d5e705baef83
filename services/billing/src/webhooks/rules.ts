import { type ManagementRefusal, refuse, WEBHOOK_URL_CHARS_MAX } from '@gateway/contracts/operator';
import { isPrivateHost } from '@gateway/service-kit/network-address';

/**
 * Checks a webhook's URL and returns it in the URL parser's normal form. Host names are checked by
 * their text; their resolved addresses are checked at every connection.
 * @param privateAllowed allows private and loopback addresses, and plain HTTP to them
 */
export function checkWebhookUrl(text: string, privateAllowed: boolean): string | ManagementRefusal {
  const wrong = (message: string) => refuse('invalid_request', `url ${message}`, 'url');
  if (!URL.canParse(text)) return wrong('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return wrong('must begin with https://');
  if (url.username !== '' || url.password !== '') return wrong('must not contain a user or password');
  if (text.includes('#')) return wrong('must not have a fragment');
  const isPrivate = isPrivateHost(url.hostname);
  if (isPrivate && !privateAllowed)
    return wrong('is a private, loopback or link-local address, which this deployment does not allow');
  if (url.protocol === 'http:' && !isPrivate) return wrong('must begin with https://');
  if (url.href.length > WEBHOOK_URL_CHARS_MAX) return wrong(`is longer than ${WEBHOOK_URL_CHARS_MAX} characters`);
  return url.href;
}
