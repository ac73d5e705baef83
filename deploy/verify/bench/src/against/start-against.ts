import type { Ending } from '../ending.js';
import type { GatewayPeer } from '../gateway/start-gateway.js';
import { ChildProgram } from '../machine/child-program.js';
import type { Provider } from '../peers/start-provider.js';
import type { BuiltCommit } from './build-commit.js';

export type HostCommand =
  | {
      readonly kind: 'start';
      /** The compiled checkout. */
      readonly directory: string;
      readonly provider: Pick<Provider, 'port' | 'url'>;
      readonly state: string;
      readonly accounts: number;
    }
  | { readonly kind: 'settle'; readonly answered: number }
  | { readonly kind: 'audit' };

/** What a gateway is without what it can do: it travels between processes. */
export type GatewayFacts = Omit<GatewayPeer, 'settle' | 'audit'>;

/**
 * The gateway of another commit: its own code starts its servers and services, prepares accounts and reads its books, in a
 * process of its own. @throws Error when that commit has no bench, or its gateway does not start
 */
export async function startAgainst(
  { commit, directory }: BuiltCommit,
  provider: Provider,
  runDirectory: string,
  accounts: number,
  ending: Ending,
  log: (line: string) => void,
): Promise<GatewayPeer> {
  const title = `the gateway at ${commit}`;
  const host = new ChildProgram<HostCommand>(new URL('host-main.js', import.meta.url), title, (line) =>
    log(`${commit}: ${line}`),
  );
  ending.add(title, () => host.leave());
  const { port, url } = provider;
  const start = {
    kind: 'start',
    directory,
    provider: { port, url },
    state: `${runDirectory}/against`,
    accounts,
  } as const;
  const facts = await host.ask<GatewayFacts>(start).catch((error: unknown) => {
    throw new Error(`${title} does not start: ${error instanceof Error ? error.message : String(error)}`);
  });
  return {
    ...facts,
    id: 'against',
    title,
    starter: host.pid,
    settle: (answered) => host.ask({ kind: 'settle', answered }),
    audit: () => host.ask({ kind: 'audit' }),
  };
}
