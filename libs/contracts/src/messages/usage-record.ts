import { z } from 'zod';
import { priceClass } from '../operator/profile.js';
import { time } from '../operator/scalars.js';
import { ATTEMPT_OUTCOMES, tokenKinds } from './call.js';
import { endpoint, objectId } from './scalars.js';

/** Maximum number of names in `unpriced` of an event, and maximum characters of a name. */
export const UNPRICED_NAMES_MAX = 16;
export const UNPRICED_NAME_LENGTH_MAX = 64;

/**
 * SQL type of a column of `call_records`. `name`: the number of a text that many calls share. The
 * schema of a number bounds it to its type.
 */
export type StoredAs = 'boolean' | 'smallint' | 'integer' | 'text' | 'name' | 'jsonb';

/** The meaning of a column, and where it is visible. Absent: not there. */
export interface UsageRecordColumn {
  /** For docs/usage-record.md. */
  readonly about: string;
  /**
   * A field of the usage event that only passes through billing: stored, selected and shown under
   * the column's name. The column of `call_records` has the same name in snake case, with the
   * suffix `_number` for a name. Other columns are computed by billing.
   */
  readonly direct?: { readonly event: z.ZodType; readonly stored: StoredAs; readonly example: unknown };
  /** The field in the operator API. */
  readonly view?: z.ZodType;
  /** The page of a customer has the field. */
  readonly page?: true;
  /**
   * Kind of the column in exports (`CsvKind` of service-kit). Files have the order of this table:
   * add columns at its end.
   */
  readonly file?: 'text' | 'plain';
  /** Field and part of an export line with the value. Absent: the field with the column's name. */
  readonly part?: readonly [field: string, part: string];
  /** The files of customers have the column. */
  readonly customerFile?: true;
}

const recordTokens = z.object({
  /** All input tokens, including those read from or written to a cache. */
  input: z.int(),
  cachedInput: z.int(),
  /** Cache writes kept for five minutes or for an unknown time. */
  cacheWrite: z.int(),
  /** Cache writes kept for one hour. */
  cacheWrite1h: z.int(),
  output: z.int(),
});

/** A text of an operator or a client, in the files of both. */
const forAll = { file: 'text', customerFile: true } as const;
/** A value in a form of the gateway, in the files of operators and customers. */
const plainForAll = { file: 'plain', customerFile: true } as const;

/**
 * The columns of the usage record. The usage event, its storage, the operator API, the pages of
 * customers, all export files and docs/usage-record.md derive from this table.
 */
export const USAGE_RECORD_COLUMNS = {
  requestId: { about: 'ID of the request', view: z.string(), page: true, ...forAll },
  accountId: { about: 'Account that pays', view: objectId, page: true, file: 'text' },
  keyId: { about: 'API key of the request', view: objectId, page: true, ...forAll },
  memberId: { about: 'Member who owns the key', view: objectId, page: true, ...forAll },
  modelId: { about: 'Catalog ID of the model', view: z.string(), page: true, ...forAll },
  sourceId: {
    about: 'Source whose response the client received',
    view: objectId.nullable(),
    page: true,
    file: 'text',
  },
  endpoint: {
    about: 'Path of the request',
    direct: { event: endpoint.nullable(), stored: 'name', example: '/v1/chat/completions' },
    view: z.string().nullable(),
    page: true,
    ...forAll,
  },
  streamed: {
    about: 'Whether the client requested a stream',
    direct: { event: z.boolean(), stored: 'boolean', example: true },
    view: z.boolean(),
    page: true,
    ...plainForAll,
  },
  status: {
    about: 'HTTP status that the client received; null: it received none',
    direct: { event: z.int().min(100).max(599).nullable(), stored: 'smallint', example: 200 },
  },
  outcome: {
    about: '`settled`: charged; `voided`: not charged; `expired`: the edge never reported an end',
    view: z.enum(['settled', 'voided', 'expired']),
    page: true,
    ...plainForAll,
  },
  evidence: {
    about: 'Origin of the token counts: `reported` by the provider, `estimated`, or `none`',
    view: z.enum(['reported', 'estimated', 'none']),
    page: true,
    ...plainForAll,
  },
  tokens: { about: 'Token counts; null: unknown', view: recordTokens.nullable(), page: true },
  inputTokens: {
    about: 'All input tokens, including those read from or written to a cache',
    part: ['tokens', 'input'],
    ...plainForAll,
  },
  cachedInputTokens: {
    about: 'Input tokens that were read from a cache',
    part: ['tokens', 'cachedInput'],
    ...plainForAll,
  },
  cacheWriteTokens: {
    about: 'Input tokens written to a cache for five minutes or for an unknown time',
    part: ['tokens', 'cacheWrite'],
    ...plainForAll,
  },
  outputTokens: { about: 'Output tokens', part: ['tokens', 'output'], ...plainForAll },
  priceVersion: {
    about: 'Price version of the charge; null: no prices were known',
    view: z.string().nullable(),
    page: true,
    ...forAll,
  },
  chargedUsd: { about: 'Charge', view: z.string(), page: true, ...plainForAll },
  planUsd: { about: 'Part of the charge that the plan paid', view: z.string(), page: true, ...plainForAll },
  walletUsd: { about: 'Part of the charge that the wallet paid', view: z.string(), page: true, ...plainForAll },
  costUsd: { about: 'Cost of all attempts; null: unknown', view: z.string().nullable(), file: 'plain' },
  attempts: {
    about: 'Attempts at sources, in their order; the page of a customer has them without costs',
    view: z.array(
      z.object({
        sourceId: objectId,
        outcome: z.enum(ATTEMPT_OUTCOMES),
        status: z.int().nullable(),
        possiblyPaid: z.boolean(),
        /** The provider's charge as its response reported it. Absent: none reported. */
        reportedCostUsd: z.string().optional(),
      }),
    ),
    file: 'text',
  },
  startedAt: { about: 'Start of the request', view: time, page: true, ...plainForAll },
  endedAt: { about: 'End of the request', view: time, page: true, ...plainForAll },
  recordedAt: { about: 'When the record was written or replaced by one of a higher rank', ...plainForAll },
  /** The billed price class. */
  class: { about: 'Price class of the charge', view: priceClass, page: true, ...plainForAll },
  /** Uses of tools that run at the provider. */
  units: {
    about: 'Number of uses by tool that ran at the provider',
    view: z.record(z.string(), z.int()),
    page: true,
    ...forAll,
  },
  /** Tokens that are not text. Null: none, or no usage. */
  kinds: { about: 'Tokens that are not text; null: none', view: tokenKinds.nullable(), page: true },
  audioInputTokens: { about: 'Input tokens of audio', part: ['kinds', 'audioInput'], ...plainForAll },
  imageInputTokens: { about: 'Input tokens of images', part: ['kinds', 'imageInput'], ...plainForAll },
  audioOutputTokens: { about: 'Output tokens of audio', part: ['kinds', 'audioOutput'], ...plainForAll },
  imageOutputTokens: { about: 'Output tokens of images', part: ['kinds', 'imageOutput'], ...plainForAll },
  cacheWrite1hTokens: {
    about: 'Input tokens written to a cache for one hour',
    part: ['tokens', 'cacheWrite1h'],
    ...plainForAll,
  },
  /**
   * The samplings of a response that has several. Their sums are `tokens` and `kinds`. The input of
   * each sampling decides the tier of its tokens.
   */
  samplings: {
    about: 'Token counts of each sampling of a response that has several',
    view: z.array(recordTokens.extend({ kinds: tokenKinds.nullable() })).optional(),
    file: 'text',
  },
  unpriced: {
    about: 'Classes, tools and token kinds that were served without a price',
    direct: {
      event: z.array(z.string().min(1).max(UNPRICED_NAME_LENGTH_MAX)).min(1).max(UNPRICED_NAMES_MAX).optional(),
      stored: 'jsonb',
      example: ['ultrafast', 'audioInput'],
    },
    view: z.array(z.string()).optional(),
    file: 'text',
  },
} as const satisfies Record<string, UsageRecordColumn>;

