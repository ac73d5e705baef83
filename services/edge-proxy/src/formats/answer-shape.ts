import type { Rank, Shape } from '../json/json-reducer.js';
import type { PricingRules } from '../pricing/asks.js';
import { SAID_TEXT_LENGTH_MAX } from '../errors/said-error.js';
import { NOT_GENERATED } from './generated-text.js';

/**
 * Bytes that are kept of one event that is read while it passes, and of one plain answer
 * (docs/behaviour.md#answers).
 */
export const KEPT_EVENT_BYTES_MAX = 64 * 1024;
export const KEPT_ANSWER_BYTES_MAX = 1024 * 1024;

/** Bytes of an ID, a name or a class: as many as are read of one anywhere. */
const NAME_BYTES_MAX = 1_024;

type Members = Iterable<readonly [string, Shape]>;
const each = (names: Iterable<string>, shape: Shape): [string, Shape][] => Array.from(names, (name) => [name, shape]);

function shapeOf(rank: Rank, members: Members, others?: Shape): Shape {
  const shape = { rank, stringBytesMax: NAME_BYTES_MAX, members: new Map(members) };
  return others === undefined ? shape : { ...shape, others };
}

const IGNORED: Shape = { rank: 2, isIgnored: true, stringBytesMax: 0, members: new Map() };
/** Anything else: its text counts, and its small values are the first that are dropped. */
const OTHER = shapeOf(2, each(NOT_GENERATED, IGNORED));
/** A value whose kind matters, but nothing in it. */
const EMPTY = shapeOf(0, [], IGNORED);
const NAME = shapeOf(0, [], OTHER);
/** Counts and errors: everything in them is kept, of long texts the beginning. */
const WHOLE: Shape = { rank: 0, stringBytesMax: SAID_TEXT_LENGTH_MAX, keepsBeginning: true, members: new Map() };

/** What an answer or an event says of itself. */
const NAMES = [
  ...['type', 'id', 'object', 'status', 'model', 'created', 'created_at', 'sequence_number', 'index'],
  ...['finish_reason', 'stop_reason', 'service_tier', 'speed', 'code', 'param', 'statusCode', 'input_tokens'],
];
const WHOLES = ['usage', 'error', 'tool_usage', 'base_resp', 'incomplete_details', 'detail', 'Message'];
/** What an item of an answer says of itself. */
const ITEM_NAMES = ['type', 'id', 'status', 'name', 'container_id', 'index', 'stop_reason', 'finish_reason'];

/**
 * What the meters read of an answer or an event, in any format. `rules`: the paths of a source's
 * pricing rules name members of answers too.
 */
export function answerShape(rules: PricingRules | undefined): Shape {
  if (rules === undefined) return PLAIN;
  let shape = SHAPES.get(rules);
  if (shape === undefined) {
    const { classes, tools, unpricedAnswers = {}, reportedCostAt, modelAt = '' } = rules;
    const values = [...classes.flatMap(({ answersAt }) => answersAt ?? []), ...Object.keys(unpricedAnswers), modelAt];
    values.push(...tools.flatMap(({ totalAt }) => totalAt ?? []), reportedCostAt?.path ?? '');
    const items = tools.flatMap(({ reportedAt }) => reportedAt ?? []);
    SHAPES.set(rules, (shape = answerShapeWith(values.flatMap(namesIn), items.flatMap(namesIn))));
  }
  return shape;
}

const namesIn = (path: string): string[] => path.match(/[a-z0-9_]+/gi) ?? [];

/** Members that have shapes of answers in them are added to their maps after those. */
function answerShapeWith(valueNames: readonly string[], unitNames: readonly string[]): Shape {
  const itemMembers = new Map(each(NOT_GENERATED, IGNORED));
  const element: Shape = { rank: 1, stringBytesMax: NAME_BYTES_MAX, members: itemMembers, others: OTHER };
  const item: Shape = { ...element, elements: element };
  for (const name of unitNames) itemMembers.set(name, item);
  for (const name of ITEM_NAMES) {
    itemMembers.set(name, { ...shapeOf(1, [], OTHER), isUncounted: NOT_GENERATED.has(name) });
  }
  // Of a shell call: the container that it ran in.
  itemMembers.set('environment', shapeOf(1, each(['type', 'container_id'], shapeOf(1, [], OTHER)), OTHER));
  const only = { ...item, rank: 0 } as const;
  const items = shapeOf(0, itemMembers, item);

  const common: [string, Shape][] = [
    ...each(NOT_GENERATED, IGNORED),
    ...each(unitNames, item),
    ...each(valueNames, WHOLE),
    ...each(NAMES, NAME),
    ...each(WHOLES, WHOLE),
  ];
  const choice = shapeOf(0, [...common, ...each(['delta', 'message', 'text'], only)], OTHER);
  const answerMembers = new Map<string, Shape>([
    ...common,
    ...each(['delta', 'item', 'content_block', 'container'], only),
    ...each(['output', 'content'], items),
    ['choices', shapeOf(0, [], choice)],
    ['x_groq', shapeOf(0, common, OTHER)],
    ['data', EMPTY],
  ]);
  const answer: Shape = { ...WHOLE, members: answerMembers, others: OTHER };
  // A message is an answer, or the text of an error.
  for (const name of ['response', 'message']) answerMembers.set(name, answer);
  return answer;
}

const PLAIN = answerShapeWith([], []);
const SHAPES = new WeakMap<PricingRules, Shape>();
