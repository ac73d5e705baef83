export {
  DEFAULT_KEY_PREFIX,
  digestOfMailToken,
  digestOfSecret,
  hasKeyForm,
  makeMailToken,
  makeSecret,
  maskSecret,
  SECRET_BODY_CHARS,
  secretFrom,
  shortHash,
} from './key-form.js';
export {
  bucketOfAccount,
  BUCKETS_TOTAL,
  isLaterRun as isLater,
  SHARDS_TOTAL,
  shardOfAccount,
  shardOfBucket,
  USAGE_GROUPS_TOTAL,
  usageGroupOfShard,
} from './bucket.js';
export { makeUuidV7, timeOfUuidV7 } from './uuid-v7.js';
export { UUID_PATTERN } from '../messages/scalars.js';
