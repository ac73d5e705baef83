/** The addresses and models of a snippet. A key's secret is never part of them. */
export interface SnippetFacts {
  readonly chatBaseUrl: string;
  readonly messagesBaseUrl: string | null;
  readonly model: string;
  readonly messagesModel: string;
}

export interface Snippet {
  readonly id: string;
  readonly label: string;
  readonly language: 'shell' | 'python' | 'javascript' | 'toml' | 'json';
  /** What to install first, or where to put the text. */
  readonly hint: string;
  readonly code: string;
}

/** The variable from which all snippets read the key. */
export const KEY_VARIABLE = 'GATEWAY_API_KEY';

/** Returns the command that sets the variable. */
export function exportKey(secret: string): string {
  return `export ${KEY_VARIABLE}=${secret}`;
}

/** Returns a first request from a shell. */
export function curlSnippet({ chatBaseUrl, model }: SnippetFacts): Snippet {
  return {
    id: 'curl',
    label: 'curl',
    language: 'shell',
    hint: 'Prints one JSON object. Add "stream": true to stream the response.',
    code: `curl ${chatBaseUrl}/chat/completions \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" \\
  -H "Content-Type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{"role": "user", "content": "Say hello."}],
    "max_tokens": 200
  }'`,
  };
}

/** Returns the snippets of programs: official clients with another base URL. */
export function codeSnippets(facts: SnippetFacts): Snippet[] {
  const { chatBaseUrl, messagesBaseUrl, model, messagesModel } = facts;
  const snippets: Snippet[] = [
    curlSnippet(facts),
    {
      id: 'python',
      label: 'Python',
      language: 'python',
      hint: 'pip install openai',
      code: `import os
from openai import OpenAI

client = OpenAI(
    base_url="${chatBaseUrl}",
    api_key=os.environ["${KEY_VARIABLE}"],
)

answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Say hello."}],
    max_tokens=200,
)
print(answer.choices[0].message.content)`,
    },
    {
      id: 'javascript',
      label: 'JavaScript',
      language: 'javascript',
      hint: 'npm install openai — in a server, never in a browser',
      code: `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${chatBaseUrl}',
  apiKey: process.env.${KEY_VARIABLE},
});

const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Say hello.' }],
  max_tokens: 200,
});
console.log(answer.choices[0].message.content);`,
    },
  ];
  if (messagesBaseUrl === null) return snippets;
  return [
    ...snippets,
    {
      id: 'messages',
      label: 'Messages API',
      language: 'javascript',
      hint: 'npm install @anthropic-ai/sdk — its base URL has no /v1',
      code: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  baseURL: '${messagesBaseUrl}',
  apiKey: process.env.${KEY_VARIABLE},
});

const message = await client.messages.create({
  model: '${messagesModel}',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'Say hello.' }],
});
console.log(message.content[0].text);`,
    },
  ];
}

/** Returns the snippets of coding tools; each needs model names with their publishers. */
export function toolSnippets({ chatBaseUrl, messagesBaseUrl, model, messagesModel }: SnippetFacts): Snippet[] {
  const tools: Snippet[] = [
    {
      id: 'codex',
      label: 'Codex CLI',
      language: 'toml',
      hint: '~/.codex/config.toml — the model must be served on /v1/responses',
      code: `model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "Gateway"
base_url = "${chatBaseUrl}"
env_key = "${KEY_VARIABLE}"
wire_api = "responses"`,
    },
    {
      id: 'aider',
      label: 'Aider',
      language: 'shell',
      hint: 'openai/ chooses the protocol; the publisher of the model follows it',
      code: `OPENAI_API_BASE=${chatBaseUrl} OPENAI_API_KEY=$${KEY_VARIABLE} \\
  aider --model openai/${model}`,
    },
    {
      id: 'opencode',
      label: 'opencode',
      language: 'json',
      hint: 'opencode.json',
      code: `{
  "provider": {
    "gateway": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "${chatBaseUrl}", "apiKey": "{env:${KEY_VARIABLE}}" },
      "models": { "${model}": {} }
    }
  }
}`,
    },
  ];
  if (messagesBaseUrl === null) return tools;
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      language: 'shell',
      hint: 'Set the small model too: it does background work',
      code: `export ANTHROPIC_BASE_URL=${messagesBaseUrl}
export ANTHROPIC_AUTH_TOKEN=$${KEY_VARIABLE}
export ANTHROPIC_API_KEY=
export ANTHROPIC_MODEL=${messagesModel}
export ANTHROPIC_DEFAULT_OPUS_MODEL=${messagesModel}
export ANTHROPIC_DEFAULT_SONNET_MODEL=${messagesModel}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${messagesModel}`,
    },
    ...tools,
  ];
}
