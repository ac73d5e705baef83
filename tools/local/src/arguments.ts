import { SERVICES } from './processes.js';
import type { LocalService } from './processes.js';

/**
 * The arguments of `npm start -- …`. A port that is not given is undefined; its default is then
 * only a preference.
 */
export interface StartArguments {
  readonly port: number | undefined;
  readonly dashboardPort: number | undefined;
  readonly operatorPort: number | undefined;
  readonly state: string | undefined;
  readonly replicas: Readonly<Record<LocalService, number>>;
  /** True: demo data is also stored in servers that were given by URL. */
  readonly demo: boolean;
  /** Servers with standbys, and by default two replicas of each service. */
  readonly ha: boolean;
  /** Profiles of real providers to add to the simulated ones of the demo. */
  readonly providers: readonly string[];
  /** `<profile>=<url>`: an address to use instead of the profile's. */
  readonly providerUrls: readonly string[];
}

const REPLICAS_MAX = 16;
const PORT_MAX = 65_535;

/** Parses the command line. Returns all problems at once as texts for the user. */
export function readArguments(args: readonly string[]): StartArguments | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const given = new Map<string, string>();
  const lists = new Map<string, string[]>();
  let demo = false;
  let ha = false;
  for (let at = 0; at < args.length; at += 1) {
    const [option = '', inline] = splitOnce(args[at] ?? '', '=');
    if (option === '--demo') demo = true;
    else if (option === '--ha') ha = true;
    else if (OPTIONS.has(option)) {
      const value = inline ?? args[(at += 1)];
      if (value === undefined || value.startsWith('--')) problems.push(`${option} needs a value`);
      else if (LISTS.has(option)) lists.set(option, [...(lists.get(option) ?? []), value]);
      else given.set(option, value);
    } else problems.push(`unknown option "${option}": known are ${[...OPTIONS, '--demo', '--ha'].join(', ')}`);
  }
  const port = (option: string) => readPort(option, given.get(option), problems);
  const result = {
    port: port('--port'),
    dashboardPort: port('--dashboard-port'),
    operatorPort: port('--operator-port'),
    state: given.get('--state'),
    replicas: readReplicas(given.get('--replicas'), ha ? 2 : 1, problems),
    demo,
    ha,
    providers: lists.get('--provider') ?? [],
    providerUrls: lists.get('--provider-url') ?? [],
  };
  return problems.length > 0 ? { problems } : result;
}

/** Options that may be repeated. */
const LISTS = new Set(['--provider', '--provider-url']);
const OPTIONS = new Set(['--port', '--dashboard-port', '--operator-port', '--state', '--replicas', ...LISTS]);

function readPort(option: string, text: string | undefined, problems: string[]): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= PORT_MAX) return port;
  problems.push(`${option}: "${text}" is not a port (0 to ${PORT_MAX}; 0 means any)`);
  return undefined;
}

function readReplicas(text: string | undefined, each: number, problems: string[]): Record<LocalService, number> {
  const replicas = Object.fromEntries(SERVICES.map((service) => [service, each])) as Record<LocalService, number>;
  for (const part of text?.split(',') ?? []) {
    const [name = '', value] = splitOnce(part.trim(), '=');
    const count = Number(value);
    const service = SERVICES.find((one) => one === name);
    if (!service) problems.push(`--replicas: unknown service "${name}": known are ${SERVICES.join(', ')}`);
    else if (!Number.isInteger(count) || count < 1 || count > REPLICAS_MAX)
      problems.push(`--replicas: ${name} needs a number from 1 to ${REPLICAS_MAX}`);
    else replicas[service] = count;
  }
  return replicas;
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
