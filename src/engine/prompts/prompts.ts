import { currentAgentScope } from '../agent-scope.ts';
import { currentRunScope, type PromptUse } from '../run-scope.ts';
import type { Prompt, Prompts, PromptTemplates, PromptVersion } from './prompt.ts';
import { createTemplateEngine, type Template } from './template.ts';
import { TemplateProblem } from './template-problem.ts';

/** A prompt that cannot be rendered. The message names the prompt, its version and what is wrong, but no value. */
export class PromptError extends Error {
  override name = 'PromptError';
  readonly promptId: string;
  readonly version: number;

  constructor({ promptId, version }: PromptVersion, reason: string, options?: ErrorOptions) {
    super(`Prompt ${promptId} v${version} ${reason}`, options);
    this.promptId = promptId;
    this.version = version;
  }
}

/** The prompts of one engine. */
export interface PromptLibrary extends Prompts {
  /** How many versions there are of all prompts together. */
  readonly size: number;
  /** Prompts that were rendered while the agent was put together: every run of the engine uses them. */
  readonly builtIn: readonly PromptUse[];
  /** Says how prompts become templates of the agent's own framework. */
  convertWith(templates: PromptTemplates): void;
}

/** Makes the prompts of one engine. Each template is parsed when it is first rendered, and once. */
export function createPrompts(list: readonly PromptVersion[]): PromptLibrary {
  const engine = createTemplateEngine();
  const builtIn: PromptUse[] = [];
  let templates: PromptTemplates | undefined;

  const use = ({ promptId, version }: PromptUse): void => {
    const used = currentRunScope()?.promptsUsed ?? (currentAgentScope() === undefined ? undefined : builtIn);
    if (used?.some((known) => known.promptId === promptId && known.version === version) === false) {
      used.push({ promptId, version });
    }
  };

  const open = (stored: PromptVersion): Prompt => {
    const { promptId, version, content } = stored;
    let template: Template | undefined;
    const compiled = (): Template => {
      template ??= engine.compile(content);
      return template;
    };
    const attempt = <T>(work: () => T): T => {
      try {
        return work();
      } catch (error) {
        if (!(error instanceof TemplateProblem)) throw error;
        const reason =
          error.variable === undefined
            ? `cannot be rendered: ${error.message}`
            : `needs a value for "${error.variable}"`;
        throw new PromptError(stored, reason, error.cause === undefined ? {} : { cause: error.cause });
      }
    };
    const convert = (): PromptTemplates => {
      if (templates === undefined) throw new PromptError(stored, 'cannot be converted: the agent has no LangChain');
      return templates;
    };
    const prompt: Prompt = {
      promptId,
      version,
      get content() {
        use(stored);
        return content;
      },
      tags: Object.freeze([...stored.tags]) as string[],
      get variables() {
        return [...attempt(() => compiled().variables)];
      },
      format(values = {}) {
        use(stored);
        return attempt(() => compiled().render(values));
      },
      toPromptTemplate: () => convert().text(prompt) as never,
      toChatPromptTemplate: (options = {}) => convert().chat(prompt, options) as never,
    };
    return Object.freeze(prompt);
  };

  // Newest first.
  const byId = new Map<string, Prompt[]>();
  for (const stored of [...list].sort((left, right) => right.version - left.version)) {
    const versions = byId.get(stored.promptId) ?? [];
    versions.push(open(stored));
    byId.set(stored.promptId, versions);
  }
  return {
    size: list.length,
    builtIn,
    convertWith(given) {
      templates = given;
    },
    get(promptId, { version, tag } = {}) {
      const found = byId
        .get(promptId)
        ?.find(
          (prompt) =>
            (version === undefined || prompt.version === version) && (tag === undefined || prompt.tags.includes(tag)),
        );
      if (found !== undefined && currentRunScope() !== undefined) use(found);
      return found;
    },
  };
}
