import type { z } from 'zod';

/** Tells whether a text is acceptable. */
export type Check = (text: string) => boolean | Promise<boolean>;

/** A kind of guardrail: its configuration, what it says when nothing else is configured, and how it checks. */
export interface GuardrailKind<Config extends z.ZodObject> {
  readonly config: Config;
  /** What the user is told when the guardrail has no message of its own. */
  readonly message: string;
  /** Makes the check. @throws when it cannot be made; the engine is not built then. */
  create(config: z.infer<Config>): Check | Promise<Check>;
}

/** Types a kind of guardrail. */
export function defineGuardrail<Config extends z.ZodObject>(kind: GuardrailKind<Config>): GuardrailKind<Config> {
  return kind;
}
