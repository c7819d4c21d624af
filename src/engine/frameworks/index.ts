import { z } from 'zod';
import type { Agent } from '../agent.ts';
import type { FrameworkPorts } from './define.ts';
import { langGraph } from './langgraph/index.ts';

/** The `agent` block of the configuration: one member per framework that can run. A new one is a folder and a line here. */
export const AgentConfig = z.discriminatedUnion('type', [
  z.object({ type: z.literal(langGraph.type), config: langGraph.config }),
]);
export type AgentConfig = z.infer<typeof AgentConfig>;

/** Makes the agent the configuration describes. @throws as {@link FrameworkPorts} says. */
export function createAgent(agent: AgentConfig, ports: FrameworkPorts): Promise<Agent> {
  switch (agent.type) {
    case 'LANGGRAPH':
      return langGraph.create(agent.config, ports);
  }
}
