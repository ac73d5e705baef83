import { request } from 'undici';
import type { Dispatcher } from 'undici';

export interface TestResponse {
  readonly status: number;
  readonly requestId: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** True if the connection ended before the response did. */
  readonly cut: boolean;
}

/**
 * Sends one request and reads the response to its end, complete or cut. Sends no key if `secret` is
 * null.
 * @param onPiece called for each received chunk
 */
export async function chat(
  url: string,
  secret: string | null,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
  onPiece = (): void => undefined,
): Promise<TestResponse> {
  return readAnswer(
    await request(url, {
      method: 'POST',
      headers: { ...keyHeader(secret), 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    }),
    onPiece,
  );
}

/** Reads a list. */
export async function get(url: string, secret: string | null): Promise<TestResponse> {
  return readAnswer(await request(url, { headers: keyHeader(secret) }));
}

function keyHeader(secret: string | null): Record<string, string> {
  return secret === null ? {} : { authorization: `Bearer ${secret}` };
}

async function readAnswer(answer: Dispatcher.ResponseData, onPiece = (): void => undefined): Promise<TestResponse> {
  let text = '';
  let cut = false;
  try {
    for await (const chunk of answer.body) {
      text += String(chunk);
      onPiece();
    }
  } catch {
    cut = true;
  }
  const requestId = String(answer.headers['x-gateway-request-id']);
  return { status: answer.statusCode, requestId, headers: answer.headers, text, cut };
}

/** Returns the code of an error body, or `unreadable`. */
export function errorCode(body: string): string {
  try {
    return String((JSON.parse(body) as { error?: { code?: unknown } }).error?.code);
  } catch {
    return 'unreadable';
  }
}

export const HELLO = [{ role: 'user', content: 'hello' }];
