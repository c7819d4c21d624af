import type { BaseMessage } from '@langchain/core/messages';
import type { ChatTemplateOptions, Prompt, PromptTemplates } from '../../prompts/prompt.ts';
import type { MessageClasses } from './messages.ts';

type Values = Record<string, unknown>;

/** The template classes of the agent's own copy of LangChain. */
export type TemplateClasses = Pick<
  typeof import('@langchain/core/prompts'),
  'BaseChatPromptTemplate' | 'BaseStringPromptTemplate'
>;

/**
 * Makes LangChain templates of prompts. They extend the classes of the agent's own copy, since LangChain's own templates
 * know neither conditions nor loops, and they render with our engine, so that both ways give the same text.
 */
export function createPromptTemplates(
  { BaseStringPromptTemplate, BaseChatPromptTemplate }: TemplateClasses,
  classes: MessageClasses,
): PromptTemplates {
  class TextTemplate extends BaseStringPromptTemplate<Values> {
    override lc_serializable = false;
    readonly #prompt: Prompt;
    readonly #given: Values;

    constructor(prompt: Prompt, given: Values = {}) {
      super({ inputVariables: inputs(prompt, given), ...traced(prompt) });
      this.#prompt = prompt;
      this.#given = given;
    }

    override async format(values: Values): Promise<string> {
      return this.#prompt.format({ ...this.#given, ...values });
    }

    override async partial(values: Values): Promise<TextTemplate> {
      return new TextTemplate(this.#prompt, { ...this.#given, ...values });
    }

    override _getPromptType(): 'prompt' {
      return 'prompt';
    }
  }

  class ChatTemplate extends BaseChatPromptTemplate<Values> {
    override lc_serializable = false;
    readonly #prompt: Prompt;
    readonly #options: ChatTemplateOptions;
    readonly #given: Values;

    constructor(prompt: Prompt, options: ChatTemplateOptions, given: Values = {}) {
      super({ inputVariables: inputs(prompt, given), ...traced(prompt) });
      this.#prompt = prompt;
      this.#options = options;
      this.#given = given;
    }

    override async formatMessages(values: Values): Promise<BaseMessage[]> {
      const { role = 'system', messages = 'messages' } = this.#options;
      const all: Values = { ...this.#given, ...values };
      const Message = { system: classes.SystemMessage, human: classes.HumanMessage, ai: classes.AIMessage }[role];
      const rest = messages === false ? [] : (all[messages] ?? []);
      return [new Message(this.#prompt.format(all)), ...([] as BaseMessage[]).concat(rest as BaseMessage[])];
    }

    override async partial(values: Values): Promise<ChatTemplate> {
      return new ChatTemplate(this.#prompt, this.#options, { ...this.#given, ...values });
    }

    override _getPromptType(): 'chat' {
      return 'chat';
    }
  }

  return {
    text: (prompt) => new TextTemplate(prompt),
    chat: (prompt, options) => new ChatTemplate(prompt, options),
  };
}

/** What a template still has to be given. LangChain keeps the name `stop` for itself. */
function inputs({ variables }: Prompt, given: Values): string[] {
  return variables.filter((name) => !(name in given) && name !== 'stop');
}

/** What traces say of a template. */
function traced({ promptId, version }: Prompt): { metadata: Values } {
  return { metadata: { prompt_id: promptId, prompt_version: version } };
}
