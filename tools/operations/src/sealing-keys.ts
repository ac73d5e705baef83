import { makePrivateKey, publicHalfOf, Secret } from '@gateway/service-kit';

/**
 * Returns new key pairs by variable, in base64: private keys for edges and billing, public keys for
 * the dashboard.
 */
export function makeSealingKeys(): Record<string, string> {
  return Object.fromEntries(
    ['SOURCE', 'WEBHOOK'].flatMap((purpose) => {
      const privateKey = makePrivateKey();
      return [
        [`GATEWAY_${purpose}_PRIVATE_KEY`, privateKey.toString('base64')],
        [`GATEWAY_${purpose}_PUBLIC_KEY`, publicHalfOf(new Secret(privateKey)).reveal().toString('base64')],
      ];
    }),
  );
}
