import { z } from 'zod';
import { MAX_CONTENT, templateFault } from './template.ts';

/** A prompt's text as it is written: a template that parses. What was stored before that was asked is left alone. */
export const PromptContent = z
  .string()
  .max(MAX_CONTENT)
  .superRefine((content, context) => {
    const message = templateFault(content);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** One version of a prompt in the engine's configuration. */
export const PromptConfig = z.object({
  promptId: z.string().min(1),
  version: z.int().min(1),
  content: z.string(),
  tags: z.array(z.string()).default([]),
});

/** The same in a file that somebody writes. */
export const WrittenPrompt = PromptConfig.extend({ content: PromptContent });
