import { randomBytes } from 'node:crypto';
import { digestOfMailToken } from '@gateway/contracts/ids';
import {
  accountsBeginSignIn,
  accountsInviteMember,
  accountsCreateSession,
  accountsFindSession,
  accountsSignUp,
  accountsUseMailToken,
  type MailTokenKind,
  type RequestOrigin,
} from '@gateway/contracts/messages';
import type { MemberCreate, MemberView } from '@gateway/contracts/operator';
import { readMail, startMailbox, type Mailbox } from '@gateway/mailbox';
import { temporaryDirectory, until } from '@gateway/testkit';
import type { AttemptLimit } from '../src/base/attempt-rules.js';
import { startAccountsWorld, type AccountsWorld } from './accounts-world.js';
import { accepted, AUTHOR, randomEmail } from './operator-client.js';

/** Returns a password hash for tests. */
export const hashOf = (name: string): string =>
  `$scrypt$ln=4,r=8,p=1$c2FsdA$${Buffer.from(name).toString('base64').replace(/=+$/, '')}`;

/** Returns a new client, so that tests do not share limits. */
export const newClient = (): string => `client-${randomBytes(6).toString('hex')}`;

/** Returns the origin of a request by this client. */
export const originOf = (client: string): RequestOrigin => ({ client, agent: null, requestId: 'req_test' });

export const tokenIn = (text: string): string => /#token=([\w-]{43})$/m.exec(text)?.[1] ?? '';

/** Counts one attempt, then sets its count so that one attempt is left. Returns the slot. */
export async function leaveOne(
  { sql }: AccountsWorld,
  { kind, attemptsMax }: AttemptLimit,
  attempt: () => Promise<unknown>,
): Promise<number> {
  const counts = () =>
    sql.query<{ slot: number; attempts: number }>('SELECT slot, attempts FROM attempts WHERE kind = $1', [kind]);
  const before = new Map((await counts()).map(({ slot, attempts }) => [slot, attempts]));
  await attempt();
  const changed = (await counts()).filter(({ slot, attempts }) => before.get(slot) !== attempts);
  const slot = changed[0]?.slot;
  if (slot === undefined || changed.length !== 1) throw new Error(`not one count of ${kind} has changed`);
  await sql.execute('UPDATE attempts SET attempts = $3 WHERE kind = $1 AND slot = $2', [kind, slot, attemptsMax - 1]);
  return slot;
}

/**
 * Creates a client that sends the dashboard's sign-up and sign-in requests and reads the emails.
 */
export function peopleClient({ dashboard }: AccountsWorld, mailbox: Mailbox) {
  const mailTo = (email: string, subject: string) =>
    until(`a mail "${subject}" to ${email}`, async () =>
      (await Promise.all((await mailbox.mails()).map(readMail)))
        .filter(({ to }) => to === email)
        .findLast((mail) => mail.subject.includes(subject)),
    );
  const begin = (email: string, client = newClient()) => dashboard.request(accountsBeginSignIn, { email, client });
  const signUp = (email: string, client = newClient()) =>
    dashboard.request(accountsSignUp, { name: 'Ann', email, origin: originOf(client) });
  const useToken = (token: string, kind: MailTokenKind, password = 'second') => {
    const named = { digest: digestOfMailToken(token), origin: originOf(newClient()) };
    return dashboard.request(accountsUseMailToken, { kind, passwordHash: hashOf(password), ...named });
  };
  return {
    mailTo,
    begin,
    signUp,
    useToken,
    /** Signs in like the dashboard. Null: address or password is wrong. */
    async signIn(email: string, password: string, client = newClient()) {
      const begun = await begin(email, client);
      if (begun.kind === 'throttled') throw new Error('too many attempts');
      if (begun.user?.passwordHash !== hashOf(password)) return null;
      const digest = randomBytes(32).toString('hex');
      const question = { user: begun.user.id, comparedHash: hashOf(password), digest, origin: originOf(client) };
      const { session } = await dashboard.request(accountsCreateSession, question);
      return session && { digest, user: session.user, accounts: session.accounts };
    },
    session: async (digest: string) => (await dashboard.request(accountsFindSession, { digests: [digest] })).session,
    /** Invites a member as the owner, and emails the invitation. */
    invite: async (
      account: string,
      email: string,
      more: Partial<Omit<MemberCreate, 'emailVerified'>> = {},
    ): Promise<MemberView> => {
      const question = { account, spec: { email, ...more }, author: AUTHOR };
      const answer = accepted(await dashboard.request(accountsInviteMember, question));
      if ('kind' in answer) throw new Error('too many invitations');
      return answer.member;
    },
    /** Creates a user with a verified address and this password. */
    async verifiedPerson(password: string): Promise<string> {
      const email = randomEmail();
      await signUp(email);
      await useToken(tokenIn((await mailTo(email, 'Verify')).text), 'verify', password);
      return email;
    },
  };
}
export type PeopleClient = ReturnType<typeof peopleClient>;

/**
 * Starts an accounts service with a mailbox.
 * @param name name of the mailbox directory, which identifies the test if it is left over
 */
export async function startPeopleWorld(name: string) {
  const world = await startAccountsWorld();
  const directory = temporaryDirectory(name);
  const mailbox = await startMailbox({ directory: directory.path });
  await world.start({ env: { GATEWAY_SMTP_URL: mailbox.url } });
  return {
    ...world,
    mailbox,
    people: peopleClient(world, mailbox),
    async stop() {
      await world.stop();
      await mailbox.stop();
      directory.remove();
    },
  };
}
