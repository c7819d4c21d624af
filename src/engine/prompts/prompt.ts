import type { BaseChatPromptTemplate, BaseStringPromptTemplate } from '@langchain/core/prompts';

/** One stored version of a prompt. */
export interface PromptVersion {
  readonly promptId: string;
  readonly version: number;
  /** The template, as it was written. */
  readonly content: string;
  readonly tags: readonly string[];
}

/** One stored version of a prompt, as agent code receives it. */
export interface Prompt extends PromptVersion {
  /** Names of the variables the template mentions. @throws PromptError when it does not parse. */
  readonly variables: readonly string[];
  /**
   * The text with its variables filled in.
   *
   * @throws PromptError naming the prompt, its version and the variable that is missing.
   */
  format(variables?: Readonly<Record<string, unknown>>): string;
  /**
   * A LangChain prompt template that renders this prompt: something to pipe into a model. It is of the agent's own copy
   * of LangChain; an agent whose copy is not the server's names the type.
   */
  toPromptTemplate<Template = BaseStringPromptTemplate>(): Template;
  /**
   * The same as a message, the system's unless `role` says otherwise, and behind it the messages given under the name
   * `messages`, if there are any. `options.messages` gives them another name; false leaves them out.
   */
  toChatPromptTemplate<Template = BaseChatPromptTemplate>(options?: ChatTemplateOptions): Template;
}

/** How a prompt becomes a chat template. */
export interface ChatTemplateOptions {
  /** Who says it; `system` by default. */
  role?: 'system' | 'human' | 'ai';
  /** Name under which the messages behind it are given, `messages` by default; false for none. */
  messages?: string | false;
}

/** Which of a prompt's versions is asked for. */
export interface PromptSelection {
  version?: number;
  tag?: string;
}

/** The prompts of one configuration. A run goes on with those it began with. */
export interface Prompts {
  /** The prompt `promptId`: its highest version unless `select` names a version or a tag; undefined when there is none. */
  get(promptId: string, select?: PromptSelection): Prompt | undefined;
}

/** Turns prompts into templates of the framework the agent is written in. */
export interface PromptTemplates {
  text(prompt: Prompt): unknown;
  chat(prompt: Prompt, options: ChatTemplateOptions): unknown;
}
