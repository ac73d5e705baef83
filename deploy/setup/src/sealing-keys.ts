import { makePrivateKey, publicHalfOf, Secret } from '@gateway/service-kit';

/**
 * New key pairs by the variables that hold them, in base64: the private halves for edges and
 * billing, the public ones for the dashboard.
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
