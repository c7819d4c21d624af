import { problem } from '../../problems.ts';
import { registerAgent } from '../config/agent-record.ts';
import type { Reconfigure, ReloadReport, Snapshot, WriteNote } from '../config/reconfigure.ts';
import type { ConfigRecord } from '../resources/define.ts';
import { type Detection, type OnboardingState, type ScanResult, stateOf } from './scan-result.ts';

/** An agent that was registered. */
export type WrittenAgent = Snapshot & { result: ConfigRecord; reload: ReloadReport };

/** From a folder to a talking agent. */
export interface Onboarding {
  scan(): Promise<{ state: OnboardingState; scanResult: ScanResult; agent: ConfigRecord | undefined }>;
  /** Registers an agent that a fresh scan finds. @throws Problem `conflict` when there is an agent, or the pick is gone. */
  createFromDetection(
    pick: Pick<Detection, 'framework' | 'filePath' | 'variableName'>,
    note: WriteNote,
  ): Promise<WrittenAgent>;
  /**
   * Writes a starter and registers it; its files go again when it cannot go live.
   *
   * @throws Problem `conflict` when there is an agent or one of the files, `validation_failed` for a framework that
   *   cannot run.
   */
  createStarter(
    wanted: { framework: Detection['framework']; name?: string | undefined },
    note: WriteNote,
  ): Promise<WrittenAgent>;
}

/** Makes the onboarding of one working directory. @param port port for the examples in a starter's README. */
export function createOnboarding(reconfigure: Reconfigure, root: string, port: number): Onboarding {
  let running: Promise<ScanResult> | undefined;
  // One at a time: whoever asks meanwhile shares its result.
  const scan = (): Promise<ScanResult> => {
    // Loaded when asked for: a server is scanned once in its life, if ever.
    running ??= import('./scan.ts')
      .then(({ scanProject }) => scanProject(root))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  const refuseSecond = async (): Promise<void> => {
    const { state } = await reconfigure.read();
    if (state.agent.length > 0) throw problem('conflict', { message: 'There is an agent already.' });
  };
  return {
    async scan() {
      const [scanResult, { state }] = await Promise.all([scan(), reconfigure.read()]);
      const [agent] = state.agent;
      return { state: stateOf(scanResult, agent !== undefined), scanResult, agent };
    },
    async createFromDetection({ framework, filePath, variableName }, note) {
      await refuseSecond();
      const { detected } = await scan();
      const found = detected.find(
        (agent) => agent.framework === framework && agent.filePath === filePath && agent.variableName === variableName,
      );
      if (found === undefined) {
        throw problem('conflict', {
          message: `There is no ${framework} agent ${filePath}:${variableName} any more. Scan again.`,
        });
      }
      if (framework !== 'LANGGRAPH') {
        const msg = `${framework} is not supported by this version`;
        throw problem('validation_failed', { details: [{ loc: ['body', 'framework'], msg, type: 'value_error' }] });
      }
      return reconfigure.write(note, registerAgent(found.inferredName, `${filePath}:${variableName}`, port));
    },
    async createStarter({ framework, name: wanted }, note) {
      await refuseSecond();
      const { STARTER_NAME, writeStarter } = await import('./starter.ts');
      const name = wanted ?? STARTER_NAME;
      const starter = await writeStarter(root, framework, name, port);
      try {
        return await reconfigure.write(note, registerAgent(name, starter.definition, port));
      } catch (error) {
        await starter.remove();
        throw error;
      }
    },
  };
}
