import { ToolMessage } from '@langchain/core/messages';
import { type ToolRuntime, tool } from '@langchain/core/tools';
import { Command } from '@langchain/langgraph';
import { z } from 'zod';
import { createKnowledge } from '../knowledge.ts';

/** Builds the tool that searches the documents of `folder`; the state remembers which ones it found. */
export function createSearchTool(folder: URL) {
  const knowledge = createKnowledge(folder);
  return tool(
    async ({ query }, runtime: ToolRuntime) => {
      const passages = await knowledge.search(query);
      const content = passages.map(({ source, heading, text }) => `## ${heading} (${source})\n${text}`).join('\n\n');
      return new Command({
        update: {
          lastSources: [...new Set(passages.map((passage) => passage.source))],
          messages: [new ToolMessage(content || 'Nothing in the documents fits.', runtime.toolCallId)],
        },
      });
    },
    {
      name: 'search_knowledge',
      description: 'Searches the documents about this server: running it, models, events, tools, writing an agent.',
      schema: z.object({ query: z.string().min(1).max(300).describe('The question, or a few key words') }),
    },
  );
}
