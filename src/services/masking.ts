export { MASK, maskSecrets } from '../masking.ts';
