import { z } from 'zod';
import { banList } from './ban-list.ts';
import type { Check } from './define.ts';

/** Every kind of guardrail that can run. A new one is a file and a line here. */
const KINDS = { ban_list: banList } as const;

/** One guardrail of the configuration. */
export const GuardrailConfig = z.discriminatedUnion('config_id', [KINDS.ban_list.config], {
  error: (issue) =>
    issue.code === 'invalid_union'
      ? `must be one of ${Object.keys(KINDS).join(', ')}: other kinds are not supported by this version`
      : undefined,
});
export type GuardrailConfig = z.infer<typeof GuardrailConfig>;

/** Entries of a file may be switched off, which is to leave them out. */
const enabled = <Entries extends z.ZodType>(entries: Entries) =>
  z.preprocess((list) => (Array.isArray(list) ? list.filter((entry) => entry?.enabled !== false) : list), entries);

/** `guardrails` of the configuration. */
export const GuardrailsConfig = z.object({
  input: enabled(z.array(GuardrailConfig).default([])),
  output: enabled(z.array(z.unknown()).max(0, 'Output guardrails are not supported by this version').default([])),
});

/** One guardrail's word on what a user sent, for the trace. */
export interface GuardrailCheck {
  readonly name: string;
  readonly texts: readonly string[];
  readonly accepted: boolean;
  /** On the clock of `performance.now()`. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Checks what users send. */
export interface InputGuardrails {
  /**
   * @param note hears of each guardrail that was asked.
   * @returns what the user is told when the texts are not acceptable; undefined when they are.
   */
  reject(texts: readonly string[], note?: (check: GuardrailCheck) => void): Promise<string | undefined>;
}

/**
 * Makes the input guardrails of an engine. They are asked in order and the first that objects decides; one that fails
 * objects too.
 *
 * @throws when one cannot be made.
 */
export async function createInputGuardrails(configs: readonly GuardrailConfig[]): Promise<InputGuardrails | undefined> {
  if (configs.length === 0) return undefined;
  const guardrails = await Promise.all(
    configs.map(async (config) => {
      const kind = KINDS[config.config_id];
      return {
        name: config.config_id,
        check: await kind.create(config),
        message: config.reject_message || kind.message,
      };
    }),
  );
  return {
    async reject(texts, note) {
      for (const { name, check, message } of guardrails) {
        const startedAt = performance.now();
        const accepted = await acceptsAll(check, texts);
        note?.({ name, texts, accepted, startedAt, endedAt: performance.now() });
        if (!accepted) return message;
      }
      return undefined;
    },
  };
}

async function acceptsAll(check: Check, texts: readonly string[]): Promise<boolean> {
  for (const text of texts) if (!(await accepts(check, text))) return false;
  return true;
}

async function accepts(check: Check, text: string): Promise<boolean> {
  try {
    return await check(text);
  } catch {
    return false;
  }
}