type Columns = typeof USAGE_RECORD_COLUMNS;
type NamesWith<Part> = { [K in keyof Columns]: Columns[K] extends Part ? K : never }[keyof Columns];

export type DirectColumn = NamesWith<{ direct: object }>;
type ViewColumn = NamesWith<{ view: z.ZodType }>;
type PageColumn = NamesWith<{ page: true }>;

const ENTRIES = Object.entries<UsageRecordColumn>(USAGE_RECORD_COLUMNS);

function collect<Fields>(pick: (column: UsageRecordColumn) => unknown): Fields {
  const picked = ENTRIES.map(([name, column]) => [name, pick(column)] as const);
  return Object.fromEntries(picked.filter(([, value]) => value !== undefined)) as Fields;
}

/** The fields of direct columns in `usageEvent`. */
export const directEventFields = collect<{ [K in DirectColumn]: Columns[K]['direct']['event'] }>(
  ({ direct }) => direct?.event,
);
/** The fields of `usageRecordView`. */
export const recordViewFields = collect<{ [K in ViewColumn]: Columns[K]['view'] }>(({ view }) => view);
/** The fields of `usageRecordView` that customers see, as a mask for `pick`. */
export const customerFields = collect<{ [K in PageColumn]: true }>(({ page }) => page);
/** Values of direct columns, for tests of the whole way of an event. */
export const DIRECT_EXAMPLES = collect<Readonly<Record<DirectColumn, unknown>>>(({ direct }) => direct?.example);

/** A direct column in the ledger and in the operators' view. */
export interface DirectColumnSpec {
  readonly name: DirectColumn;
  readonly stored: StoredAs;
  /** The view omits the field instead of showing null; undefined: the view does not have it. */
  readonly isOptionalInView: boolean | undefined;
}

export const DIRECT_COLUMNS: readonly DirectColumnSpec[] = ENTRIES.flatMap(([name, { direct, view }]) =>
  direct === undefined
    ? []
    : [{ name: name as DirectColumn, stored: direct.stored, isOptionalInView: view?.safeParse(undefined).success }],
);

/** A column of an export of usage records. */
export interface UsageFileColumn {
  readonly name: string;
  readonly kind: 'text' | 'plain';
  readonly isForCustomers: boolean;
  readonly value: (line: object) => string | number | boolean | null;
}

export const USAGE_FILE_COLUMNS: readonly UsageFileColumn[] = ENTRIES.flatMap(
  ([name, { file, customerFile, part }]) => {
    if (file === undefined) return [];
    const value = (line: object) =>
      toCell(part === undefined ? readField(line, name) : readField(readField(line, part[0]), part[1]));
    return [{ name, kind: file, isForCustomers: customerFile === true, value }];
  },
);

function readField(value: unknown, field: string): unknown {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[field];
}

/** Returns the text of a list or an object as JSON. Null: absent, or an object without fields. */
function toCell(value: unknown): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'object') return value as string | number | boolean;
  return Array.isArray(value) || Object.keys(value).length > 0 ? JSON.stringify(value) : null;
}
