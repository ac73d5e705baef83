import { parseArgs } from 'node:util';
import { PORT_OPTIONS, type PortName } from './ports.js';
import { SERVICES } from './processes.js';
import type { LocalService } from './processes.js';

const REPLICAS_MAX = 16;
const PORT_MAX = 65_535;

const text = { type: 'string' } as const;
const list = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean', default: false } as const;

/** Parses the arguments of `npm start -- …`. Returns problems as texts for the user. */
export function readArguments(args: readonly string[]) {
  let values;
  try {
    values = parseArgs({
      args: [...args],
      options: {
        port: text,
        'dashboard-port': text,
        'operator-port': text,
        state: text,
        replicas: text,
        demo: flag,
        ha: flag,
        provider: list,
        'provider-url': list,
      },
    }).values;
  } catch (error) {
    return { problems: [(error as Error).message] };
  }
  const problems: string[] = [];
  const ports: Partial<Record<PortName, number>> = {};
  for (const [name, option] of Object.entries(PORT_OPTIONS)) {
    const given = values[option];
    if (given === undefined) continue;
    if (/^\d{1,5}$/.test(given) && Number(given) <= PORT_MAX) ports[name as PortName] = Number(given);
    else problems.push(`--${option}: "${given}" is not a port (0 to ${PORT_MAX}; 0 means any)`);
  }
  const result = {
    ports,
    state: values.state,
    replicas: readReplicas(values.replicas, values.ha ? 2 : 1, problems),
    /** True: demo data is also stored in servers that were given by URL. */
    demo: values.demo,
    /** Servers with standbys, and by default two replicas of each service. */
    ha: values.ha,
    /** Profiles of real providers to add to the simulated ones of the demo. */
    providers: values.provider ?? [],
    /** `<profile>=<url>`: an address to use instead of the profile's. */
    providerUrls: values['provider-url'] ?? [],
  };
  return problems.length > 0 ? { problems } : result;
}

function readReplicas(text: string | undefined, each: number, problems: string[]): Record<LocalService, number> {
  const replicas = Object.fromEntries(SERVICES.map((service) => [service, each])) as Record<LocalService, number>;
  for (const part of text?.split(',') ?? []) {
    const [name = '', value] = part.trim().split(/=(.*)/s, 2);
    const count = Number(value);
    const service = SERVICES.find((one) => one === name);
    if (!service) problems.push(`--replicas: unknown service "${name}": known are ${SERVICES.join(', ')}`);
    else if (!Number.isInteger(count) || count < 1 || count > REPLICAS_MAX)
      problems.push(`--replicas: ${name} needs a number from 1 to ${REPLICAS_MAX}`);
    else replicas[service] = count;
  }
  return replicas;
}
