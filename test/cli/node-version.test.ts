import { expect, test } from 'vitest';
import { checkNode } from '../../src/cli/node-version.ts';

test.each(['20.19.0', '20.20.2', '22.12.0', '22.23.3', '24.0.0', '24.21.0'])('Node %s is fine', (version) => {
  expect(checkNode(version)).toBeUndefined();
});

test.each(['18.20.4', '20.18.3', '21.7.0', '22.11.0', '23.6.0'])('Node %s is refused with what to do', (version) => {
  const answer = checkNode(version);
  expect(answer?.fatal).toBe(true);
  expect(answer?.message).toMatch(
    /needs one of 20\.19, 22\.12, 24\.0 or a later release of the same line\.\n.*node@24/,
  );
});

test('a newer Node is only remarked upon', () => {
  expect(checkNode('26.1.0')).toEqual({ message: expect.stringContaining('newer'), fatal: false });
});
