import { setFlagsFromString } from 'node:v8';

/*
 * Loading several hundred modules makes garbage at a rate that V8 answers by growing its young generation, for good:
 * to 130 MB on Node 24, all of it idle afterwards. So it may not grow until the server is up; under load it then may.
 */

/** Keeps the young generation small from here on. */
export function holdYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Lets the young generation grow with the load, as it does by default. */
export function releaseYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
