import { mkdirSync, writeFileSync } from 'node:fs';
import type { PeopleSession } from '@gateway/contracts/messages';
import { Secret } from '@gateway/service-kit';
import { temporaryDirectory } from '@gateway/testkit';
import { createSessionSecrets, type SessionSecrets } from '../src/people-api/sign-in/session-secrets.js';
import { startFakeEdge, type FakeEdge } from './fake-edge.js';
import { OPERATOR } from './examples.js';
import { PAGES_CONFIG, PEPPER, send, startOperatorWorld, type Answer, type OperatorWorld } from './operator-world.js';

export const DASHBOARD_ORIGIN = 'http://127.0.0.1:8081';
/** Cost of PASSWORD_HASH. */
const PASSWORD_LOG_N = 4;

type Role = 'owner' | 'admin' | 'member';
const people = (id: string, account: string, role: Role): PeopleSession => ({
  user: { id: `usr_${id}`, email: `${id}@example.com`, emailVerified: true },
  accounts: [{ id: account, name: 'An account', type: 'team', state: 'active', role, memberId: `mem_${id}` }],
});
/** The people with a session, and their cookies. */
export const PEOPLE = {
  owner: { cookie: 'o'.repeat(43), session: people('1', 'acc_1', 'owner') },
  admin: { cookie: 'd'.repeat(43), session: people('2', 'acc_1', 'admin') },
  member: { cookie: 'm'.repeat(43), session: people('3', 'acc_1', 'member') },
  stranger: { cookie: 's'.repeat(43), session: people('9', 'acc_9', 'owner') },
} as const;
export type Who = keyof typeof PEOPLE;
/** Cookie of the root operator's session. */
export const ROOT_COOKIE = 'r'.repeat(43);

export interface PageRequestOptions {
  /** The person whose session is sent; null: none. Default: the owner. */
  readonly who?: Who | null;
  readonly body?: unknown;
  /** Override the default headers. */
  readonly headers?: Record<string, string>;
  /** Null: none. Default: the token of the session. */
  readonly csrf?: string | null;
}

/** The pages on a real bus, with scripted services, a fake edge, and four signed-in people. */
export interface PagesWorld extends Omit<OperatorWorld, 'send' | 'reset'> {
  readonly edge: FakeEdge;
  readonly secrets: SessionSecrets;
  /** Removes scripts and recorded requests; the four people stay signed in. */
  reset(): void;
  script(answers: Readonly<Record<string, unknown>>): void;
  /**
   * Holder of each operator's session by the digest of its cookie, as accounts would store them.
   */
  readonly operatorSessions: Map<string, unknown>;
  /** Names of the requests to the services, without session look-ups. */
  askedNames(): string[];
  /** `path` is the full path, such as `/api/session`. */
  send(method: string, path: string, options?: PageRequestOptions): Promise<Answer>;
}

export interface PagesWorldOptions {
  readonly stalledMsMax?: number;
  /** Size of `/assets/large-1234.js`; absent: the file does not exist. */
  readonly largeFileBytes?: number;
}

export async function startPagesWorld(
  config: Partial<typeof PAGES_CONFIG> = {},
  { largeFileBytes, ...options }: PagesWorldOptions = {},
): Promise<PagesWorld> {
  const edge = await startFakeEdge();
  const web = temporaryDirectory('web');
  mkdirSync(`${web.path}/assets`);
  writeFileSync(`${web.path}/index.html`, '<html><meta name="csp-nonce" content="__CSP_NONCE__"></html>');
  writeFileSync(`${web.path}/assets/app-1234.js`, 'export const app = 1;\n'.repeat(200));
  writeFileSync(`${web.path}/assets/app-1234.js.map`, '{}');
  writeFileSync(`${web.path}/favicon.svg`, '<svg/>');
  if (largeFileBytes !== undefined) writeFileSync(`${web.path}/assets/large-1234.js`, Buffer.alloc(largeFileBytes, 32));
  const world = await startOperatorWorld(undefined, {
    config: { GATEWAY_EDGE_URL: edge.url, ...config },
    options: { webDirectory: web.path, passwordLogN: PASSWORD_LOG_N, ...options },
  });
  const { GATEWAY_SESSION_SECRET } = PAGES_CONFIG;
  const pepper = { current: new Secret(PEPPER), previous: null };
  const secrets = createSessionSecrets({ GATEWAY_SESSION_SECRET, GATEWAY_KEY_PEPPER: pepper }, 'new_live_');
  const sessions = new Map(Object.values(PEOPLE).map((one) => [secrets.digestsOf(one.cookie)[0], one.session]));
  const findSession = ({ digests }: { digests: string[] }) => ({ session: sessions.get(digests[0] ?? '') ?? null });
  const operatorSessions = new Map<string, unknown>();
  const reset = (): void => {
    world.reset();
    edge.asked.length = 0;
    world.scriptByName('accounts.find-session', (body) => findSession(body as { digests: string[] }));
    keepOperatorSessions(world, operatorSessions);
    operatorSessions.set(secrets.operatorDigestsOf(ROOT_COOKIE)[0] ?? '', 'root');
  };
  reset();
  return {
    ...world,
    edge,
    secrets,
    operatorSessions,
    reset,
    script(answers) {
      for (const [name, answer] of Object.entries(answers)) world.scriptByName(name, () => answer);
    },
    askedNames: () => world.asked.map(({ name }) => name).filter((name) => !LOOK_UPS.includes(name)),
    send(method, path, { who = 'owner', body, headers = {}, csrf } = {}) {
      const cookie = who === null ? null : PEOPLE[who].cookie;
      const token = csrf === undefined ? cookie && secrets.csrfTokenOf(cookie) : csrf;
      return send(`${world.dashboard.pagesUrl}${path}`, method, {
        token: null,
        ...(body === undefined ? {} : { body }),
        headers: {
          ...(cookie === null ? {} : { cookie: `gw_session=${cookie}` }),
          ...(token === null || method === 'GET' ? {} : { 'x-csrf-token': token }),
          ...(method === 'GET' ? {} : { origin: DASHBOARD_ORIGIN }),
          ...headers,
        },
      });
    },
    async stop() {
      await world.stop();
      await edge.stop();
      web.remove();
    },
  };
}

const LOOK_UPS = ['accounts.find-session', 'accounts.find-operator-session'];

function keepOperatorSessions(world: Pick<OperatorWorld, 'scriptByName'>, kept: Map<string, unknown>): void {
  type Body = { readonly digest: string; readonly digests: string[]; readonly holder: { readonly kind: string } };
  kept.clear();
  world.scriptByName('accounts.create-operator-session', (body) => {
    const { digest, holder } = body as Body;
    kept.set(digest, holder.kind === 'root' ? 'root' : OPERATOR);
    return { created: true };
  });
  world.scriptByName('accounts.find-operator-session', (body) => ({
    holder: (body as Body).digests.map((digest) => kept.get(digest)).find((holder) => holder !== undefined) ?? null,
  }));
  world.scriptByName('accounts.end-operator-session', (body) => {
    for (const digest of (body as Body).digests) kept.delete(digest);
    return { ended: true };
  });
}
