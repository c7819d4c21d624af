/**
 * What a person at a terminal is told once the server is up.
 *
 * @param server.agent name of the agent; undefined when there is none.
 * @param server.fault why there is none, if that is known.
 */
export function greeting(server: { address: string; agent: string | undefined; fault: string | undefined }): string {
  const { address, agent, fault } = server;
  const body = JSON.stringify({
    threadId: 't1',
    runId: 'r1',
    messages: [{ role: 'user', content: 'What is 6 * 7, and what time is it in Tokyo?' }],
  });
  const state =
    agent !== undefined
      ? [
          `The agent "${agent}" is listening on ${address}`,
          '',
          'Talk to it:',
          `  curl -N ${address}/agent/run -H 'Content-Type: application/json' \\`,
          `    -d '${body}'`,
        ]
      : [
          `The server is listening on ${address}, without an agent.`,
          fault ?? 'Make one with "agent-engine init my-agent", or serve a file: agent-engine serve agent.ts',
          ...(fault === undefined ? [] : ['', 'Mend that, then:', `  curl -X POST ${address}/reload`]),
        ];
  return ['', ...state, '', `All routes:  ${address}/docs`, 'Stop:        Ctrl+C', ''].join('\n');
}
