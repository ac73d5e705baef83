import type { ProviderProfile } from '../operator/index.js';
import { ANTHROPIC } from './anthropic/profile.js';
import { AZURE_DEPLOYMENTS } from './azure-deployments/profile.js';
import { AZURE_OPENAI } from './azure-openai/profile.js';
import { BEDROCK } from './bedrock/profile.js';
import { BEDROCK_ANTHROPIC } from './bedrock-anthropic/profile.js';
import { BEDROCK_MANTLE } from './bedrock-mantle/profile.js';
import { COHERE } from './cohere/profile.js';
import { DEEPSEEK } from './deepseek/profile.js';
import { DEEPSEEK_ANTHROPIC } from './deepseek-anthropic/profile.js';
import { FIREWORKS } from './fireworks/profile.js';
import { FOUNDRY } from './foundry/profile.js';
import { FOUNDRY_ANTHROPIC } from './foundry-anthropic/profile.js';
import { GEMINI } from './gemini/profile.js';
import { GROQ } from './groq/profile.js';
import { LLAMACPP } from './llamacpp/profile.js';
import { LMSTUDIO } from './lmstudio/profile.js';
import { MISTRAL } from './mistral/profile.js';
import { MOONSHOT } from './moonshot/profile.js';
import { MOONSHOT_ANTHROPIC } from './moonshot-anthropic/profile.js';
import { OLLAMA } from './ollama/profile.js';
import { OPENAI } from './openai/profile.js';
import { OPENROUTER } from './openrouter/profile.js';
import { PERPLEXITY } from './perplexity/profile.js';
import { SGLANG } from './sglang/profile.js';
import { TOGETHER } from './together/profile.js';
import { VERTEX } from './vertex/profile.js';
import { VERTEX_ANTHROPIC } from './vertex-anthropic/profile.js';
import { VLLM } from './vllm/profile.js';
import { XAI } from './xai/profile.js';

export { ANTHROPIC_COMPATIBLE, OPENAI_COMPATIBLE } from './compatible.js';

/** Profiles in the order of the page. */
export const PROFILES: readonly ProviderProfile[] = [
  OPENAI,
  ANTHROPIC,
  AZURE_OPENAI,
  AZURE_DEPLOYMENTS,
  FOUNDRY,
  FOUNDRY_ANTHROPIC,
  GEMINI,
  VERTEX,
  VERTEX_ANTHROPIC,
  BEDROCK,
  BEDROCK_MANTLE,
  BEDROCK_ANTHROPIC,
  OPENROUTER,
  XAI,
  DEEPSEEK,
  DEEPSEEK_ANTHROPIC,
  MISTRAL,
  GROQ,
  TOGETHER,
  FIREWORKS,
  MOONSHOT,
  MOONSHOT_ANTHROPIC,
  PERPLEXITY,
  COHERE,
  VLLM,
  SGLANG,
  OLLAMA,
  LMSTUDIO,
  LLAMACPP,
];
