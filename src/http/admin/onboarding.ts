import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { WrittenAgent } from '../../services/onboarding/onboarding.ts';
import { Detection, OnboardingState, ScanResult } from '../../services/onboarding/scan-result.ts';
import { answer, errorResponses } from '../responses.ts';
import { AGENT_EXAMPLE, AgentRead, readAgent } from './agent.ts';
import { adminOf, mutation, noteOf, tag, written } from './answers.ts';

const CreateFromDetection = Detection.pick({ framework: true, filePath: true, variableName: true }).meta({
  id: 'CreateFromDetection',
  examples: [{ framework: 'LANGGRAPH', filePath: 'agent.ts', variableName: 'graph' }],
});
const CreateStarter = z
  .object({ framework: z.enum(['LANGGRAPH', 'ADK']), name: z.string().trim().min(1).max(80).optional() })
  .meta({ id: 'CreateStarter', examples: [{ framework: 'LANGGRAPH', name: 'Support Desk' }] });

const { detected, hasPythonFiles, hasServiceConfig } = ScanResult.shape;
const ScanResponse = z
  .object({
    state: OnboardingState,
    scanResult: ScanResult,
    currentAgent: AgentRead.nullable(),
    // Beside `scanResult`, as the specification prints them.
    detected,
    hasPythonFiles,
    hasServiceConfig,
  })
  .meta({
    id: 'ScanResponse',
    examples: [
      {
        state: 'EMPTY',
        scanResult: {
          root: '/srv/bot',
          detected: [],
          unsupported: [],
          hasSourceFiles: false,
          hasPythonFiles: false,
          hasServiceConfig: false,
          truncated: false,
          scanDurationMs: 7,
        },
        currentAgent: null,
        detected: [],
        hasPythonFiles: false,
        hasServiceConfig: false,
      },
    ],
  });

/** From a folder to a talking agent (admin contract, section 13). */
export async function onboardingRoutes(app: FastifyInstance): Promise<void> {
  const routes = app.withTypeProvider<ZodTypeProvider>();
  const tags = ['Agent Configuration'];
  const path = '/admin/api/v1/onboarding';
  routes.post(
    `${path}/scan`,
    {
      schema: {
        tags,
        summary: 'Look for agents in the working directory',
        description: 'Sources are read, never run.',
        response: { 200: answer(ScanResponse, 'What was found'), ...errorResponses(403, 500, 503) },
      },
    },
    async (request) => {
      const { state, scanResult, agent } = await adminOf(request).onboarding.scan();
      const { detected, hasPythonFiles, hasServiceConfig } = scanResult;
      const currentAgent = agent === undefined ? null : readAgent(agent);
      return { state, scanResult, currentAgent, detected, hasPythonFiles, hasServiceConfig };
    },
  );
  const created = {
    200: answer(mutation(AgentRead, AGENT_EXAMPLE), 'The agent is registered and live'),
    ...errorResponses(403, 409, 413, 415, 422, 500, 503),
  };
  routes.post(
    `${path}/create-from-detection`,
    {
      schema: {
        tags,
        summary: 'Register an agent that was found',
        description: 'The three members must be those of a detection; the folder is scanned again.',
        body: CreateFromDetection,
        response: created,
      },
    },
    async (request, reply) => {
      const note = noteOf(request, 'agent', 'create');
      return answerCreated(reply, await adminOf(request).onboarding.createFromDetection(request.body, note));
    },
  );
  routes.post(
    `${path}/create-starter`,
    {
      schema: {
        tags,
        summary: 'Write a starter and register it',
        description:
          'Writes into the working directory and overwrites nothing. If it cannot go live its files are removed.',
        body: CreateStarter,
        response: created,
      },
    },
    async (request, reply) => {
      const note = noteOf(request, 'agent', 'create');
      return answerCreated(reply, await adminOf(request).onboarding.createStarter(request.body, note));
    },
  );
}

function answerCreated(reply: FastifyReply, { result, reload, revision }: WrittenAgent): never {
  tag(reply, revision);
  return written(readAgent(result), reload) as never;
}
