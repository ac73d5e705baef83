export const PAGES_SIGN_IN = '/api/sign-in';
export const CHAT = '/v1/chat/completions';

/** Returns the head of a POST with JSON. `more` contains header lines. */
export function postHead(path: string, ...more: readonly string[]): string {
  return [`POST ${path} HTTP/1.1`, 'host: gateway', 'content-type: application/json', ...more, '', ''].join('\r\n');
}

export function getHead(path: string): string {
  return [`GET ${path} HTTP/1.1`, 'host: gateway', '', ''].join('\r\n');
}

export function bearer(secret: string): string {
  return `authorization: Bearer ${secret}`;
}
