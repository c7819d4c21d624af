import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { OfflineModel } from './offline-model.ts';

/** The models used when a key is set but `AGENT_MODEL` is not. */
const DEFAULT_MODELS = [
  { key: 'OPENAI_API_KEY', model: 'openai:gpt-5-mini' },
  { key: 'ANTHROPIC_API_KEY', model: 'anthropic:claude-haiku-4-5' },
  { key: 'GOOGLE_API_KEY', model: 'google-genai:gemini-2.5-flash' },
] as const;

/** Versions that fit the LangChain this server is built on; a newer one may bring a second copy of it. */
const PROVIDER_VERSIONS = new Map([
  ['@langchain/openai', '1.5.8'],
  ['@langchain/anthropic', '1.5.11'],
  ['@langchain/google-genai', '2.3.2'],
]);

type Environment = Readonly<Record<string, string | undefined>>;

/** Chooses the model at the first call and hands out the same one from then on. */
export function createModelSource(settings: Readonly<Record<string, unknown>>): () => Promise<BaseChatModel> {
  let model: BaseChatModel | undefined;
  return async () => {
    model ??= await chooseModel(process.env, settings);
    return model;
  };
}

/**
 * Chooses by the environment: `AGENT_MODEL` ("provider:name", or "offline"), else the provider a key or base URL is
 * set for, else the offline demonstration model. @throws Error naming the package to install when it is missing.
 */
export async function chooseModel(env: Environment, settings: Readonly<Record<string, unknown>> = {}) {
  const name = env.AGENT_MODEL || (await defaultModel(env));
  if (name === 'offline') {
    return new OfflineModel(typeof settings.delayMs === 'number' ? { delayMs: settings.delayMs } : {});
  }
  // Imported here because it takes a while, and the offline model does without.
  const { initChatModel } = await import('langchain/chat_models/universal');
  try {
    const configurable = await initChatModel(name, name.startsWith('openai:') ? openAIOptions(env) : {});
    // The wrapper keeps one model for every thread it has seen; the model inside is all we need.
    return await configurable._getModelInstance();
  } catch (error) {
    const missing = /Unable to import (@?[\w/-]+)/.exec(String(error))?.[1];
    if (missing === undefined) throw error;
    const version = PROVIDER_VERSIONS.get(missing);
    throw new Error(
      `The model "${name}" needs the package ${missing}, which is not installed. Run: ` +
        `npm install --save-exact ${version === undefined ? missing : `${missing}@${version}`} ` +
        '(or set AGENT_MODEL=offline for the demonstration model)',
      { cause: error },
    );
  }
}

async function defaultModel(env: Environment): Promise<string> {
  if (env.OPENAI_BASE_URL) return `openai:${await servedModel(env.OPENAI_BASE_URL, env)}`;
  return DEFAULT_MODELS.find(({ key }) => env[key])?.model ?? 'offline';
}

/** A local server (Ollama, vLLM) knows what it serves: its first model, unless it has the usual one or cannot tell. */
async function servedModel(baseURL: string, env: Environment): Promise<string> {
  const usual = 'gpt-5-mini';
  try {
    const response = await fetch(`${baseURL.replace(/\/+$/, '')}/models`, {
      headers: { authorization: `Bearer ${apiKey(env)}` },
      signal: AbortSignal.timeout(3000),
    });
    const { data } = (await response.json()) as { data: { id: string }[] };
    return data.some(({ id }) => id === usual) ? usual : (data[0]?.id ?? usual);
  } catch {
    return usual;
  }
}

function openAIOptions(env: Environment) {
  return env.OPENAI_BASE_URL ? { apiKey: apiKey(env), configuration: { baseURL: env.OPENAI_BASE_URL } } : {};
}

/** Local servers ask for no key, but the client library insists on one. */
function apiKey(env: Environment): string {
  return env.OPENAI_API_KEY || 'none';
}
