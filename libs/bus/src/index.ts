export type {
  AnyRequest,
  BucketHead,
  BucketMirror,
  BucketSwap,
  Bus,
  BusOptions,
  ConsumeOptions,
  LookUpBucket,
  RequestOptions,
  StoredDelivery,
  StoredMessage,
  StreamSettings,
  StreamState,
  Words,
} from './bus.js';
export { BusFault } from './bus-fault.js';
export { connectBus, connectService } from './connect-bus.js';
export { mirrorCatalog } from './buckets/mirror-catalog.js';
export { requestServer, type RequestServerOptions } from './requests/request-server.js';
export {
  natsAuthorization,
  natsPermissions,
  computePermissions as permissionsOf,
  type BucketPermissions,
  type Permissions,
} from './permissions.js';
export { MESSAGE_BYTES_MAX } from './wire.js';
export { tailBus, type TailedMessage } from './tail.js';
