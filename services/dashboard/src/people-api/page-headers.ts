import type { ServerResponse } from 'node:http';

const HSTS = 'max-age=31536000';
export const CSP_REPORT_PATH = '/api/csp-report';

/** On every answer: whatever it is, it is shown in no frame, sniffed by nobody and referred to nowhere. */
export function setCommonHeaders(response: ServerResponse, secure: boolean): void {
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('referrer-policy', 'no-referrer');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  // What is no page loads nothing.
  response.setHeader('content-security-policy', "default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
  if (secure) response.setHeader('strict-transport-security', HSTS);
}

/** Of the pages: their own files, nothing from anywhere else; styles that the page adds must carry the nonce. */
export function pagePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    `report-uri ${CSP_REPORT_PATH}`,
  ].join('; ');
}
