import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { readMail } from '@gateway/mailbox';
import type { PageSession } from '@gateway/contracts/pages';
import { until } from '@gateway/testkit';

export interface PageAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed. Null if it is not JSON. */
  readonly body: unknown;
}

const PASSWORD_BYTES = 12;

/** A user of the dashboard with a browser's cookies. */
export class PageUser {
  readonly #url: string;
  readonly email: string;
  readonly password = randomBytes(PASSWORD_BYTES).toString('hex');
  #cookies = new Map<string, string>();
  #csrf: string | null = null;

  constructor(dashboardUrl: string, email = `${randomBytes(6).toString('hex')}@example.com`) {
    this.#url = dashboardUrl;
    this.email = email;
  }

  /** Sends a request to a path below `/api` as the pages do. */
  async request(method: string, path: string, body?: unknown): Promise<PageAnswer> {
    const response = await fetch(`${this.#url}/api${path}`, {
      method,
      headers: {
        cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(method === 'GET' ? {} : { origin: this.#url }),
        ...(this.#csrf === null ? {} : { 'x-csrf-token': this.#csrf }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : null };
  }

  /** Sends a request that must succeed. */
  async must<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body as T;
  }

  signUp(): Promise<unknown> {
    return this.must('POST', '/sign-up', { name: 'A person', email: this.email });
  }

  /** Signs in. Returns the user's own account, or the first one. */
  async signIn(): Promise<string> {
    const asked = { email: this.email, password: this.password };
    return this.#enter(await this.must<PageSession>('POST', '/sign-in', asked));
  }

  #enter(session: PageSession): string {
    this.#csrf = session.csrfToken;
    return session.accounts[0]?.id ?? '';
  }

  /** Returns the token in the last email with this text in its subject. */
  tokenInMail(subject: string): Promise<string> {
    return until(`an email "${subject}" to ${this.email}`, async () => {
      const mail = (await readEmails(this.email)).findLast((one) => one.subject.includes(subject));
      return mail === undefined ? false : (/#token=([\w-]{43})$/m.exec(mail.text)?.[1] ?? false);
    });
  }

  /** Sets the password with the link in the sign-up email, which also signs the user in. */
  async verify(): Promise<string> {
    const asked = { token: await this.tokenInMail('Verify'), password: this.password };
    return this.#enter(await this.must<PageSession>('POST', '/verify-email', asked));
  }
}

/** Returns the emails in the local mailbox for an address, oldest first. */
export async function readEmails(address: string) {
  const directory = `${process.env['GATEWAY_E2E_STATE']}/mailbox`;
  const names = (await readdir(directory)).filter((name) => name.endsWith('.eml')).sort();
  const mails = await Promise.all(names.map(async (name) => readMail(await readFile(`${directory}/${name}`, 'utf8'))));
  return mails.filter(({ to }) => to === address);
}
