import type { AIMessage, UsageMetadata } from '@langchain/core/messages';
import type { TokenUsage } from '../../events.ts';

/** Adds up what a run's model calls used, one entry per provider and model. */
export interface UsageMeter {
  add(provider: string | undefined, model: string | undefined, message: AIMessage): void;
  total(): TokenUsage[];
}

/** Makes an empty meter. */
export function createUsageMeter(): UsageMeter {
  const entries = new Map<string, TokenUsage>();
  return {
    add(provider, model, message) {
      const used = message.usage_metadata as UsageMetadata | undefined;
      if (used === undefined) return;
      const metadata = message.response_metadata as { model_name?: unknown } | undefined;
      const name = typeof metadata?.model_name === 'string' ? metadata.model_name : model;
      const key = `${provider}\n${name}`;
      const entry = entries.get(key) ?? {
        ...(provider !== undefined && { provider }),
        ...(name !== undefined && { model: name }),
      };
      entries.set(key, entry);
      const counts: [keyof TokenUsage, number | undefined][] = [
        ['inputTokens', used.input_tokens],
        ['outputTokens', used.output_tokens],
        ['totalTokens', used.total_tokens],
        ['reasoningTokens', used.output_token_details?.reasoning],
        ['cachedInputTokens', used.input_token_details?.cache_read],
        ['cacheWriteInputTokens', used.input_token_details?.cache_creation],
      ];
      for (const [field, count] of counts) {
        if (typeof count === 'number') Object.assign(entry, { [field]: Number(entry[field] ?? 0) + count });
      }
    },
    total: () => [...entries.values()],
  };
}
