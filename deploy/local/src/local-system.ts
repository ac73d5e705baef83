import type { Mailbox } from '@gateway/mailbox';
import type { RunningServer, ServerName } from '@gateway/servers';
import type { Addresses } from './addresses.js';
import type { Child } from './children/child.js';
import type { Crew, Replacement } from './children/crew.js';
import { killCrew, stopCrew } from './children/stop-crew.js';
import { stopFoundations, type Foundations } from './foundations.js';
import type { LocalService, ProcessName } from './processes.js';
import { runningFacts, type RunningFile, type RunningJson } from './running-file.js';
import type { Secrets } from './secrets.js';

/** A system whose processes are ready. */
export interface LocalSystem {
  readonly secrets: Secrets;
  readonly servers: Readonly<Record<ServerName, RunningServer>>;
  readonly addresses: Addresses;
  /** Where the mails of the system go. */
  readonly mailbox: Mailbox;
  /** Where people read them. */
  readonly mailboxUrl: string;
  /** The children of a name in replica order. */
  children(name: ProcessName): readonly Child[];
  /**
   * Starts a process of a service beside the one at `index`, on ports of its own, and puts it in its place when it is ready:
   * from then on `children` and `running` name the new one. The old one goes on until it is retired.
   */
  replace(name: LocalService, index: number): Promise<Replacement>;
  running(): RunningFile;
  /** Writes `running.json` with the key that a client may use at once. */
  announce(demoApiKey: string | null): void;
  /** Edges first (they finish their calls), then what they need, the servers last. A second call ends everything at once. */
  stop(): Promise<void>;
}

export interface SystemParts {
  readonly secrets: Secrets;
  readonly foundations: Foundations;
  readonly addresses: Addresses;
  readonly crew: Crew;
  readonly file: RunningJson;
}

/** The handle of a system that has started. */
export function makeLocalSystem({ secrets, foundations, addresses, crew, file }: SystemParts): LocalSystem {
  const { servers, mailbox, mailboxPage } = foundations;
  let demoApiKey = secrets.demoApiKey;
  let stopping: Promise<void> | null = null;
  const running = () => runningFacts({ servers, addresses, secrets, crew, starterPid: process.pid, demoApiKey });
  const end = async (endCrew: (crew: Crew) => Promise<void>): Promise<void> => {
    file.remove();
    await endCrew(crew);
    await stopFoundations(foundations);
  };
  return {
    secrets,
    servers,
    addresses,
    mailbox,
    mailboxUrl: mailboxPage.url,
    children: (name) => crew.of(name),
    async replace(name, index) {
      const replacement = await crew.replace(name, index);
      file.rewrite();
      return replacement;
    },
    running,
    announce(key) {
      demoApiKey = key;
      file.announce(running);
    },
    stop() {
      if (stopping) return end(killCrew);
      stopping = end(stopCrew);
      return stopping;
    },
  };
}
