import { PROVIDER_MODELS, settlesAtOnce } from './peer.js';
import type { Peer } from './peer.js';
import type { Provider } from './start-provider.js';

/** The direct call, to which the other peers are compared. */
export function directCall(provider: Provider): Peer {
  return {
    id: 'direct',
    title: 'direct call to the provider simulator',
    version: '',
    port: provider.port,
    headers: [],
    models: PROVIDER_MODELS,
    keyed: false,
    processes: {},
    except: [],
    settle: settlesAtOnce,
  };
}
