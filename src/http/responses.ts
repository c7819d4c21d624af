import { z } from 'zod';

/** Body of a 422: what is wrong and where. */
export const HTTPValidationError = z
  .object({
    detail: z.array(z.object({ loc: z.array(z.union([z.string(), z.int()])), msg: z.string(), type: z.string() })),
  })
  .meta({
    id: 'HTTPValidationError',
    examples: [
      {
        detail: [
          { loc: ['body', 'threadId'], msg: 'Invalid input: expected string, received undefined', type: 'missing' },
        ],
      },
    ],
  });

const ErrorText = z.object({ detail: z.string() }).meta({ id: 'ErrorText', examples: [{ detail: 'Not Found' }] });

const AgentNotReady = z
  .object({ detail: z.object({ error: z.object({ code: z.literal('agent_not_ready'), message: z.string() }) }) })
  .meta({
    id: 'AgentNotReady',
    examples: [{ detail: { error: { code: 'agent_not_ready', message: 'No agent is ready to answer.' } } }],
  });

const SessionsUnsupported = z
  .object({ detail: z.object({ error: z.string(), agent_type: z.enum(['LangGraph', 'ADK']) }) })
  .meta({
    id: 'SessionsUnsupported',
    examples: [
      { detail: { error: 'This agent does not keep its sessions: it has no checkpointer.', agent_type: 'LangGraph' } },
    ],
  });

const BODIES = {
  401: ErrorText.describe('Nobody has shown who they are, or what they showed is not good'),
  403: ErrorText.describe('Host or origin not allowed, or a key that lacks the scope'),
  404: ErrorText.describe('Unknown, or not visible to the caller'),
  409: ErrorText.describe('The run id is taken, or a run is under way'),
  412: ErrorText.describe('Somebody else has changed the configuration in between'),
  413: ErrorText.describe('Body too large'),
  415: ErrorText.describe('Body is not JSON'),
  422: HTTPValidationError.describe('The request is not valid'),
  429: ErrorText.describe(
    'Too many requests, or as many runs as the server can take; `Retry-After` says when to try again',
  ),
  500: ErrorText.describe('The server or the agent failed'),
  501: SessionsUnsupported.describe('The agent keeps no sessions'),
  503: AgentNotReady.describe('No agent is ready'),
};

/** Error answers of a route, for its schema. */
export function errorResponses<Status extends keyof typeof BODIES>(...statuses: Status[]): Pick<typeof BODIES, Status> {
  return Object.fromEntries(statuses.map((status) => [status, BODIES[status]])) as Pick<typeof BODIES, Status>;
}

/** A successful answer of a route, for its schema. */
export function answer<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } };
}

/** The header that says who calls, for a route's schema. Read by `plugins/user.ts`, which never rejects it. */
export const userHeader = z.looseObject({
  'x-service-user-id': z
    .unknown()
    .optional()
    .meta({ type: 'string', description: 'Id of the user who calls. Sessions are kept apart by it.' }),
});

/** A stream of AG-UI events, for a route's schema. */
export const eventStreamResponse = {
  description: 'AG-UI events, one `data:` frame each; `id:` is where to go on after it',
  content: {
    'text/event-stream': {
      schema: z.string().meta({
        examples: [
          'id: 1\ndata: {"type":"RUN_STARTED","threadId":"th-1","runId":"run-1"}\n\n' +
            'data: {"type":"TEXT_MESSAGE_START","messageId":"a1","role":"assistant"}\n\n' +
            'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"a1","delta":"Hello."}\n\n' +
            'data: {"type":"TEXT_MESSAGE_END","messageId":"a1"}\n\n' +
            'data: {"type":"RUN_FINISHED","threadId":"th-1","runId":"run-1","outcome":{"type":"success"}}\n\n',
        ],
      }),
    },
  },
};
