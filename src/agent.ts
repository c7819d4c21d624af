/**
 * What agent code imports: `import { currentUser, emitState } from 'agent-engine-server/agent'`.
 * It resolves inside agent modules wherever their folder is, and answers for the run the code is part of.
 *
 * @module
 */
export type { AgentContext } from './engine/agent-context.ts';
export * from './engine/author-helpers.ts';
export type { ChatTemplateOptions, Prompt, PromptSelection, Prompts } from './engine/prompts/prompt.ts';
