import type { Rank, Shape } from '../json/json-reducer.js';
import type { PricingRules } from '../pricing/requested-extras.js';
import { REPORTED_TEXT_LENGTH_MAX } from '../errors/reported-error.js';
import { NOT_GENERATED } from './generated-text.js';

/**
 * Maximum bytes kept of one long event and of one plain response while they are relayed
 * (docs/behaviour.md#answers).
 */
export const KEPT_EVENT_BYTES_MAX = 64 * 1024;
export const KEPT_ANSWER_BYTES_MAX = 1024 * 1024;

/** Maximum bytes of an ID, a name or a class, the same limit as everywhere else. */
const NAME_BYTES_MAX = 1_024;

type Members = Iterable<readonly [string, Shape]>;
const each = (names: Iterable<string>, shape: Shape): [string, Shape][] => Array.from(names, (name) => [name, shape]);

function createShape(rank: Rank, members: Members, others?: Shape): Shape {
  const shape = { rank, stringBytesMax: NAME_BYTES_MAX, members: new Map(members) };
  return others === undefined ? shape : { ...shape, others };
}

const IGNORED: Shape = { rank: 2, isIgnored: true, stringBytesMax: 0, members: new Map() };
/** Any other value. Its text is counted, and its small values are dropped first. */
const OTHER = createShape(2, each(NOT_GENERATED, IGNORED));
/** A value of which only the type matters. */
const EMPTY = createShape(0, [], IGNORED);
const NAME = createShape(0, [], OTHER);
/** Counts and errors: everything in them is kept, but only the beginning of long strings. */
const WHOLE: Shape = { rank: 0, stringBytesMax: REPORTED_TEXT_LENGTH_MAX, keepsBeginning: true, members: new Map() };

/** Members that describe a response or an event. */
const NAMES = [
  ...['type', 'id', 'object', 'status', 'model', 'created', 'created_at', 'sequence_number', 'index'],
  ...['finish_reason', 'stop_reason', 'service_tier', 'speed', 'code', 'param', 'statusCode', 'input_tokens'],
];
const WHOLES = ['usage', 'error', 'tool_usage', 'base_resp', 'incomplete_details', 'detail', 'Message'];
/** Members that describe an item of a response. */
const ITEM_NAMES = ['type', 'id', 'status', 'name', 'container_id', 'index', 'stop_reason', 'finish_reason'];

/**
 * Returns the parts of a response or an event that the meters read, in any format.
 * @param rules pricing rules of the source, whose paths name further members
 */
export function toResponseShape(rules: PricingRules | undefined): Shape {
  if (rules === undefined) return PLAIN;
  let shape = SHAPES.get(rules);
  if (shape === undefined) {
    const { classes, tools, unpricedAnswers = {}, reportedCostAt, modelAt = '' } = rules;
    const values = [...classes.flatMap(({ answersAt }) => answersAt ?? []), ...Object.keys(unpricedAnswers), modelAt];
    values.push(...tools.flatMap(({ totalAt }) => totalAt ?? []), reportedCostAt?.path ?? '');
    const items = tools.flatMap(({ reportedAt }) => reportedAt ?? []);
    SHAPES.set(rules, (shape = buildResponseShape(values.flatMap(namesIn), items.flatMap(namesIn))));
  }
  return shape;
}

const namesIn = (path: string): string[] => path.match(/[a-z0-9_]+/gi) ?? [];

/**
 * Adds the members `response` and `message` at the end, since they have the shape of an answer
 * themselves.
 */
function buildResponseShape(valueNames: readonly string[], unitNames: readonly string[]): Shape {
  const itemMembers = new Map(each(NOT_GENERATED, IGNORED));
  const element: Shape = { rank: 1, stringBytesMax: NAME_BYTES_MAX, members: itemMembers, others: OTHER };
  const item: Shape = { ...element, elements: element };
  for (const name of unitNames) itemMembers.set(name, item);
  for (const name of ITEM_NAMES) {
    itemMembers.set(name, { ...createShape(1, [], OTHER), isUncounted: NOT_GENERATED.has(name) });
  }
  // A shell call names its container here.
  itemMembers.set('environment', createShape(1, each(['type', 'container_id'], createShape(1, [], OTHER)), OTHER));
  const only = { ...item, rank: 0 } as const;
  const items = createShape(0, itemMembers, item);

  const common: [string, Shape][] = [
    ...each(NOT_GENERATED, IGNORED),
    ...each(unitNames, item),
    ...each(valueNames, WHOLE),
    ...each(NAMES, NAME),
    ...each(WHOLES, WHOLE),
  ];
  const choice = createShape(0, [...common, ...each(['delta', 'message', 'text'], only)], OTHER);
  const answerMembers = new Map<string, Shape>([
    ...common,
    ...each(['delta', 'item', 'content_block', 'container'], only),
    ...each(['output', 'content'], items),
    ['choices', createShape(0, [], choice)],
    ['x_groq', createShape(0, common, OTHER)],
    ['data', EMPTY],
  ]);
  const answer: Shape = { ...WHOLE, members: answerMembers, others: OTHER };
  // A `message` is a response, or the text of an error.
  for (const name of ['response', 'message']) answerMembers.set(name, answer);
  return answer;
}

const PLAIN = buildResponseShape([], []);
const SHAPES = new WeakMap<PricingRules, Shape>();
