import { request } from 'undici';

export interface Answer {
  readonly status: number;
  readonly requestId: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The connection ended before the answer did. */
  readonly cut: boolean;
}

/** One call, read to its end, however it ends. */
export async function chat(url: string, secret: string, body: Record<string, unknown>): Promise<Answer> {
  const answer = await request(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  let text = '';
  let cut = false;
  try {
    for await (const chunk of answer.body) text += String(chunk);
  } catch {
    cut = true;
  }
  const requestId = String(answer.headers['x-gateway-request-id']);
  return { status: answer.statusCode, requestId, headers: answer.headers, text, cut };
}

export const HELLO = [{ role: 'user', content: 'hello' }];
