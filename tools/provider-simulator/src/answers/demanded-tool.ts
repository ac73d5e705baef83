import type { JsonObject } from './answer.js';

/** Name of the tool if `tool_choice` requires one and neither it nor `tools` has a name. */
const NAMELESS_TOOL = 'tool';

/**
 * Returns the required tool: the one named by `tool_choice`, or the first of `tools` for `required`
 * (chat, responses) and `any` (messages). Undefined if no tool is required; the response is then
 * text.
 */
export function findRequiredTool(body: JsonObject): string | undefined {
  const choice = body['tool_choice'];
  if (choice === 'required') return firstTool(body['tools']);
  if (typeof choice !== 'object' || choice === null) return undefined;
  const { type } = choice as JsonObject;
  if (type === 'any') return firstTool(body['tools']);
  return type === 'tool' || type === 'function' ? nameOf(choice) : undefined;
}

function firstTool(tools: unknown): string {
  return Array.isArray(tools) ? nameOf(tools[0]) : NAMELESS_TOOL;
}

/** The name is a field of the tool itself (messages, responses) or of its `function` (chat). */
function nameOf(tool: unknown): string {
  if (typeof tool !== 'object' || tool === null) return NAMELESS_TOOL;
  const { name, function: inner } = tool as JsonObject;
  if (typeof name === 'string') return name;
  return inner === undefined ? NAMELESS_TOOL : nameOf(inner);
}
