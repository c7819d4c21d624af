import { z } from 'zod';

/** An agent that can be picked (admin contract, section 13). */
export const Detection = z
  .object({
    framework: z.enum(['LANGGRAPH', 'ADK']),
    filePath: z.string().describe('Relative to the folder scanned, with forward slashes.'),
    variableName: z.string().describe('Name of the export.'),
    inferredName: z.string().describe('What the agent may be called.'),
    confidence: z.enum(['HIGH', 'MEDIUM']),
    source: z.enum(['config', 'source', 'langgraph_json']).describe('Where it was found.'),
  })
  .meta({
    id: 'Detection',
    examples: [
      {
        framework: 'LANGGRAPH',
        filePath: 'support/agent.ts',
        variableName: 'graph',
        inferredName: 'Support Desk',
        confidence: 'MEDIUM',
        source: 'source',
      },
    ],
  });
export type Detection = z.infer<typeof Detection>;

/** An agent that was seen and cannot be served. */
export const UnsupportedAgent = z.object({ filePath: z.string(), reason: z.string() }).meta({
  id: 'UnsupportedAgent',
  examples: [
    {
      filePath: 'old/agent.py',
      reason: 'It is written in Python; this server runs JavaScript and TypeScript agents.',
    },
  ],
});
export type UnsupportedAgent = z.infer<typeof UnsupportedAgent>;

/** What a scan of the working directory has found. */
export const ScanResult = z
  .object({
    root: z.string().describe('The folder scanned, as an absolute path.'),
    detected: z.array(Detection),
    unsupported: z.array(UnsupportedAgent),
    hasSourceFiles: z.boolean().describe('Whether there is any JavaScript or TypeScript module.'),
    hasPythonFiles: z.boolean(),
    hasServiceConfig: z.boolean().describe('Whether there is a configuration file that names an agent.'),
    truncated: z.boolean().describe('Whether the project was too large to be read whole.'),
    scanDurationMs: z.int(),
  })
  .meta({
    id: 'ScanResult',
    examples: [
      {
        root: '/srv/bot',
        detected: [
          {
            framework: 'LANGGRAPH',
            filePath: 'support/agent.ts',
            variableName: 'graph',
            inferredName: 'Support Desk',
            confidence: 'MEDIUM',
            source: 'source',
          },
        ],
        unsupported: [],
        hasSourceFiles: true,
        hasPythonFiles: false,
        hasServiceConfig: false,
        truncated: false,
        scanDurationMs: 7,
      },
    ],
  });
export type ScanResult = z.infer<typeof ScanResult>;

/** Where onboarding stands. */
export const OnboardingState = z
  .enum(['ALREADY_CONFIGURED', 'EMPTY', 'NO_SUPPORTED', 'ONE_DETECTED', 'MANY_DETECTED'])
  .meta({ id: 'OnboardingState' });
export type OnboardingState = z.infer<typeof OnboardingState>;

/** Says where onboarding stands. @param configured whether the server has an agent. */
export function stateOf(result: ScanResult, configured: boolean): OnboardingState {
  if (configured) return 'ALREADY_CONFIGURED';
  if (result.detected.length > 1) return 'MANY_DETECTED';
  if (result.detected.length === 1) return 'ONE_DETECTED';
  return result.hasSourceFiles || result.hasPythonFiles ? 'NO_SUPPORTED' : 'EMPTY';
}
