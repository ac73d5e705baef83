import * as demo from '@gateway/mailbox';
import type { LocalSystem } from '../start-system.js';
import { saveSecrets } from '../secrets.js';

/** The existing or new demo data. */
export interface DemoData {
  readonly seeded: boolean;
  readonly apiKey: string | null;
  /** Password of the demo user in the dashboard; null if there is no such user. */
  readonly password: string | null;
}

/**
 * Stores demo data in an empty system, and its state in the secrets of the state directory. Without
 * `force`, servers given by URL get none.
 */
export async function seedDemo(system: LocalSystem, stateDirectory: string, force: boolean): Promise<DemoData> {
  const { demoApiKey, demoPassword, demoProviderUrls = null } = system.secrets;
  const stored = { apiKey: demoApiKey, password: demoPassword, providerUrls: demoProviderUrls };
  const isGiven = Object.values(system.servers).some((server) => server.resolver === 'url');
  if (isGiven && !force && demoApiKey === null) return { seeded: false, ...stored };
  const state = await demo.seedDemo(demoSystem(system), stored, ({ apiKey, password, providerUrls }) =>
    saveSecrets(stateDirectory, {
      ...system.secrets,
      demoApiKey: apiKey,
      demoPassword: password,
      ...(providerUrls && { demoProviderUrls: providerUrls }),
    }),
  );
  return { seeded: state.apiKey !== demoApiKey, ...state };
}

/** Returns a demo model that the simulated provider currently serves; null if there is none. */
export function findDemoModel(system: LocalSystem): Promise<string | null> {
  const { operatorUrl, operatorToken, providerUrls } = system.running();
  return demo.findDemoModel(demo.createOperatorRequest({ operatorUrl, operatorToken }), { providerUrls });
}

function demoSystem(system: LocalSystem) {
  const { dashboardUrl, operatorUrl, operatorToken, providerUrls } = system.running();
  return { dashboardUrl, operatorUrl, operatorToken, providerUrls, mails: () => system.mailbox.mails() };
}
