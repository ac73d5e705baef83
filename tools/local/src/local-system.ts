import type { Mailbox } from '@gateway/mailbox';
import type { RunningServer, ServerName } from '@gateway/servers';
import type { Addresses } from './addresses.js';
import type { Child } from './children/child.js';
import { type Replacement, type Supervisor, killProcesses, stopProcesses } from './children/supervisor.js';
import { type Foundations, stopFoundations } from './foundations.js';
import type { LocalService, ProcessName } from './processes.js';
import { type RunningFile, type RunningJson, runningContent } from './running-file.js';
import type { Secrets } from './secrets.js';

/** A system whose processes are ready. */
export interface LocalSystem {
  readonly stateDirectory: string;
  readonly secrets: Secrets;
  /** With standbys: the current primary of each kind. */
  readonly servers: Readonly<Record<ServerName, RunningServer>>;
  /** All servers by name. */
  readonly members: Readonly<Record<string, RunningServer>>;
  readonly addresses: Addresses;
  /** Receives all emails of the system. */
  readonly mailbox: Mailbox;
  /** Address of the page that shows the emails. */
  readonly mailboxUrl: string;
  /** The children of a name in replica order. */
  children(name: ProcessName): readonly Child[];
  /**
   * Starts a second process of a service with its own ports. When it is ready, it takes the place
   * at `index` in `children` and `running`. The old process runs until it is retired.
   */
  replace(name: LocalService, index: number): Promise<Replacement>;
  running(): RunningFile;
  /** Writes `running.json` with a key that a client may use at once. */
  announce(demoApiKey: string | null): void;
  /**
   * Stops the edges first (they finish their calls), then the processes that they depend on, and
   * the servers last. A second call kills everything at once.
   */
  stop(): Promise<void>;
}

export interface SystemParts {
  readonly stateDirectory: string;
  readonly secrets: Secrets;
  readonly foundations: Foundations;
  readonly addresses: Addresses;
  readonly supervisor: Supervisor;
  readonly file: RunningJson;
}

/** Creates the handle of a started system. */
export function makeLocalSystem({
  stateDirectory,
  secrets,
  foundations,
  addresses,
  supervisor,
  file,
}: SystemParts): LocalSystem {
  const { servers, members, mailbox, mailboxPage } = foundations;
  let demoApiKey = secrets.demoApiKey;
  let stopping: Promise<void> | null = null;
  const running = () =>
    runningContent({ servers, members, addresses, secrets, supervisor, starterPid: process.pid, demoApiKey });
  const end = async (endProcesses: (supervisor: Supervisor) => Promise<void>): Promise<void> => {
    file.remove();
    await endProcesses(supervisor);
    await stopFoundations(foundations);
  };
  return {
    stateDirectory,
    secrets,
    servers,
    members,
    addresses,
    mailbox,
    mailboxUrl: mailboxPage.url,
    children: (name) => supervisor.of(name),
    async replace(name, index) {
      const replacement = await supervisor.replace(name, index);
      file.rewrite();
      return replacement;
    },
    running,
    announce(key) {
      demoApiKey = key;
      file.announce(running);
    },
    stop() {
      if (stopping) return end(killProcesses);
      stopping = end(stopProcesses);
      return stopping;
    },
  };
}
