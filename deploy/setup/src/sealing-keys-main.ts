// `npm run -s sealing-keys`: new key pairs for the credentials of sources and the secrets of
// webhooks, one variable a line.
import { makeSealingKeys } from './sealing-keys.js';

for (const [name, value] of Object.entries(makeSealingKeys())) console.log(`${name}=${value}`);
