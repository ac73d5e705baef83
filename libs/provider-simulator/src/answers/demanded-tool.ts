import type { JsonObject } from './answer.js';

/** Name used when `tool_choice` demands a tool and neither it nor `tools` names one. */
const NAMELESS_TOOL = 'tool';

/**
 * The tool that must be called: the one named by `tool_choice`, or the first of `tools` for
 * `required` (chat, responses) and `any` (messages). Undefined when the model is free: it then
 * answers in words.
 */
export function demandedTool(body: JsonObject): string | undefined {
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

/** The name is on the tool itself (messages, responses) or on its `function` (chat). */
function nameOf(tool: unknown): string {
  if (typeof tool !== 'object' || tool === null) return NAMELESS_TOOL;
  const { name, function: inner } = tool as JsonObject;
  if (typeof name === 'string') return name;
  return inner === undefined ? NAMELESS_TOOL : nameOf(inner);
}
