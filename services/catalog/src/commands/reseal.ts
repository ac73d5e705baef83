// `npm run reseal -w services/catalog` seals the credentials of sources and providers again, to the
// public key of the current private key. An operator runs it by hand where that key may be present
// temporarily. The service itself has no key that opens a credential.
import { createPool } from '@gateway/postgres';
import { COMMON_FIELDS, readConfig, runAsCommand } from '@gateway/service-kit';
import { createCatalogStore } from '../storage/store.js';
import { resealCredentials } from './reseal-credentials.js';

const EXIT_UNREADABLE = 1;

const FIELDS = {
  GATEWAY_POSTGRES_URL: COMMON_FIELDS.GATEWAY_POSTGRES_URL,
  GATEWAY_SOURCE_PRIVATE_KEY: COMMON_FIELDS.GATEWAY_SOURCE_PRIVATE_KEY,
};

await runAsCommand(async () => {
  const config = readConfig(FIELDS, process.env);
  const log = { info: () => undefined, warn: complain, error: complain };
  const pool = createPool(config.GATEWAY_POSTGRES_URL.reveal(), { applicationName: 'catalog reseal', max: 1, log });
  try {
    const keys = { privateKey: config.GATEWAY_SOURCE_PRIVATE_KEY };
    const { resealed, unreadable } = await resealCredentials(createCatalogStore(pool), keys);
    console.log(`${resealed} credentials were sealed again; catalog publishes them at its next look`);
    if (unreadable.length === 0) return 0;
    console.error(`no key given here opens the credentials of: ${unreadable.join(', ')}. Enter them again.`);
    return EXIT_UNREADABLE;
  } finally {
    await pool.end();
  }
});

function complain(_facts: object, text: string): void {
  console.error(text);
}
