import type { Bus } from '@gateway/bus';
import { catalogPutModel, catalogPutProvider, catalogPutSource } from '@gateway/contracts/messages';
import { publicHalfOf, Secret, sealTo } from '@gateway/service-kit';
import type { LocalSystem } from '@gateway/local';
import { PROVIDER_MODELS } from '../peers/peer.js';
import type { CallKind } from '../peers/peer.js';
import { AUTHOR, requireAccepted } from './operator-bus.js';

export const PROVIDER = 'bench';
export const PRICES = { inputPerMillion: '0.15', outputPerMillion: '0.60' };

/** IDs of the provider's models at the gateway. */
export const GATEWAY_MODELS: Readonly<Record<CallKind, string>> = {
  plain: 'bench/plain',
  streamed: 'bench/streamed',
  large: 'bench/plain',
  long: 'bench/long',
  open: 'bench/open',
};

/** Creates priced models with one source each: the simulator that all peers use. */
export async function prepareCatalog(bus: Bus, system: LocalSystem, providerUrl: string): Promise<void> {
  const provider = { id: PROVIDER, spec: { name: 'Simulated provider', format: 'openai' }, author: AUTHOR } as const;
  requireAccepted(await bus.request(catalogPutProvider, provider));
  const key = publicHalfOf(new Secret(Buffer.from(system.secrets.sourcePrivateKey, 'hex')));
  for (const kind of ['plain', 'streamed', 'open'] as const) {
    const model = GATEWAY_MODELS[kind];
    const spec = { displayName: model, kind: 'chat', contextLength: 128_000, prices: PRICES } as const;
    requireAccepted(await bus.request(catalogPutModel, { id: model, spec, author: AUTHOR }));
    const id = `bench-${kind}`;
    requireAccepted(
      await bus.request(catalogPutSource, {
        id,
        spec: {
          modelId: model,
          providerId: PROVIDER,
          baseUrl: providerUrl,
          upstreamModel: PROVIDER_MODELS[kind],
          endpoints: ['/v1/chat/completions'],
          streamUsage: true,
        },
        sealedCredential: sealTo(`credential-of-${id}`, id, key),
        author: AUTHOR,
      }),
    );
  }
}
