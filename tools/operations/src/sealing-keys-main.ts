// `npm run -s sealing-keys`: prints new key pairs for the credentials of sources and the secrets of
// webhooks, one variable per line.
import { makeSealingKeys } from './sealing-keys.js';

for (const [name, value] of Object.entries(makeSealingKeys())) console.log(`${name}=${value}`);
