import { z } from 'zod';
import { type Agent, FRAMEWORKS } from '../engine/agent.ts';
import type { AgentGraph } from '../engine/drawing/agent-graph.ts';
import { drawAscii } from '../engine/drawing/ascii.ts';
import { drawMermaid } from '../engine/drawing/mermaid.ts';
import { maskSecrets } from '../masking.ts';
import { problem } from '../problems.ts';
import type { WithEngine } from './with-engine.ts';

const JsonObject = z.record(z.string(), z.unknown());

/** What a UI needs to set itself up (runtime contract, section 8), with AG-UI's own descriptor under `agui`. */
export const CapabilitiesResponse = z
  .object({
    version: z.literal('1'),
    framework: z.enum(FRAMEWORKS),
    capabilities: z.object({ streaming: z.boolean(), history: z.boolean(), thread_id: z.boolean() }),
    input: z.object({ mode: z.enum(['chat', 'structured']), schema: JsonObject.nullable() }),
    output: z.object({ mode: z.enum(['text', 'structured', 'unknown']), schema: JsonObject.nullable() }),
    history: z.object({ canList: z.boolean(), canGet: z.boolean() }).nullable(),
    agui: JsonObject.describe("AG-UI 1.0's AgentCapabilities."),
  })
  .meta({
    id: 'Capabilities',
    examples: [
      {
        version: '1',
        framework: 'LANGGRAPH',
        capabilities: { streaming: true, history: true, thread_id: true },
        input: { mode: 'chat', schema: null },
        output: { mode: 'text', schema: null },
        history: { canList: true, canGet: true },
        agui: { identity: { name: 'desk', type: 'langgraph' }, transport: { streaming: true } },
      },
    ],
  });

/** Tells what the running agent is. Every method throws Problem `agent_not_ready` without one. */
export interface Introspection {
  capabilities(): Promise<z.infer<typeof CapabilitiesResponse>>;
  /** The agent block of the configuration, after defaults, secrets masked. */
  config(): Promise<{ config: { type: string; config: Record<string, unknown> } }>;
  /** @throws Problem `graph_not_available`. */
  graph(): Promise<AgentGraph>;
  mermaid(): Promise<{ mermaid: string }>;
  ascii(): Promise<{ ascii: string }>;
}

/** Makes the introspection service. */
export function createIntrospection(withEngine: WithEngine): Introspection {
  const graphOf = async (agent: Agent): Promise<AgentGraph> => {
    const graph = await agent.graph();
    if (graph === undefined) throw problem('graph_not_available');
    return graph;
  };
  return {
    capabilities: () =>
      withEngine(({ agent }) => ({ version: '1', ...agent.capabilities, agui: aguiCapabilities(agent) })),
    config: () =>
      withEngine(({ config: { agent } }) => {
        const { settings, ...shown } = maskSecrets(agent.config) as Record<string, unknown>;
        const hasSettings = Object.keys(settings as object).length > 0;
        return { config: { type: agent.type, config: { ...shown, ...(hasSettings && { settings }) } } };
      }),
    graph: () => withEngine(({ agent }) => graphOf(agent)),
    mermaid: () =>
      withEngine(async ({ agent }) => ({ mermaid: (await agent.mermaid?.()) ?? drawMermaid(await graphOf(agent)) })),
    ascii: () => withEngine(async ({ agent }) => ({ ascii: drawAscii(await graphOf(agent)) })),
  };
}

function aguiCapabilities({ name, framework, capabilities }: Agent): Record<string, unknown> {
  const keeps = capabilities.capabilities.history;
  return {
    identity: { name, type: framework.toLowerCase() },
    transport: { streaming: true, websocket: false, httpBinary: false, pushNotifications: false, resumable: true },
    tools: { supported: true, parallelCalls: true, clientProvided: true },
    output: { structuredOutput: capabilities.output.mode === 'structured' },
    state: { snapshots: true, deltas: true, persistentState: keeps },
    reasoning: { supported: true, streaming: true, encrypted: true },
    multimodal: { input: { image: true, audio: true, video: true, pdf: true, file: true } },
    humanInTheLoop: { supported: keeps, interrupts: keeps, approvals: keeps },
  };
}
