import type { ProviderProfile } from '@gateway/contracts/operator';
import { ANTHROPIC } from './anthropic.js';
import { AZURE_DEPLOYMENTS } from './azure-deployments.js';
import { AZURE_OPENAI } from './azure-openai.js';
import { BEDROCK } from './bedrock.js';
import { BEDROCK_ANTHROPIC } from './bedrock-anthropic.js';
import { BEDROCK_MANTLE } from './bedrock-mantle.js';
import { COHERE } from './cohere.js';
import { DEEPSEEK } from './deepseek.js';
import { DEEPSEEK_ANTHROPIC } from './deepseek-anthropic.js';
import { FIREWORKS } from './fireworks.js';
import { FOUNDRY } from './foundry.js';
import { FOUNDRY_ANTHROPIC } from './foundry-anthropic.js';
import { GEMINI } from './gemini.js';
import { GROQ } from './groq.js';
import { LLAMACPP } from './llamacpp.js';
import { LMSTUDIO } from './lmstudio.js';
import { MISTRAL } from './mistral.js';
import { MOONSHOT } from './moonshot.js';
import { MOONSHOT_ANTHROPIC } from './moonshot-anthropic.js';
import { OLLAMA } from './ollama.js';
import { OPENAI } from './openai.js';
import { OPENROUTER } from './openrouter.js';
import { PERPLEXITY } from './perplexity.js';
import { SGLANG } from './sglang.js';
import { TOGETHER } from './together.js';
import { VERTEX } from './vertex.js';
import { VERTEX_ANTHROPIC } from './vertex-anthropic.js';
import { VLLM } from './vllm.js';
import { XAI } from './xai.js';

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
